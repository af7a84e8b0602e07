// exp2, log2, rcp, rsqrt, tanh and erf: the two ways to compute the recipe against each other, special values, exact
// results. The error over all inputs is testbench/numerics' business.
#include "model/golden/vpu_functions.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "model/golden/arith.hpp"
#include "random_values.hpp"

namespace golden = weft::golden;
using weft::test::RandomValues;

namespace {

constexpr weft_vpu_op kFunctions[] = {WEFT_VPU_OP_EXP2,  WEFT_VPU_OP_LOG2, WEFT_VPU_OP_RCP,
                                      WEFT_VPU_OP_RSQRT, WEFT_VPU_OP_TANH, WEFT_VPU_OP_ERF};
constexpr uint32_t kInfinity = 0x7f800000, kSign = 0x80000000, kOne = 0x3f800000;

uint32_t bits(float v) { return std::bit_cast<uint32_t>(v); }
uint32_t apply(weft_vpu_op op, uint32_t a) { return golden::vpu_function_f32(op, a); }

}  // namespace

TEST_CASE("A row of functions has the reference's bits for every length and every kind of value") {
  RandomValues random(weft::test::seed());
  for (const weft_vpu_op op : kFunctions)
    for (size_t count = 0; count < 300; count++) {
      std::vector<uint32_t> a(count), d(count);
      for (auto& v : a) v = random.f32();
      golden::vpu_function_row(op, a, d);
      for (size_t i = 0; i < count; i++) REQUIRE(d[i] == apply(op, a[i]));
    }
}

TEST_CASE("Functions of NaN are the canonical NaN, and a subnormal counts as its zero") {
  for (const weft_vpu_op op : kFunctions) {
    for (uint32_t nan : {0x7f800001u, 0xff800001u, 0x7fffffffu, 0xffc00000u})
      CHECK(apply(op, nan) == golden::kCanonicalNan);
    for (uint32_t subnormal : {1u, 0x7fffffu})
      for (uint32_t sign : {0u, kSign}) CHECK(apply(op, subnormal | sign) == apply(op, sign));
  }
}

TEST_CASE("Functions of zeros and infinities") {
  struct {
    weft_vpu_op op;
    uint32_t plus_zero, minus_zero, plus_infinity, minus_infinity;
  } const cases[] = {
      {WEFT_VPU_OP_EXP2, kOne, kOne, kInfinity, 0},
      {WEFT_VPU_OP_LOG2, kInfinity | kSign, kInfinity | kSign, kInfinity, golden::kCanonicalNan},
      {WEFT_VPU_OP_RCP, kInfinity, kInfinity | kSign, 0, kSign},
      {WEFT_VPU_OP_RSQRT, kInfinity, kInfinity | kSign, 0, golden::kCanonicalNan},
      {WEFT_VPU_OP_TANH, 0, kSign, kOne, kOne | kSign},
      {WEFT_VPU_OP_ERF, 0, kSign, kOne, kOne | kSign},
  };
  for (const auto& c : cases) {
    CAPTURE(c.op);
    CHECK(apply(c.op, 0) == c.plus_zero);
    CHECK(apply(c.op, kSign) == c.minus_zero);
    CHECK(apply(c.op, kInfinity) == c.plus_infinity);
    CHECK(apply(c.op, kInfinity | kSign) == c.minus_infinity);
  }
  for (const float negative : {-1e-30f, -1.0f, -3e38f}) {
    CHECK(apply(WEFT_VPU_OP_LOG2, bits(negative)) == golden::kCanonicalNan);
    CHECK(apply(WEFT_VPU_OP_RSQRT, bits(negative)) == golden::kCanonicalNan);
  }
}

TEST_CASE("Functions are exact where their results are powers of two") {
  for (int e = -126; e < 128; e++) {
    CAPTURE(e);
    const float power = std::ldexp(1.0f, e);
    CHECK(apply(WEFT_VPU_OP_EXP2, bits(static_cast<float>(e))) == bits(power));
    CHECK(apply(WEFT_VPU_OP_LOG2, bits(power)) == bits(static_cast<float>(e)));
    CHECK(apply(WEFT_VPU_OP_RCP, bits(power)) == (e == 127 ? 0 : bits(std::ldexp(1.0f, -e))));
    if (e % 2 == 0) CHECK(apply(WEFT_VPU_OP_RSQRT, bits(power)) == bits(std::ldexp(1.0f, -e / 2)));
    if (e < -20) CHECK(apply(WEFT_VPU_OP_TANH, bits(power)) == bits(power));
  }
  CHECK(apply(WEFT_VPU_OP_EXP2, bits(128.0f)) == kInfinity);
  CHECK(apply(WEFT_VPU_OP_EXP2, bits(std::nextafter(128.0f, 0.0f))) < kInfinity);
  CHECK(apply(WEFT_VPU_OP_EXP2, bits(std::nextafter(-126.0f, -200.0f))) == 0);
}

TEST_CASE("Odd functions are odd, never leave [-1, 1] and end at 1") {
  RandomValues random(weft::test::seed());
  for (const weft_vpu_op op : {WEFT_VPU_OP_TANH, WEFT_VPU_OP_ERF}) {
    for (int i = 0; i < 200000; i++) {
      const uint32_t a = bits(std::ldexp(static_cast<float>(random.f32() >> 8), -24 - i % 8 + 4));
      const uint32_t y = apply(op, a);
      REQUIRE(y <= kOne);
      REQUIRE(apply(op, a | kSign) == (y | kSign));
    }
    CHECK(apply(op, bits(9.02f)) == kOne);
    CHECK(apply(op, bits(3.0f)) < kOne);
  }
}
