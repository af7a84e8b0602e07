/// What happened in a multiply-add, from exact integers: the classes that a sweep must have met.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "testbench/numerics/fma_vectors.hpp"

namespace weft::numerics {

enum class FmaOutcome : uint8_t {
  kNanOperand,        ///< an operand is NaN
  kInvalid,           ///< infinity times zero, or infinity minus infinity
  kInfiniteOperand,   ///< infinity comes out because it went in
  kZeroSum,           ///< both product and addend are zero (subnormals among them)
  kCancelled,         ///< an exact cancellation: +0
  kExact,             ///< no rounding
  kRoundedDown,       ///< inexact, toward zero, less than half a unit
  kRoundedUp,         ///< inexact, away from zero, more than half a unit
  kTieDown,           ///< exactly half a unit, the even number lies toward zero
  kTieUp,             ///< exactly half a unit, the even number lies away from zero
  kCarried,           ///< rounding went up into the next binade
  kFlushed,           ///< below 2^-126 after rounding: zero
  kRescued,           ///< below 2^-126 before rounding, 2^-126 after it
  kOverflow,          ///< beyond the largest number before rounding: infinity
  kRoundedToInfinity  ///< the rounding made it infinite
};
inline constexpr unsigned kFmaOutcomes = 15;
inline constexpr std::array<std::string_view, kFmaOutcomes> kFmaOutcomeNames{
    "nan_operand", "invalid",      "infinite_operand", "zero_sum", "cancelled",
    "exact",       "rounded_down", "rounded_up",       "tie_down", "tie_up",
    "carried",     "flushed",      "rescued",          "overflow", "rounded_to_infinity"};

[[nodiscard]] FmaOutcome fma_outcome(const FmaVector& v);

}  // namespace weft::numerics
