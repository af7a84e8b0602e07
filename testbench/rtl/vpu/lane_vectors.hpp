/// Seeded operand pairs for the lane functions, by class: each class aims at one part of the arithmetic.
#pragma once
#include <cstdint>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::vpu_test {

/// As vpu_lane_probe.sv numbers them.
enum class LaneFunction : uint8_t {
  kAdd,
  kMul,
  kMin,
  kMax,
  kRelu,
  kF32ToBf16,
  kBf16ToF32,
  kI32ToF32,
  kF32ToI32,
  kCanonical,
  kI32Min,
  kI32Max,
  kFma,
  kLess,
  kEqual,
  kI32Less,
  kLeaky,
  kF32ToI8,
  kU32Less,
  kShiftLeft,
  kShiftRight,
  kShiftRightSigned
};
inline constexpr unsigned kLaneFunctions = 22;

enum class VectorClass : uint8_t { kRandomBits, kSpecials, kTies, kCancellation, kUnderflow, kOverflow, kIntegers };
inline constexpr unsigned kVectorClasses = 7;

[[nodiscard]] std::string_view name(LaneFunction f);
[[nodiscard]] std::string_view name(VectorClass c);

/// Values at the edges of every range. All pairs of them are class kSpecials.
[[nodiscard]] const std::vector<uint32_t>& special_values();

/// One pair of operands of the class.
[[nodiscard]] std::pair<uint32_t, uint32_t> draw(VectorClass c, std::mt19937_64& random);

}  // namespace weft::vpu_test
