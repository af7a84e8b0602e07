// bytes * clock / rate cycles, kept as a whole part and a fraction with the reduced rate as denominator.
#include "model/chip/data_path.hpp"

#include <numeric>

#include "model/chip/time_base.hpp"

namespace weft::chip {

DataPath::DataPath(uint64_t bytes_per_second, uint64_t clock_hz) {
  const uint64_t common = std::gcd(bytes_per_second, clock_hz);
  cost_per_byte_ = clock_hz / common;
  fractions_ = bytes_per_second / common;
}

uint64_t DataPath::book(uint64_t bytes, uint64_t cycle) {
  if (cycle >= free()) {
    free_cycle_ = cycle;
    free_fraction_ = 0;
  }
  const Uint128 cost = Uint128{bytes} * cost_per_byte_ + free_fraction_;
  free_cycle_ += static_cast<uint64_t>(cost / fractions_);
  free_fraction_ = static_cast<uint64_t>(cost % fractions_);
  return free();
}

}  // namespace weft::chip
