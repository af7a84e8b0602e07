// The fast path against the reference, the reference against plain loops, and both against an fp64 bound.
#include "model/golden/matmul.hpp"

#include <xmmintrin.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <vector>

#include "model/golden/arith.hpp"
#include "random_values.hpp"

namespace golden = weft::golden;
using golden::Path;
using weft::test::RandomValues;

namespace {

struct Shape {
  size_t rows, depth, lanes;
};

/// Sizes around the blocks of the fast path (8 rows, 32 lanes, 128 lanes, 128 deep), and random ones.
std::vector<Shape> shapes(RandomValues& random) {
  std::vector<Shape> all = {{1, 1, 1},     {8, 128, 128}, {9, 129, 129}, {7, 127, 31}, {16, 256, 32},
                            {3, 300, 200}, {1, 2, 256},   {17, 5, 33},   {2, 0, 3}};
  for (int i = 0; i < 40; i++) all.push_back({1 + random.below(20), 1 + random.below(200), 1 + random.below(150)});
  return all;
}

float to_float(uint32_t bits) {
  float v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

}  // namespace

TEST_CASE("The bf16 fast path equals the reference on all shapes, with NaN, infinities and subnormals") {
  RandomValues random(weft::test::seed());
  for (const Shape& s : shapes(random)) {
    const size_t x_stride = s.depth + random.below(5), w_stride = s.lanes + random.below(5),
                 acc_stride = s.lanes + random.below(5);
    const bool specials = random.below(2) == 0;
    std::vector<uint16_t> x(s.rows * x_stride + 1), w(s.depth * w_stride + 1);
    for (auto& v : x) v = specials ? random.bf16() : random.finite_bf16();
    for (auto& v : w) v = specials ? random.bf16() : random.finite_bf16();
    std::vector<uint32_t> seeds(s.rows * acc_stride + 1);
    for (auto& v : seeds) v = random.f32();
    auto reference = seeds, fast = seeds;
    const golden::PanelBf16 panel{s.rows,   s.depth,  s.lanes, x.data(),  x_stride,
                                  w.data(), w_stride, nullptr, acc_stride};
    auto run = [&](std::vector<uint32_t>& acc, Path path) {
      golden::PanelBf16 p = panel;
      p.acc = acc.data();
      golden::multiply_panel(p, path);
    };
    run(reference, Path::kReference);
    run(fast, Path::kFast);
    CAPTURE(s.rows, s.depth, s.lanes, specials);
    REQUIRE(reference == fast);
  }
}

TEST_CASE("Products whose sums underflow, overflow and cancel are equal on both paths") {
  RandomValues random(weft::test::seed());
  constexpr size_t kRows = 16, kDepth = 64, kLanes = 64;
  for (const int exponent : {60, 63, 64, 66, 127, 189, 190, 191}) {
    std::vector<uint16_t> x(kRows * kDepth), w(kDepth * kLanes);
    const auto value = [&](int64_t e) {
      return static_cast<uint16_t>((random.bits() & 0x8003) | static_cast<uint64_t>(e) << 7);
    };
    for (auto& v : x) v = value(exponent + random.between(-1, 1));
    for (auto& v : w) v = value(exponent + random.between(-1, 1));
    std::vector<uint32_t> reference(kRows * kLanes), fast(kRows * kLanes);
    golden::multiply_panel(
        golden::PanelBf16{kRows, kDepth, kLanes, x.data(), kDepth, w.data(), kLanes, reference.data(), kLanes},
        Path::kReference);
    golden::multiply_panel(
        golden::PanelBf16{kRows, kDepth, kLanes, x.data(), kDepth, w.data(), kLanes, fast.data(), kLanes}, Path::kFast);
    CAPTURE(exponent);
    REQUIRE(reference == fast);
  }
}

TEST_CASE("The int8 fast path equals the reference on all shapes, overflow flag included") {
  RandomValues random(weft::test::seed());
  unsigned overflows = 0, exact = 0;
  for (const Shape& s : shapes(random)) {
    for (const int32_t seed_value : {0, 2147000000, -2147000000, INT32_MAX, INT32_MIN}) {
      std::vector<int8_t> x(s.rows * s.depth + 1);
      std::vector<uint16_t> w((s.depth + 1) / 2 * s.lanes + 1);
      for (auto& v : x) v = static_cast<int8_t>(random.bits());
      for (auto& v : w) v = static_cast<uint16_t>(random.below(8) == 0 ? 0x8080 : random.bits());
      std::vector<uint32_t> reference(s.rows * s.lanes, static_cast<uint32_t>(seed_value)), fast = reference;
      const bool a = golden::multiply_panel(
          golden::PanelInt8{s.rows, s.depth, s.lanes, x.data(), s.depth, w.data(), s.lanes, reference.data(), s.lanes},
          Path::kReference);
      const bool b = golden::multiply_panel(
          golden::PanelInt8{s.rows, s.depth, s.lanes, x.data(), s.depth, w.data(), s.lanes, fast.data(), s.lanes},
          Path::kFast);
      CAPTURE(s.rows, s.depth, s.lanes, seed_value);
      REQUIRE(reference == fast);
      REQUIRE(a == b);
      (a ? overflows : exact)++;
    }
  }
  CHECK(overflows > 20);
  CHECK(exact > 20);
}

TEST_CASE("An int8 overflow is seen even if a later pair brings the sum back into range") {
  const int8_t x[] = {127, 127, -127, -127};
  const uint16_t w[] = {0x7f7f, 0x7f7f};
  for (const Path path : {Path::kReference, Path::kFast}) {
    uint32_t acc = INT32_MAX - 10;
    CHECK(golden::multiply_panel(golden::PanelInt8{1, 4, 1, x, 4, w, 1, &acc, 1}, path));
    CHECK(acc == INT32_MAX - 10);
    acc = 0;
    CHECK_FALSE(golden::multiply_panel(golden::PanelInt8{1, 4, 1, x, 4, w, 1, &acc, 1}, path));
  }
}

TEST_CASE("The result does not depend on how K is cut") {
  RandomValues random(weft::test::seed());
  constexpr size_t kRows = 5, kDepth = 96, kLanes = 40;
  std::vector<uint16_t> x(kRows * kDepth), w(kDepth * kLanes);
  for (auto& v : x) v = random.bf16();
  for (auto& v : w) v = random.finite_bf16();
  std::vector<uint32_t> whole(kRows * kLanes);
  golden::multiply_panel(
      golden::PanelBf16{kRows, kDepth, kLanes, x.data(), kDepth, w.data(), kLanes, whole.data(), kLanes});
  for (const size_t tile : {1, 7, 8, 32, 50}) {
    std::vector<uint32_t> cut(kRows * kLanes);
    for (size_t k = 0; k < kDepth; k += tile)
      golden::multiply_panel(golden::PanelBf16{kRows, std::min(tile, kDepth - k), kLanes, x.data() + k, kDepth,
                                               w.data() + k * kLanes, kLanes, cut.data(), kLanes});
    CHECK(cut == whole);
  }
}

TEST_CASE("gemm_bf16 is a plain triple loop of fma_bf16, with and without a seed") {
  RandomValues random(weft::test::seed());
  constexpr size_t kM = 11, kK = 133, kN = 37;
  std::vector<uint16_t> a(kM * (kK + 3)), b(kK * (kN + 2));
  for (auto& v : a) v = random.bf16();
  for (auto& v : b) v = random.finite_bf16();
  for (const auto seed : {golden::Seed::kZero, golden::Seed::kKeep}) {
    std::vector<float> c(kM * (kN + 1), 1.5f);
    golden::gemm_bf16(kM, kK, kN, a.data(), kK + 3, b.data(), kN + 2, c.data(), kN + 1, seed);
    for (size_t i = 0; i < kM; i++) {
      for (size_t j = 0; j < kN; j++) {
        uint32_t sum = seed == golden::Seed::kZero ? 0 : 0x3fc00000;
        for (size_t k = 0; k < kK; k++) sum = golden::fma_bf16(a[i * (kK + 3) + k], b[k * (kN + 2) + j], sum);
        uint32_t got;
        std::memcpy(&got, &c[i * (kN + 1) + j], sizeof got);
        REQUIRE(got == sum);
      }
      REQUIRE(c[i * (kN + 1) + kN] == 1.5f);
    }
  }
}

TEST_CASE("gemm_int8 is a plain triple loop modulo 2^32") {
  RandomValues random(weft::test::seed());
  for (const size_t k : {1, 2, 255, 256, 257, 601}) {
    constexpr size_t kM = 5, kN = 21;
    std::vector<int8_t> a(kM * k), b(k * kN);
    for (auto& v : a) v = static_cast<int8_t>(random.bits());
    for (auto& v : b) v = static_cast<int8_t>(random.bits());
    std::vector<int32_t> c(kM * kN, 7);
    CHECK_FALSE(golden::gemm_int8(kM, k, kN, a.data(), k, b.data(), kN, c.data(), kN));
    for (size_t i = 0; i < kM; i++) {
      for (size_t j = 0; j < kN; j++) {
        int32_t sum = 0;
        for (size_t n = 0; n < k; n++) sum += a[i * k + n] * b[n * kN + j];
        REQUIRE(c[i * kN + j] == sum);
      }
    }
  }
}

TEST_CASE("Products stay within the fp64 error bound of docs/numerics.md") {
  RandomValues random(weft::test::seed());
  constexpr size_t kM = 8, kK = 1000, kN = 48;
  std::vector<uint16_t> a(kM * kK), b(kK * kN);
  for (auto& v : a) v = random.finite_bf16();
  for (auto& v : b) v = random.finite_bf16();
  std::vector<float> c(kM * kN);
  golden::gemm_bf16(kM, kK, kN, a.data(), kK, b.data(), kN, c.data(), kN);
  const double unit = std::ldexp(1.0, -24);
  const double factor = kK * unit / (1 - kK * unit);
  for (size_t i = 0; i < kM; i++) {
    for (size_t j = 0; j < kN; j++) {
      double exact = 0, magnitude = 0;
      for (size_t k = 0; k < kK; k++) {
        const double product =
            static_cast<double>(to_float(uint32_t{a[i * kK + k]} << 16)) * to_float(uint32_t{b[k * kN + j]} << 16);
        exact += product;
        magnitude += std::abs(product);
      }
      REQUIRE(std::abs(c[i * kN + j] - exact) <= factor * magnitude + kK * std::ldexp(1.0, -126));
    }
  }
}

TEST_CASE("The caller's float environment is restored") {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(0x7f80);  // round toward zero, nothing flushed
  const uint16_t a = 0x3f81, b = 0x3fff;
  float c = 0;
  golden::gemm_bf16(1, 1, 1, &a, 1, &b, 1, &c, 1);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  CHECK((after & ~0x3fu) == 0x7f80);
}
