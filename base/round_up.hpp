/// Sizes and addresses in whole units.
#pragma once
#include <cstdint>

namespace weft {

/// The smallest multiple of `unit` that is not below `value`. `unit` is not 0, and the result fits 64 bits.
constexpr uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace weft
