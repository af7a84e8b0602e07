/// What chips do together in the middle of their programs.
#pragma once
#include <cstdint>
#include <vector>

namespace weft::compiler {

/// Of a matrix that each chip of a group has.
enum class Exchange : uint8_t {
  kSideBySide,  ///< those of all chips, side by side in the order of ranks
  kOwnSums,     ///< own columns of their sum, ((x0 + x1) + x2) + ... in f32
  kAllSums,     ///< all of that sum
};

/// Chips that send each other parts: all of them by rank, the semaphore that each posts at the others, and which one
/// this is.
struct ChipGroup {
  std::vector<uint16_t> chips;
  std::vector<uint8_t> semaphores;
  unsigned rank = 0;

  [[nodiscard]] unsigned ranks() const { return static_cast<unsigned>(chips.size()); }
  bool operator==(const ChipGroup&) const = default;
};

}  // namespace weft::compiler
