/// The recipe of exp2, log2, rcp, rsqrt, tanh and erf (docs/vpu_functions.md), for any arithmetic. Only for
/// vpu_functions.cpp (integers) and vpu_functions_fast.cpp (the host's float unit).
///
/// Branch-free on bit patterns, so that a loop over lanes becomes vector instructions. `Arithmetic` has add(a, b) and
/// fma(a, b, c) on fp32 bit patterns under DAZ and FTZ, NaN of any kind; an operand that may be a NaN never decides.
#pragma once
#include <cstdint>

#include "weft/spec/vpu_table.hpp"

namespace weft::golden::recipe {

inline constexpr uint32_t kSign = 0x80000000u, kFraction = 0x7fffffu, kOne = 0x3f800000u, kMinNormal = 0x00800000u,
                          kInfinity = 0x7f800000u, kNan = 0x7fc00000u, kTwoTo128 = 0x43000000u, kMinus126 = 0xc2fc0000u;

/// Adding and subtracting it rounds to a multiple of 1/16: 1.5 * 2^19.
inline constexpr uint32_t kSixteenths = 0x49400000u;

constexpr uint32_t canonical(uint32_t a) {
  const uint32_t flushed = (a & kInfinity) == 0 ? a & kSign : a;
  return (a & ~kSign) > kInfinity ? kNan : flushed;
}

/// A segment's number and the distance from its origin; t itself takes the place of c0 where `odd`.
struct Argument {
  uint32_t entry, t;
  bool odd = false;
};

/// c0 + t (c1 + t (c2 + t (c3 + t c4))), rounded four times.
template <class Arithmetic>
inline uint32_t polynomial(const Argument& x) {
  using namespace spec::vpu_table;
  uint32_t y = Arithmetic::fma(kC4[x.entry], x.t, kC3[x.entry]);
  y = Arithmetic::fma(y, x.t, kC2[x.entry]);
  y = Arithmetic::fma(y, x.t, kC1[x.entry]);
  return Arithmetic::fma(y, x.t, x.odd ? x.t : kC0[x.entry]);
}

/// 2^x = 2^n * 2^(j/16 + t). A result below 2^-126 is 0, which x < -126 decides.
struct Exp2 {
  template <class Arithmetic>
  static uint32_t apply(uint32_t a) {
    const uint32_t x = canonical(a), mag = x & ~kSign;
    const uint32_t shifted = Arithmetic::add(x, kSixteenths);
    const uint32_t k = shifted - kSixteenths;  // round(16 x), modulo 2^23
    const uint32_t rounded = Arithmetic::add(shifted, kSixteenths ^ kSign);
    const Argument z{spec::vpu_table::kFirstExp2 + (k & 15), Arithmetic::add(x, rounded ^ kSign)};
    uint32_t y = polynomial<Arithmetic>(z) + (k >> 4 << 23);
    y = (x & kSign) != 0 && mag > (kMinus126 & ~kSign) ? 0 : y;
    y = (x & kSign) == 0 && mag >= kTwoTo128 ? kInfinity : y;
    return mag > kInfinity ? kNan : y;
  }
};

/// log2(2^e m) = e + base + (log2(m0 + t) - base), m in [0.71875, 1.4375].
struct Log2 {
  template <class Arithmetic>
  static uint32_t apply(uint32_t a) {
    const uint32_t x = canonical(a);
    const uint32_t segment = ((x & kFraction) + 0x20000u) >> 18;
    const uint32_t halved = segment >= 14 ? kMinNormal : 0;
    const uint32_t m = ((x & kFraction) | kOne) - halved, m0 = kOne + (segment << 18) - halved;
    const Argument z{spec::vpu_table::kFirstLog2 + segment, Arithmetic::add(m, m0 ^ kSign)};
    const int32_t e = static_cast<int32_t>(x >> 23) - 127 + (halved != 0);
    const uint32_t whole = Arithmetic::add(Arithmetic::from_integer(e), spec::vpu_table::kBase[z.entry]);
    uint32_t y = Arithmetic::add(polynomial<Arithmetic>(z), whole);
    y = x == kInfinity ? kInfinity : y;
    y = (x & ~kSign) == 0 ? kInfinity | kSign : y;
    return x > kInfinity && x != kSign ? kNan : y;
  }
};

/// 1 / (2^e m) = 2^-e / m.
struct Reciprocal {
  template <class Arithmetic>
  static uint32_t apply(uint32_t a) {
    const uint32_t x = canonical(a), mag = x & ~kSign;
    const uint32_t segment = ((x & kFraction) + 0x20000u) >> 18;
    const uint32_t m = (x & kFraction) | kOne, m0 = kOne + (segment << 18);
    const Argument z{spec::vpu_table::kFirstReciprocal + segment, Arithmetic::add(m, m0 ^ kSign)};
    uint32_t y = polynomial<Arithmetic>(z) + kOne - (mag & kInfinity);
    y = static_cast<int32_t>(y) < static_cast<int32_t>(kMinNormal) ? 0 : y;
    y = mag == 0 ? kInfinity : y;
    y = mag == kInfinity ? 0 : y;
    return mag > kInfinity ? kNan : y | (x & kSign);
  }
};

/// 1 / sqrt(2^2e m) = 2^-e / sqrt(m), m in [1, 4).
struct Rsqrt {
  template <class Arithmetic>
  static uint32_t apply(uint32_t a) {
    const uint32_t x = canonical(a);
    const uint32_t segment = ((x & kFraction) + 0x20000u) >> 18;
    const uint32_t odd = ((x >> 23) & 1) ^ 1;  // the unbiased exponent
    const uint32_t m = ((x & kFraction) | kOne) + (odd << 23), m0 = kOne + (segment << 18) + (odd << 23);
    const Argument z{spec::vpu_table::kFirstRsqrt + segment + (odd != 0 ? 33 : 0), Arithmetic::add(m, m0 ^ kSign)};
    const uint32_t e = ((x >> 23) - odd + 1) >> 1;  // half of the even exponent, biased by 64
    uint32_t y = polynomial<Arithmetic>(z) + ((64u - e) << 23);
    y = x == kInfinity ? 0 : y;
    y = (x & ~kSign) == 0 ? kInfinity | x : y;
    return x > kInfinity && x != kSign ? kNan : y;
  }
};

/// An odd function that goes to 1: a segment around 0, sixteen a binade from 2^-5 on, 1 from `One` on.
template <uint32_t First, uint32_t One>
struct OddFunction {
  template <class Arithmetic>
  static uint32_t apply(uint32_t a) {
    constexpr uint32_t kSmallest = 0x3d000000u;  // 2^-5
    const uint32_t x = canonical(a), mag = x & ~kSign;
    const uint32_t bounded = mag >= One ? One : mag;  // NaN and infinity too
    const bool small = bounded < kSmallest;
    const uint32_t origin = small ? 0 : bounded & ~0x7ffffu;
    const uint32_t segment = small ? 0 : (bounded >> 19) - (kSmallest >> 19) + 1;
    const Argument z{First + segment, Arithmetic::add(bounded, origin ^ kSign), small};
    uint32_t y = polynomial<Arithmetic>(z);
    y = mag >= One || y > kOne ? kOne : y;
    return mag > kInfinity ? kNan : y | (x & kSign);
  }
};

/// tanh rounds to 1 from 9.0109 on, erf from 3.9192 on.
using Tanh = OddFunction<spec::vpu_table::kFirstTanh, 0x41102cb4u>;
using Erf = OddFunction<spec::vpu_table::kFirstErf, 0x407ad445u>;

}  // namespace weft::golden::recipe
