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

}  // namespace weft::vpu_test
