/// Pages of host memory that a recording has written out already.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>

#include "model/record/record_format.hpp"

namespace weft::record {

/// Finds a page by its content, exactly: hashes only say where to look. Holds at most `most` pages. Owner: the recorder.
class PageStore {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  explicit PageStore(size_t most = kMaxPages) : most_(most) {}

  struct Found {
    uint32_t number;  ///< kNone: not there, and there is no room for it
    bool fresh;       ///< it has just been given this number
  };

  /// `page` has kPageBytes bytes.
  [[nodiscard]] Found number_of(std::span<const std::byte> page);
  [[nodiscard]] size_t size() const { return pages_.size(); }

 private:
  size_t most_;
  std::deque<std::array<std::byte, kPageBytes>> pages_;  // by number
  std::unordered_multimap<uint64_t, uint32_t> by_hash_;
};

}  // namespace weft::record
