/// Which chips of a slice a process simulates.
#pragma once
#include <cstdint>

namespace weft::chip {

/// Neighbouring chips, as many for each rank as for any other, or one more. One rank: all chips.
struct RankShare {
  unsigned rank = 0;
  unsigned ranks = 1;  ///< at most as many as chips

  /// The first chip of a rank, of `chips` of the slice; for ranks: the number of chips.
  static constexpr uint32_t first_of(unsigned rank, unsigned ranks, uint32_t chips) {
    return static_cast<uint32_t>(uint64_t{rank} * chips / ranks);
  }
  [[nodiscard]] constexpr uint32_t first(uint32_t chips) const { return first_of(rank, ranks, chips); }
  [[nodiscard]] constexpr uint32_t end(uint32_t chips) const { return first_of(rank + 1, ranks, chips); }
};

}  // namespace weft::chip
