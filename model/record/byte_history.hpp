/// What each byte of one function's host memory was, access after access.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/record/record_format.hpp"

namespace weft::record {

/// The recorded accesses of one direction, cut at pages. A byte's accesses are used up one after the other, each byte
/// at its own pace: so other portions and another order of the same accesses give the same values. Owner: an
/// expectation.
class ByteHistory {
 public:
  /// A stretch of bytes of one recorded access within a page.
  struct Piece {
    uint16_t first;
    uint16_t bytes;
    bool loose;     ///< its values are not compared
    size_t record;  ///< its number
    const std::byte* data;
  };

  struct Found {
    const Piece* piece = nullptr;  ///< nullptr: no access is left for the first byte
    const std::byte* data = nullptr;
    size_t bytes = 1;  ///< that this holds for, from the first on
  };

  /// In the order of recording.
  void add(uint64_t address, std::span<const std::byte> data, size_t record, bool loose);

  /// Uses up the next access of the bytes from `address` on, at most `bytes` of them and within a page.
  Found take(uint64_t address, uint64_t bytes);
  /// The same for reads: accesses of records before `floor` are passed over if there are later ones, and a byte without
  /// accesses left keeps the value of its last one.
  Found take_or_last(uint64_t address, uint64_t bytes, size_t floor);

 private:
  struct Page {
    std::vector<Piece> pieces;
    std::unique_ptr<std::array<uint32_t, kPageBytes>> next;  ///< piece from which a byte's next access is looked for
  };

  [[nodiscard]] Found find(Page& page, uint32_t byte, uint64_t bytes, size_t floor);
  [[nodiscard]] Page* page_of(uint64_t address);

  std::unordered_map<uint64_t, Page> pages_;
};

}  // namespace weft::record
