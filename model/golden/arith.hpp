/// Scalar arithmetic of the tensor core, bit for bit, in integers only: the reference that everything else is held
/// against.
///
/// Values are bit patterns: uint16_t is bf16, uint32_t is fp32 (or int32 where the name says so). Rules
/// (docs/numerics.md): subnormal inputs are zeros of the same sign, one rounding to nearest even as if the exponent
/// were unbounded, then a result below 2^-126 is a zero of the same sign; every NaN that comes out is kCanonicalNan.
/// All functions are pure.
#pragma once
#include <cstdint>

namespace weft::golden {

inline constexpr uint32_t kCanonicalNan = 0x7fc00000;
inline constexpr uint16_t kCanonicalNanBf16 = 0x7fc0;

[[nodiscard]] constexpr bool is_nan_f32(uint32_t a) { return (a & 0x7fffffffu) > 0x7f800000u; }
[[nodiscard]] constexpr bool is_infinite_f32(uint32_t a) { return (a & 0x7fffffffu) == 0x7f800000u; }

/// What a unit reads: a subnormal as the zero of its sign, any NaN as the canonical one, everything else as it is.
[[nodiscard]] constexpr uint32_t canonical_f32(uint32_t a) {
  if ((a & 0x7f800000u) == 0) return a & 0x80000000u;
  return is_nan_f32(a) ? kCanonicalNan : a;
}

/// a * b + c with one rounding. 0 * inf and inf - inf are NaN; an exact cancellation is +0.
[[nodiscard]] uint32_t fma_bf16(uint16_t a, uint16_t b, uint32_t c);

[[nodiscard]] uint32_t add_f32(uint32_t a, uint32_t b);
[[nodiscard]] uint32_t sub_f32(uint32_t a, uint32_t b);
[[nodiscard]] uint32_t mul_f32(uint32_t a, uint32_t b);
/// a * b + c with one rounding; the rules of fma_bf16.
[[nodiscard]] uint32_t fma_f32(uint32_t a, uint32_t b, uint32_t c);
/// NaN if either is NaN; -0 is less than +0.
[[nodiscard]] uint32_t min_f32(uint32_t a, uint32_t b);
[[nodiscard]] uint32_t max_f32(uint32_t a, uint32_t b);
/// a > 0 ? a : +0; NaN stays NaN.
[[nodiscard]] uint32_t relu_f32(uint32_t a);
/// a > 0 ? a : a * slope; NaN stays NaN.
[[nodiscard]] uint32_t leaky_f32(uint32_t a, uint32_t slope);

/// Comparisons of numbers: -0 equals +0, a NaN is neither less than nor equal to anything.
[[nodiscard]] bool less_f32(uint32_t a, uint32_t b);
[[nodiscard]] bool equal_f32(uint32_t a, uint32_t b);

/// Nearest even; overflow gives infinity.
[[nodiscard]] uint16_t f32_to_bf16(uint32_t a);
/// Exact, but for subnormals (zero) and NaN (canonical).
[[nodiscard]] uint32_t bf16_to_f32(uint16_t a);
/// Nearest even.
[[nodiscard]] uint32_t i32_to_f32(uint32_t a);
/// Nearest even, saturating; NaN gives 0.
[[nodiscard]] uint32_t f32_to_i32(uint32_t a);
/// Nearest even, plus a zero point of -128 to 127, saturating to [-128, 127], as int32; NaN gives the zero point.
[[nodiscard]] uint32_t f32_to_i8(uint32_t a, int32_t zero_point);

/// int32 arithmetic wraps modulo 2^32.
[[nodiscard]] constexpr uint32_t min_i32(uint32_t a, uint32_t b) {
  return static_cast<int32_t>(a) < static_cast<int32_t>(b) ? a : b;
}
[[nodiscard]] constexpr uint32_t max_i32(uint32_t a, uint32_t b) {
  return static_cast<int32_t>(a) < static_cast<int32_t>(b) ? b : a;
}
[[nodiscard]] constexpr uint32_t relu_i32(uint32_t a) { return static_cast<int32_t>(a) > 0 ? a : 0; }

}  // namespace weft::golden
