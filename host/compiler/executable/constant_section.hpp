/// The constants of a program, one behind the other: equal ones are one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace weft::compiler {

class ConstantSection {
 public:
  /// Where the bytes lie, filled up with zeros to a multiple of 64.
  [[nodiscard]] uint64_t add(std::span<const std::byte> data);
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
  std::map<std::pair<uint64_t, uint64_t>, std::vector<uint64_t>> offsets_;  ///< by size and hash
};

}  // namespace weft::compiler
