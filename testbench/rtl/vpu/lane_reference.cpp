// Reference arithmetic of a VPU lane in double precision and integers.
#include "testbench/rtl/vpu/lane_reference.hpp"

#include <bit>
#include <cfloat>
#include <cmath>

namespace weft::vpu_test {
namespace {

float as_float(uint32_t bits) { return std::bit_cast<float>(bits); }
bool is_nan(uint32_t a) { return (a & ~kSign) > kInfinity; }

/// A double to fp32: nearest even as if the exponent were unbounded, then flushed or overflowed.
uint32_t round_unbounded(double exact) {
  if (std::isnan(exact)) return kNan;
  const uint32_t sign = std::signbit(exact) ? kSign : 0;
  if (std::isinf(exact)) return sign | kInfinity;
  if (exact == 0) return sign;
  int exponent = 0;
  const auto fraction = static_cast<float>(std::frexp(exact, &exponent));
  const double rounded = std::ldexp(static_cast<double>(fraction), exponent);
  if (std::fabs(rounded) < FLT_MIN) return sign;
  if (std::fabs(rounded) > FLT_MAX) return sign | kInfinity;
  return std::bit_cast<uint32_t>(static_cast<float>(rounded));
}

/// Less than, with -0 below +0; neither is a NaN.
bool below(uint32_t a, uint32_t b) {
  const float x = as_float(a), y = as_float(b);
  return x < y || (x == y && std::signbit(x) && !std::signbit(y));
}

}  // namespace

uint32_t canonical(uint32_t a) {
  if (is_nan(a)) return kNan;
  return std::fpclassify(as_float(a)) == FP_SUBNORMAL ? a & kSign : a;
}

uint32_t add(uint32_t a, uint32_t b) {
  return round_unbounded(static_cast<double>(as_float(canonical(a))) + static_cast<double>(as_float(canonical(b))));
}

uint32_t mul(uint32_t a, uint32_t b) {
  return round_unbounded(static_cast<double>(as_float(canonical(a))) * static_cast<double>(as_float(canonical(b))));
}

uint32_t fma(uint32_t a, uint32_t b, uint32_t c) {
  const float x = as_float(canonical(a)), y = as_float(canonical(b)), z = as_float(canonical(c));
  const float sum = std::fma(x, y, z);
  if (std::isnan(sum)) return kNan;
  if (sum == 0 || !(std::fabs(sum) < 0x1p-60f)) return std::bit_cast<uint32_t>(sum);
  // Near underflow once more, 2^64 times the size, so that rounding comes before the look at the exponent.
  const bool scale_x = std::fabs(x) < std::fabs(y);
  const float big = std::fma(scale_x ? x * 0x1p64f : x, scale_x ? y : y * 0x1p64f, z * 0x1p64f);
  return std::fabs(big) < FLT_MIN * 0x1p64f ? std::bit_cast<uint32_t>(big) & kSign
                                            : std::bit_cast<uint32_t>(big * 0x1p-64f);
}

bool less(uint32_t a, uint32_t b) { return as_float(canonical(a)) < as_float(canonical(b)); }
bool equal(uint32_t a, uint32_t b) { return as_float(canonical(a)) == as_float(canonical(b)); }

uint32_t smaller(uint32_t a, uint32_t b) {
  if (is_nan(a) || is_nan(b)) return kNan;
  return below(canonical(a), canonical(b)) ? canonical(a) : canonical(b);
}

uint32_t larger(uint32_t a, uint32_t b) {
  if (is_nan(a) || is_nan(b)) return kNan;
  return below(canonical(a), canonical(b)) ? canonical(b) : canonical(a);
}

uint32_t relu_f32(uint32_t a) {
  if (is_nan(a)) return kNan;
  return as_float(canonical(a)) > 0 ? a : 0;
}

uint32_t leaky(uint32_t a, uint32_t slope) { return as_float(canonical(a)) > 0 ? a : is_nan(a) ? kNan : mul(a, slope); }

uint32_t f32_to_i8(uint32_t a, int32_t zero_point) {
  const double value =
      is_nan(a) ? zero_point : std::nearbyint(static_cast<double>(as_float(canonical(a)))) + zero_point;
  return static_cast<uint8_t>(static_cast<int8_t>(value < -128 ? -128 : value > 127 ? 127 : value));
}

uint32_t f32_to_bf16(uint32_t a) {
  const uint32_t x = canonical(a);
  if (is_nan(x)) return 0x7fc0;
  const uint32_t floor = x >> 16, rest = x & 0xffff;
  if (rest > 0x8000 || (rest == 0x8000 && floor % 2 == 1)) return floor + 1;
  return floor;
}

uint32_t bf16_to_f32(uint32_t a) { return canonical(a << 16); }

uint32_t i32_to_f32(uint32_t a) { return round_unbounded(static_cast<double>(static_cast<int32_t>(a))); }

uint32_t f32_to_i32(uint32_t a) {
  if (is_nan(a)) return 0;
  const double value = std::nearbyint(static_cast<double>(as_float(canonical(a))));
  if (value >= 2147483648.0) return 0x7fffffff;
  if (value <= -2147483648.0) return 0x80000000;
  return static_cast<uint32_t>(static_cast<int32_t>(value));
}

uint32_t smaller_i32(uint32_t a, uint32_t b) { return static_cast<int32_t>(a) < static_cast<int32_t>(b) ? a : b; }
uint32_t larger_i32(uint32_t a, uint32_t b) { return static_cast<int32_t>(a) > static_cast<int32_t>(b) ? a : b; }

uint32_t shifted_left(uint32_t a, uint32_t by) {
  uint32_t result = 0;
  for (uint32_t i = by; i < 32; i++) result |= (a >> (i - by) & 1) << i;
  return result;
}
uint32_t shifted_right(uint32_t a, uint32_t by, bool sign) {
  uint32_t result = 0;
  for (uint64_t i = 0; i < 32; i++) {
    const uint64_t from = i + by;
    const uint32_t bit = from < 32 ? a >> from & 1 : sign ? a >> 31 : 0;
    result |= bit << i;
  }
  return result;
}

}  // namespace weft::vpu_test
