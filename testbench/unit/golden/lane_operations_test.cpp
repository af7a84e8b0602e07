// The VPU's operations on special values, and fma against the host's under FTZ and DAZ where there is one.
#include "model/golden/lane_operations.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "model/golden/arith.hpp"
#include "random_values.hpp"

namespace golden = weft::golden;
using weft::test::RandomValues;

namespace {

constexpr uint32_t kNan = golden::kCanonicalNan, kOne = 0x3f800000, kSign = 0x80000000, kInfinity = 0x7f800000;

uint32_t f32(weft_vpu_op op, uint32_t a, uint32_t b, uint32_t c = 0) {
  uint32_t d = 0;
  golden::operate_f32(op, {&a, 1}, {&b, 1}, c, {&d, 1});
  return d;
}
uint32_t i32(weft_vpu_op op, uint32_t a, uint32_t b, uint32_t c = 0) {
  uint32_t d = 0;
  golden::operate_i32(op, {&a, 1}, {&b, 1}, c, {&d, 1});
  return d;
}

}  // namespace

TEST_CASE("Comparisons of floats: zeros are equal, subnormals are zeros, a NaN is nothing but unequal") {
  const uint32_t values[] = {kSign | kInfinity, kSign | kOne, kSign | 1, kSign, 0, 1, 0x00800000, kOne, kInfinity};
  const auto value = [](uint32_t v) {
    return static_cast<double>(std::bit_cast<float>((v & 0x7f800000) == 0 ? v & kSign : v));
  };
  for (const uint32_t a : values)
    for (const uint32_t b : values) {
      CAPTURE(a, b);
      const double x = value(a), y = value(b);
      CHECK(f32(WEFT_VPU_OP_EQ, a, b) == (x == y ? kOne : 0));
      CHECK(f32(WEFT_VPU_OP_NE, a, b) == (x != y ? kOne : 0));
      CHECK(f32(WEFT_VPU_OP_LT, a, b) == (x < y ? kOne : 0));
      CHECK(f32(WEFT_VPU_OP_LE, a, b) == (x <= y ? kOne : 0));
      CHECK(f32(WEFT_VPU_OP_GT, a, b) == (x > y ? kOne : 0));
      CHECK(f32(WEFT_VPU_OP_GE, a, b) == (x >= y ? kOne : 0));
    }
  for (const uint32_t b : {kNan, kOne, 0x7f800001u}) {
    for (const weft_vpu_op op : {WEFT_VPU_OP_EQ, WEFT_VPU_OP_LT, WEFT_VPU_OP_LE, WEFT_VPU_OP_GT, WEFT_VPU_OP_GE}) {
      CHECK(f32(op, kNan, b) == 0);
      CHECK(f32(op, b, kNan) == 0);
    }
    CHECK(f32(WEFT_VPU_OP_NE, kNan, b) == kOne);
  }
}

TEST_CASE("Comparisons of integers are signed and give 1 or 0") {
  for (const int32_t a : {INT32_MIN, -1, 0, 1, INT32_MAX})
    for (const int32_t b : {INT32_MIN, -1, 0, 1, INT32_MAX}) {
      const auto x = static_cast<uint32_t>(a), y = static_cast<uint32_t>(b);
      CHECK(i32(WEFT_VPU_OP_EQ, x, y) == (a == b));
      CHECK(i32(WEFT_VPU_OP_NE, x, y) == (a != b));
      CHECK(i32(WEFT_VPU_OP_LT, x, y) == (a < b));
      CHECK(i32(WEFT_VPU_OP_LE, x, y) == (a <= b));
      CHECK(i32(WEFT_VPU_OP_GT, x, y) == (a > b));
      CHECK(i32(WEFT_VPU_OP_GE, x, y) == (a >= b));
    }
}

TEST_CASE("Logic of integers, shifts by any number, unsigned comparisons, not of floats") {
  RandomValues random(weft::test::seed());
  for (int i = 0; i < 100000; i++) {
    const auto a = static_cast<uint32_t>(random.bits());
    const auto b = static_cast<uint32_t>(i % 2 ? random.bits() : random.bits() % 40);
    CAPTURE(a, b);
    REQUIRE(i32(WEFT_VPU_OP_AND, a, b) == (a & b));
    REQUIRE(i32(WEFT_VPU_OP_OR, a, b) == (a | b));
    REQUIRE(i32(WEFT_VPU_OP_XOR, a, b) == (a ^ b));
    // In 64 bits, of which the low or the high half is left.
    const uint64_t by = std::min<uint32_t>(b, 32), wide = a;
    REQUIRE(i32(WEFT_VPU_OP_SLL, a, b) == static_cast<uint32_t>(wide << by));
    REQUIRE(i32(WEFT_VPU_OP_SRL, a, b) == static_cast<uint32_t>(wide >> by));
    REQUIRE(i32(WEFT_VPU_OP_SRA, a, b) == static_cast<uint32_t>(int64_t{static_cast<int32_t>(a)} >> by));
    REQUIRE(i32(WEFT_VPU_OP_LTU, a, b) == (a < b));
    REQUIRE(i32(WEFT_VPU_OP_LEU, a, b) == (a <= b));
    REQUIRE(i32(WEFT_VPU_OP_GTU, a, b) == (a > b));
    REQUIRE(i32(WEFT_VPU_OP_GEU, a, b) == (a >= b));
  }
  CHECK(i32(WEFT_VPU_OP_SRA, kSign, 0xffffffff) == 0xffffffff);
  CHECK(i32(WEFT_VPU_OP_LEU, kSign, kSign) == 1);
  for (int op = WEFT_VPU_OP_AND; op <= WEFT_VPU_OP_GEU; op++) {
    CHECK(golden::binary_f32(static_cast<weft_vpu_op>(op)) == nullptr);
    CHECK(golden::binary_i32(static_cast<weft_vpu_op>(op)) != nullptr);
  }
}

TEST_CASE("select takes b unless a is a zero, and its result is canonical") {
  CHECK(f32(WEFT_VPU_OP_SELECT, kOne, 5, kOne) == 0);  // b is subnormal
  CHECK(f32(WEFT_VPU_OP_SELECT, kNan, kOne, 7) == kOne);
  for (const uint32_t zero : {0u, kSign, 1u, kSign | 0x7fffffu})
    CHECK(f32(WEFT_VPU_OP_SELECT, zero, kOne, 0xff800001u) == kNan);
  CHECK(i32(WEFT_VPU_OP_SELECT, kSign, 5, 7) == 5);
  CHECK(i32(WEFT_VPU_OP_SELECT, 0, 5, 7) == 7);
}

TEST_CASE("Two selects on opposite masks, -0 elsewhere, add up to a choice between two tensors") {
  RandomValues random(weft::test::seed());
  for (int i = 0; i < 100000; i++) {
    const uint32_t mask = i % 2 ? kOne : 0, a = random.f32(), b = random.f32();
    const uint32_t first = f32(WEFT_VPU_OP_SELECT, mask, a, kSign);
    const uint32_t second = f32(WEFT_VPU_OP_SELECT, f32(WEFT_VPU_OP_EQ, mask, 0), b, kSign);
    REQUIRE(f32(WEFT_VPU_OP_ADD, first, second) == golden::canonical_f32(mask != 0 ? a : b));
  }
}

TEST_CASE("fma rounds once, and axpy is fma with the operands in another order") {
  RandomValues random(weft::test::seed());
  for (int i = 0; i < 2000000; i++) {
    const uint32_t a = random.f32(), b = random.f32(), c = i % 3 == 0 ? golden::mul_f32(a, b) ^ kSign : random.f32();
    const uint32_t y = f32(WEFT_VPU_OP_FMA, a, b, c);
    REQUIRE(f32(WEFT_VPU_OP_AXPY, a, c, b) == y);
    REQUIRE(golden::fma_f32(a, b, c) == y);
    // Away from the ends of the range the host's fma says the same.
    const float host =
        std::fma(std::bit_cast<float>(golden::canonical_f32(a)), std::bit_cast<float>(golden::canonical_f32(b)),
                 std::bit_cast<float>(golden::canonical_f32(c)));
    if (std::isnan(host)) REQUIRE(y == kNan);
    if (std::fabs(host) > 0x1p-125f) REQUIRE(y == std::bit_cast<uint32_t>(host));
  }
  CHECK(i32(WEFT_VPU_OP_FMA, 0x10000, 0x10001, 7) == 0x10007);
  CHECK(i32(WEFT_VPU_OP_AXPY, 3, 7, 5) == 22);
}

TEST_CASE("Rows of any length have the integer arithmetic's fma and axpy in every lane") {
  RandomValues random(weft::test::seed());
  for (size_t count = 0; count < 300; count++) {
    std::vector<uint32_t> a(count), b(count), d(count);
    const uint32_t c = random.f32();
    for (size_t i = 0; i < count; i++) {
      a[i] = random.f32();
      b[i] = i % 3 == 0 ? golden::mul_f32(a[i], c) ^ kSign : random.f32();  // axpy cancels
    }
    golden::operate_f32(WEFT_VPU_OP_FMA, a, b, c, d);
    for (size_t i = 0; i < count; i++) REQUIRE(d[i] == golden::fma_f32(a[i], b[i], c));
    golden::operate_f32(WEFT_VPU_OP_AXPY, a, b, c, d);
    for (size_t i = 0; i < count; i++) REQUIRE(d[i] == golden::fma_f32(a[i], c, b[i]));
  }
}

TEST_CASE("Activations: leaky keeps what is positive, clamp orders its limits, NaN stays") {
  const auto activate = [](weft_vpu_activation kind, uint32_t v, uint32_t first, uint32_t second) {
    golden::activate_f32(kind, first, second, {&v, 1});
    return v;
  };
  const uint32_t two = 0x40000000, half = 0x3f000000;
  CHECK(activate(WEFT_VPU_ACTIVATION_LEAKY, two, 0, half) == two);
  CHECK(activate(WEFT_VPU_ACTIVATION_LEAKY, two | kSign, 0, half) == (kOne | kSign));
  CHECK(activate(WEFT_VPU_ACTIVATION_LEAKY, kSign, 0, half) == kSign);
  CHECK(activate(WEFT_VPU_ACTIVATION_LEAKY, kNan, 0, half) == kNan);
  CHECK(activate(WEFT_VPU_ACTIVATION_CLAMP, two, 0, kOne) == kOne);
  CHECK(activate(WEFT_VPU_ACTIVATION_CLAMP, two | kSign, 0, kOne) == 0);
  CHECK(activate(WEFT_VPU_ACTIVATION_CLAMP, kNan, 0, kOne) == kNan);
  CHECK(activate(WEFT_VPU_ACTIVATION_CLAMP, half, kOne, half) == half);  // limits crossed: the upper one holds
  uint32_t v = static_cast<uint32_t>(-5);
  golden::activate_i32(WEFT_VPU_ACTIVATION_CLAMP, static_cast<uint32_t>(-3), 3, {&v, 1});
  CHECK(v == static_cast<uint32_t>(-3));
}

TEST_CASE("f32 to i8 rounds to nearest even and saturates") {
  const auto cast = [](float v) { return static_cast<int32_t>(golden::f32_to_i8(std::bit_cast<uint32_t>(v), 0)); };
  CHECK(cast(0.5f) == 0);
  CHECK(cast(1.5f) == 2);
  CHECK(cast(-2.5f) == -2);
  CHECK(cast(127.4f) == 127);
  CHECK(cast(127.5f) == 127);
  CHECK(cast(-128.5f) == -128);
  CHECK(cast(-1e30f) == -128);
  CHECK(cast(INFINITY) == 127);
  CHECK(golden::f32_to_i8(0xffc00001u, 0) == 0);
}

TEST_CASE("a zero point is added to the rounded number, before it saturates") {
  const auto cast = [](float v, int32_t zero_point) {
    return static_cast<int32_t>(golden::f32_to_i8(std::bit_cast<uint32_t>(v), zero_point));
  };
  CHECK(cast(0.5f, 1) == 1);  // and not round(0.5 + 1)
  CHECK(cast(1.5f, 1) == 3);
  CHECK(cast(-128.5f, 127) == -1);
  CHECK(cast(-256.f, 127) == -128);
  CHECK(cast(255.f, -128) == 127);
  CHECK(cast(254.5f, -128) == 126);
  for (const int32_t zero_point : {-128, -1, 0, 127}) {
    CHECK(cast(1e30f, zero_point) == 127);
    CHECK(cast(-INFINITY, zero_point) == -128);
    CHECK(cast(NAN, zero_point) == zero_point);
  }
}
