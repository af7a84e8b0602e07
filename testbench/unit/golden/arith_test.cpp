// arith.hpp against the host's float unit under FTZ and DAZ, and against independent definitions of the casts.
#include "model/golden/arith.hpp"

#include <xmmintrin.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "model/golden/matmul.hpp"
#include "random_values.hpp"

namespace golden = weft::golden;
using weft::test::RandomValues;

namespace {

float to_float(uint32_t bits) {
  float v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}
uint32_t to_bits(float v) {
  uint32_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  return bits;
}

/// FTZ and DAZ while it lives.
struct HostFlush {
  unsigned saved = _mm_getcsr();
  HostFlush() { _mm_setcsr(0x9fc0); }
  ~HostFlush() { _mm_setcsr(saved); }
};

uint32_t canonical_nan(uint32_t v) { return golden::is_nan_f32(v) ? golden::kCanonicalNan : v; }

/// Host results; volatile keeps every operation inside of HostFlush.
uint32_t host_fma(uint16_t a, uint16_t b, uint32_t c) {
  volatile float x = to_float(uint32_t{a} << 16), y = to_float(uint32_t{b} << 16), z = to_float(c);
  volatile float r = std::fma(x, y, z);
  return canonical_nan(to_bits(r));
}
template <class Operation>
uint32_t host_binary(uint32_t a, uint32_t b, Operation operation) {
  volatile float x = to_float(a), y = to_float(b);
  volatile float r = operation(x, y);
  return canonical_nan(to_bits(r));
}

struct Product {
  uint16_t a, b;
  uint32_t c;
};

/// A product and an addend of the class `kind` (0 to 6).
Product make_product(unsigned kind, RandomValues& random) {
  const auto with_exponent = [&](int field) {
    return static_cast<uint16_t>((random.bits() & 0x807f) | static_cast<unsigned>(field & 0xff) << 7);
  };
  const auto normal_f32 = [&](int64_t field) {
    return static_cast<uint32_t>((random.bits() & 0x807fffff) | static_cast<uint64_t>(field & 0xff) << 23);
  };
  Product p{random.finite_bf16(), random.finite_bf16(), 0};
  switch (kind) {
    case 0:
      return {static_cast<uint16_t>(random.bits()), static_cast<uint16_t>(random.bits()),
              static_cast<uint32_t>(random.bits())};
    case 1:
      p.c = normal_f32(random.between(110, 140));
      return p;
    case 2:  // cancellation: minus the product, give or take a few units in the last place
      p.c = (golden::fma_bf16(p.a, p.b, 0) ^ 0x80000000u) + static_cast<uint32_t>(random.between(-2, 2));
      return p;
    case 3:  // ties and near ties: the product's bits straddle the addend's last place
      p.c = normal_f32(static_cast<int64_t>(golden::fma_bf16(p.a, p.b, 0) >> 23 & 0xff) + random.between(1, 26));
      p.c &= ~static_cast<uint32_t>(random.below(2) * 0xff);
      return p;
    case 4: {  // underflow: everything near 2^-126
      const int64_t e = random.between(20, 107);
      p = {with_exponent(static_cast<int>(e)), with_exponent(static_cast<int>(random.between(126, 130) - e)), 0};
      p.c = random.below(4) == 0 ? static_cast<uint32_t>(random.bits() & 0x80ffffff) : normal_f32(random.between(1, 4));
      return p;
    }
    case 5: {  // overflow
      const int64_t e = random.between(130, 250);
      return {with_exponent(static_cast<int>(e)), with_exponent(static_cast<int>(381 - e + random.between(-2, 1))),
              normal_f32(random.between(250, 254))};
    }
    default:
      return {random.bf16(), random.bf16(), random.f32()};
  }
}

}  // namespace

TEST_CASE("fma_bf16 equals the host's fused multiply-add under FTZ and DAZ on 14 million products of seven classes") {
  if (!golden::host_fma_is_exact()) return;
  RandomValues random(weft::test::seed());
  constexpr int kPerClass = 2'000'000;
  for (unsigned kind = 0; kind < 7; kind++) {
    for (int i = 0; i < kPerClass; i++) {
      const Product p = make_product(kind, random);
      const uint32_t golden_result = golden::fma_bf16(p.a, p.b, p.c);
      uint32_t host;
      {
        const HostFlush flush;
        host = host_fma(p.a, p.b, p.c);
      }
      if (golden_result != host) {
        CAPTURE(kind, p.a, p.b, p.c);
        REQUIRE(golden_result == host);
      }
    }
  }
}

TEST_CASE("fma_bf16 equals the host on all triples of special values") {
  if (!golden::host_fma_is_exact()) return;
  for (const uint16_t a : RandomValues::kSpecial)
    for (const uint16_t b : RandomValues::kSpecial)
      for (const uint16_t c : RandomValues::kSpecial)
        for (const uint32_t low : {0x0000u, 0x0001u, 0xffffu}) {
          const uint32_t addend = static_cast<uint32_t>(c) << 16 | low;
          const HostFlush flush;
          const uint32_t host = host_fma(a, b, addend);
          if (golden::fma_bf16(a, b, addend) != host) {
            CAPTURE(a, b, addend);
            REQUIRE(golden::fma_bf16(a, b, addend) == host);
          }
        }
}

TEST_CASE("The rules that docs/numerics.md states one by one hold") {
  constexpr uint16_t kOne = 0x3f80, kMinusOne = 0xbf80, kInf = 0x7f80, kZero = 0, kMinusZero = 0x8000;
  CHECK(golden::fma_bf16(kOne, kOne, 0xbf800000) == 0);                      // exact cancellation is +0
  CHECK(golden::fma_bf16(kMinusZero, kOne, 0x80000000) == 0x80000000);       // (-0) + (-0) is -0
  CHECK(golden::fma_bf16(kMinusZero, kOne, 0) == 0);                         // (-0) + (+0) is +0
  CHECK(golden::fma_bf16(kInf, kZero, 0) == golden::kCanonicalNan);          // inf x 0
  CHECK(golden::fma_bf16(kInf, kOne, 0xff800000) == golden::kCanonicalNan);  // inf - inf
  CHECK(golden::fma_bf16(0xffc1, kOne, 0) == golden::kCanonicalNan);         // no payload, no sign
  CHECK(golden::fma_bf16(0x007f, kOne, 0x3f800000) == 0x3f800000);           // a subnormal operand is zero
  CHECK(golden::fma_bf16(0x807f, kOne, 0x80000000) == 0x80000000);           // of its sign
  CHECK(golden::fma_bf16(kZero, kOne, 0x007fffff) == 0);                     // the addend too
  CHECK(golden::fma_bf16(0x1980, 0x9980, 0x00800000) == 0x00800000);         // flushed after rounding, not before
  CHECK(golden::fma_bf16(0x1a00, 0x9a00, 0x00800000) == 0);                  // 2^-126 - 2^-150 stays below
  CHECK(golden::fma_bf16(0x7f00, kMinusOne, 0xff7fffff) == 0xff800000);      // beyond the largest is infinity
  CHECK(golden::min_f32(0x80000000, 0) == 0x80000000);
  CHECK(golden::min_f32(0, 0x80000000) == 0x80000000);
  CHECK(golden::max_f32(0x80000000, 0) == 0);
  CHECK(golden::max_f32(0, 0x80000000) == 0);
  CHECK(golden::max_f32(0x7f800000, 0x7f800001) == golden::kCanonicalNan);
  CHECK(golden::relu_f32(0x80000000) == 0);
  CHECK(golden::relu_f32(0xff800000) == 0);
  CHECK(golden::relu_f32(0x7f800000) == 0x7f800000);
  CHECK(golden::relu_f32(0xffc00001) == golden::kCanonicalNan);
  CHECK(golden::relu_f32(0x00000001) == 0);
}

TEST_CASE("add, sub and mul equal the host on 6 million pairs, min and max follow the order of numbers") {
  if (!golden::host_fma_is_exact()) return;
  RandomValues random(weft::test::seed());
  for (int i = 0; i < 2'000'000; i++) {
    const uint32_t a = random.f32();
    const uint32_t b = i % 4 == 0   ? (a ^ 0x80000000u) + static_cast<uint32_t>(random.between(-3, 3))
                       : i % 4 == 1 ? static_cast<uint32_t>(random.bits())
                                    : random.f32();
    uint32_t sum, difference, product;
    {
      const HostFlush flush;
      sum = host_binary(a, b, [](float x, float y) { return x + y; });
      difference = host_binary(a, b, [](float x, float y) { return x - y; });
      product = host_binary(a, b, [](float x, float y) { return x * y; });
    }
    const float x = to_float(golden::canonical_f32(a)), y = to_float(golden::canonical_f32(b));
    const bool nan = std::isnan(x) || std::isnan(y);
    const bool ok =
        golden::add_f32(a, b) == sum && golden::sub_f32(a, b) == difference && golden::mul_f32(a, b) == product &&
        (nan ? golden::min_f32(a, b) == golden::kCanonicalNan && golden::max_f32(a, b) == golden::kCanonicalNan
             : to_float(golden::min_f32(a, b)) == std::min(x, y) && to_float(golden::max_f32(a, b)) == std::max(x, y));
    if (!ok) {
      CAPTURE(a, b, sum, difference, product);
      REQUIRE(golden::add_f32(a, b) == sum);
      REQUIRE(golden::sub_f32(a, b) == difference);
      REQUIRE(golden::mul_f32(a, b) == product);
      REQUIRE(ok);
    }
  }
}

TEST_CASE("Products at the edge of fp32's range equal the host") {
  if (!golden::host_fma_is_exact()) return;
  RandomValues random(weft::test::seed());
  for (int i = 0; i < 2'000'000; i++) {
    const auto e = static_cast<uint32_t>(random.between(1, 254));
    const auto target =
        static_cast<uint32_t>(random.below(2) == 0 ? random.between(125, 129) : random.between(379, 383));
    if (target < e + 1 || target - e > 254) continue;
    const uint32_t a = static_cast<uint32_t>(random.bits() & 0x807fffff) | e << 23;
    const uint32_t b = static_cast<uint32_t>(random.bits() & 0x807fffff) | (target - e) << 23;
    uint32_t product;
    {
      const HostFlush flush;
      product = host_binary(a, b, [](float x, float y) { return x * y; });
    }
    if (golden::mul_f32(a, b) != product) {
      CAPTURE(a, b);
      REQUIRE(golden::mul_f32(a, b) == product);
    }
  }
}

TEST_CASE("bf16 to f32 and back is the identity for all 2^16 values but subnormals and NaN payloads") {
  for (uint32_t v = 0; v < 0x10000; v++) {
    const auto half = static_cast<uint16_t>(v);
    const uint32_t wide = golden::bf16_to_f32(half);
    const bool nan = (v & 0x7fff) > 0x7f80, subnormal = (v & 0x7f80) == 0;
    const uint32_t expected = nan ? golden::kCanonicalNan : subnormal ? (v & 0x8000) << 16 : v << 16;
    REQUIRE(wide == expected);
    REQUIRE(golden::f32_to_bf16(wide) == expected >> 16);
  }
}

TEST_CASE("f32 to bf16 takes the nearer neighbour, the even one in a tie, on edges and 8 million samples") {
  RandomValues random(weft::test::seed());
  const auto check = [](uint32_t v) {
    const uint16_t result = golden::f32_to_bf16(v);
    if (golden::is_nan_f32(v)) return result == golden::kCanonicalNanBf16;
    if ((v & 0x7f800000) == 0) return result == (v >> 16 & 0x8000);
    const uint32_t below = v & 0xffff0000u, rest = v & 0xffffu;
    const bool up = rest > 0x8000u || (rest == 0x8000u && (below & 0x10000u) != 0);
    return result == (below + (up ? 0x10000u : 0)) >> 16;
  };
  for (uint32_t high = 0; high < 0x10000; high++)
    for (const uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) REQUIRE(check(high << 16 | low));
  for (int i = 0; i < 8'000'000; i++)
    if (const auto v = static_cast<uint32_t>(random.bits()); !check(v)) REQUIRE(golden::f32_to_bf16(v) == v);
  CHECK(golden::f32_to_bf16(0x7f7fffff) == 0x7f80);  // overflow to infinity
}

TEST_CASE("i32 to f32 and f32 to i32 equal the host's conversions on edges and 8 million samples") {
  RandomValues random(weft::test::seed());
  const auto check_up = [](uint32_t v) {
    volatile auto host = static_cast<float>(static_cast<int32_t>(v));
    return golden::i32_to_f32(v) == to_bits(host);
  };
  const auto check_down = [](uint32_t v) {
    const float x = to_float(v);
    const double rounded = std::nearbyint(static_cast<double>(x));
    const int32_t expected = std::isnan(x)              ? 0
                             : rounded >= 2147483647.0  ? INT32_MAX
                             : rounded <= -2147483648.0 ? INT32_MIN
                                                        : static_cast<int32_t>(rounded);
    return static_cast<int32_t>(golden::f32_to_i32(v)) == expected;
  };
  for (uint32_t e = 0; e < 32; e++)
    for (int d = -200; d <= 200; d++) REQUIRE(check_up((uint32_t{1} << e) + static_cast<uint32_t>(d)));
  for (uint32_t high = 0; high < 0x10000; high++)
    for (const uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0xffffu}) REQUIRE(check_down(high << 16 | low));
  for (int i = 0; i < 8'000'000; i++) {
    const auto v = static_cast<uint32_t>(random.bits());
    const uint32_t near = static_cast<uint32_t>(v & 0x807fffff) | static_cast<uint32_t>(random.between(124, 160)) << 23;
    if (!check_up(v)) REQUIRE(golden::i32_to_f32(v) == v);
    if (!check_down(near)) REQUIRE(golden::f32_to_i32(near) == near);
  }
}
