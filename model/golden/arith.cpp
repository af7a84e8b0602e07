/// The reference arithmetic: every result is an exact integer times a power of two, rounded once by one function.
#include "model/golden/arith.hpp"

#include <bit>
#include <utility>

namespace weft::golden {
namespace {

using Wide = unsigned __int128;

constexpr uint32_t kSign = 0x80000000u;
constexpr uint32_t kInfinity = 0x7f800000u;
constexpr int kMantissaBits = 23;
constexpr int kBias = 127;

/// A finite number: (-1)^negative * magnitude * 2^exponent, exactly. Zero has magnitude 0.
struct Exact {
  bool negative;
  Wide magnitude;
  int exponent;
};

int bit_length(Wide v) {
  const auto high = static_cast<uint64_t>(v >> 64);
  // int by the standard; of the argument's type in the library
  return static_cast<int>(high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<uint64_t>(v)));
}

/// A finite fp32 value; a subnormal is zero.
Exact decode(uint32_t a) {
  const int field = static_cast<int>(a >> kMantissaBits & 0xff);
  const Wide magnitude = field == 0 ? 0 : (a & 0x7fffffu) | 0x800000u;
  return {(a & kSign) != 0, magnitude, field - kBias - kMantissaBits};
}

/// The one rounding: to nearest even at 24 bits with an unbounded exponent, then flush or overflow.
uint32_t round_to_f32(const Exact& v) {
  const uint32_t sign = v.negative ? kSign : 0;
  if (v.magnitude == 0) return sign;
  const int excess = bit_length(v.magnitude) - (kMantissaBits + 1);
  int exponent = v.exponent + excess;
  uint32_t significand;  // 24 bits, leading one at bit 23
  if (excess <= 0) {
    significand = static_cast<uint32_t>(v.magnitude << -excess);
  } else {
    const Wide remainder = v.magnitude & ((Wide{1} << excess) - 1);
    const Wide half = Wide{1} << (excess - 1);
    significand = static_cast<uint32_t>(v.magnitude >> excess);
    if (remainder > half || (remainder == half && (significand & 1) != 0)) significand++;
    if (significand == 1u << (kMantissaBits + 1)) {
      significand >>= 1;
      exponent++;
    }
  }
  const int field = exponent + kBias + kMantissaBits;
  if (field < 1) return sign;
  if (field > 254) return sign | kInfinity;
  return sign | static_cast<uint32_t>(field) << kMantissaBits | (significand & 0x7fffffu);
}

/// a + b of finite numbers with at most 48 significant bits each, at least 14 if not zero.
uint32_t add_exact(Exact a, Exact b) {
  if (a.magnitude == 0 && b.magnitude == 0) return a.negative && b.negative ? kSign : 0;
  if (a.magnitude == 0) return round_to_f32(b);
  if (b.magnitude == 0) return round_to_f32(a);
  if (a.exponent < b.exponent) std::swap(a, b);
  // Beyond this distance b is far below half a unit in the last place of a: any small number in its place rounds alike.
  constexpr int kFar = 78;
  const int distance = a.exponent - b.exponent;
  if (distance > kFar) {
    b.magnitude = 1;
    b.exponent = a.exponent - kFar;
  }
  const Wide aligned = a.magnitude << (a.exponent - b.exponent);
  if (a.negative == b.negative) return round_to_f32({a.negative, aligned + b.magnitude, b.exponent});
  if (aligned == b.magnitude) return 0;
  if (aligned > b.magnitude) return round_to_f32({a.negative, aligned - b.magnitude, b.exponent});
  return round_to_f32({b.negative, b.magnitude - aligned, b.exponent});
}

bool is_zero(uint32_t a) { return (a & kInfinity) == 0; }

/// -1, 0 or 1 as a is less than, equal to or greater than b; no NaN; -0 is less than +0.
int order(uint32_t a, uint32_t b) {
  const auto key = [](uint32_t v) { return (v & kSign) != 0 ? -static_cast<int64_t>(v & ~kSign) - 1 : int64_t{v}; };
  return (key(a) > key(b)) - (key(a) < key(b));
}

}  // namespace

uint32_t fma_f32(uint32_t a, uint32_t b, uint32_t c) {
  if (is_nan_f32(a) || is_nan_f32(b) || is_nan_f32(c)) return kCanonicalNan;
  const uint32_t product_sign = (a ^ b) & kSign;
  if (is_infinite_f32(a) || is_infinite_f32(b)) {
    if (is_zero(a) || is_zero(b)) return kCanonicalNan;
    if (is_infinite_f32(c) && (c & kSign) != product_sign) return kCanonicalNan;
    return product_sign | kInfinity;
  }
  if (is_infinite_f32(c)) return c;
  const Exact p = decode(a);
  const Exact q = decode(b);
  return add_exact({product_sign != 0, p.magnitude * q.magnitude, p.exponent + q.exponent}, decode(c));
}

uint32_t fma_bf16(uint16_t a, uint16_t b, uint32_t c) {
  return fma_f32(static_cast<uint32_t>(a) << 16, static_cast<uint32_t>(b) << 16, c);
}

uint32_t add_f32(uint32_t a, uint32_t b) {
  if (is_nan_f32(a) || is_nan_f32(b)) return kCanonicalNan;
  if (is_infinite_f32(a)) return is_infinite_f32(b) && a != b ? kCanonicalNan : a;
  if (is_infinite_f32(b)) return b;
  return add_exact(decode(a), decode(b));
}

uint32_t sub_f32(uint32_t a, uint32_t b) { return add_f32(a, b ^ kSign); }

uint32_t mul_f32(uint32_t a, uint32_t b) {
  if (is_nan_f32(a) || is_nan_f32(b)) return kCanonicalNan;
  const uint32_t sign = (a ^ b) & kSign;
  if (is_infinite_f32(a) || is_infinite_f32(b)) return is_zero(a) || is_zero(b) ? kCanonicalNan : sign | kInfinity;
  const Exact p = decode(a);
  const Exact q = decode(b);
  return round_to_f32({sign != 0, p.magnitude * q.magnitude, p.exponent + q.exponent});
}

uint32_t min_f32(uint32_t a, uint32_t b) {
  if (is_nan_f32(a) || is_nan_f32(b)) return kCanonicalNan;
  a = canonical_f32(a);
  b = canonical_f32(b);
  return order(a, b) <= 0 ? a : b;
}

uint32_t max_f32(uint32_t a, uint32_t b) {
  if (is_nan_f32(a) || is_nan_f32(b)) return kCanonicalNan;
  a = canonical_f32(a);
  b = canonical_f32(b);
  return order(a, b) >= 0 ? a : b;
}

uint32_t relu_f32(uint32_t a) {
  a = canonical_f32(a);
  return (a & kSign) != 0 ? 0 : a;
}

uint32_t leaky_f32(uint32_t a, uint32_t slope) {
  a = canonical_f32(a);
  return (a & kSign) != 0 || a == 0 ? mul_f32(a, slope) : a;
}

bool less_f32(uint32_t a, uint32_t b) {
  if (is_nan_f32(a) || is_nan_f32(b)) return false;
  return order(canonical_f32(a), canonical_f32(b)) < 0 && !(is_zero(a) && is_zero(b));
}

bool equal_f32(uint32_t a, uint32_t b) {
  if (is_nan_f32(a) || is_nan_f32(b)) return false;
  return a == b || (is_zero(a) && is_zero(b));
}

uint16_t f32_to_bf16(uint32_t a) {
  a = canonical_f32(a);
  if (is_nan_f32(a)) return kCanonicalNanBf16;
  // Nearest even on the upper half; a carry runs into the exponent, up to infinity.
  return static_cast<uint16_t>((a + 0x7fffu + (a >> 16 & 1u)) >> 16);
}

uint32_t bf16_to_f32(uint16_t a) { return canonical_f32(static_cast<uint32_t>(a) << 16); }

uint32_t i32_to_f32(uint32_t a) {
  const bool negative = (a & kSign) != 0;
  return round_to_f32({negative, negative ? uint32_t{0} - a : a, 0});
}

uint32_t f32_to_i32(uint32_t a) {
  if (is_nan_f32(a)) return 0;
  const uint32_t limit = (a & kSign) != 0 ? 0x80000000u : 0x7fffffffu;
  if (is_infinite_f32(a)) return limit;
  const Exact v = decode(a);
  if (v.exponent >= 8) return limit;  // 2^31 and above in magnitude
  if (v.exponent < -25) return 0;     // below one half
  uint64_t magnitude = static_cast<uint64_t>(v.magnitude);
  if (v.exponent >= 0) {
    magnitude <<= v.exponent;
  } else {
    const int shift = -v.exponent;
    const uint64_t remainder = magnitude & ((uint64_t{1} << shift) - 1);
    const uint64_t half = uint64_t{1} << (shift - 1);
    magnitude >>= shift;
    if (remainder > half || (remainder == half && (magnitude & 1) != 0)) magnitude++;
  }
  return v.negative ? uint32_t{0} - static_cast<uint32_t>(magnitude) : static_cast<uint32_t>(magnitude);
}

uint32_t f32_to_i8(uint32_t a, int32_t zero_point) {
  const int64_t value = int64_t{static_cast<int32_t>(f32_to_i32(a))} + zero_point;
  return static_cast<uint32_t>(value < -128 ? -128 : value > 127 ? 127 : value);
}

}  // namespace weft::golden
