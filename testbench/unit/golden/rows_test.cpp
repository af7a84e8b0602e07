// rows.hpp against loops over arith.hpp, and the tree of the row sum against its recursive definition.
#include "model/golden/rows.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "model/golden/arith.hpp"
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

std::vector<float> random_row(size_t count, RandomValues& random) {
  std::vector<float> row(count);
  for (auto& v : row) v = to_float(random.f32());
  return row;
}

/// Sum of lanes [first, first + span) of which those at or beyond the row's end are absent; the row is not empty there.
uint32_t tree_sum(const std::vector<float>& row, size_t first, size_t span) {
  if (span == 1) return golden::canonical_f32(to_bits(row[first]));
  const uint32_t left = tree_sum(row, first, span / 2);
  if (first + span / 2 >= row.size()) return left;
  return golden::add_f32(left, tree_sum(row, first + span / 2, span / 2));
}

}  // namespace

TEST_CASE("Elementwise f32 equals arith on every element, whatever the row's length") {
  RandomValues random(weft::test::seed());
  for (size_t count = 0; count < 300; count++) {
    const auto a = random_row(count, random), b = random_row(count, random);
    std::vector<float> d(count);
    struct {
      weft_vpu_op op;
      uint32_t (*function)(uint32_t, uint32_t);
    } const cases[] = {{WEFT_VPU_OP_ADD, golden::add_f32},
                       {WEFT_VPU_OP_SUB, golden::sub_f32},
                       {WEFT_VPU_OP_MUL, golden::mul_f32},
                       {WEFT_VPU_OP_MIN, golden::min_f32},
                       {WEFT_VPU_OP_MAX, golden::max_f32}};
    for (const auto& [op, function] : cases) {
      REQUIRE(golden::elementwise_f32(op, a, b, d));
      for (size_t i = 0; i < count; i++) REQUIRE(to_bits(d[i]) == function(to_bits(a[i]), to_bits(b[i])));
    }
  }
  CHECK_FALSE(golden::elementwise_f32(WEFT_VPU_OP_FMA, {}, {}, {}));
}

TEST_CASE("Elementwise bf16 is computed in f32 and rounded once more") {
  RandomValues random(weft::test::seed());
  std::vector<uint16_t> a(5000), b(5000), d(5000);
  for (auto& v : a) v = random.bf16();
  for (auto& v : b) v = random.bf16();
  REQUIRE(golden::elementwise_bf16(WEFT_VPU_OP_ADD, a, b, d));
  for (size_t i = 0; i < a.size(); i++)
    REQUIRE(d[i] == golden::f32_to_bf16(golden::add_f32(uint32_t{a[i]} << 16, uint32_t{b[i]} << 16)));
}

TEST_CASE("Elementwise i32 wraps") {
  const std::vector<int32_t> a = {INT32_MAX, INT32_MIN, -5, 65536}, b = {1, 1, 7, 65536};
  std::vector<int32_t> d(4);
  REQUIRE(golden::elementwise_i32(WEFT_VPU_OP_ADD, a, b, d));
  CHECK(d == std::vector<int32_t>{INT32_MIN, INT32_MIN + 1, 2, 131072});
  REQUIRE(golden::elementwise_i32(WEFT_VPU_OP_SUB, a, b, d));
  CHECK(d == std::vector<int32_t>{INT32_MAX - 1, INT32_MAX, -12, 0});
  REQUIRE(golden::elementwise_i32(WEFT_VPU_OP_MUL, a, b, d));
  CHECK(d == std::vector<int32_t>{INT32_MAX, INT32_MIN, -35, 0});
  REQUIRE(golden::elementwise_i32(WEFT_VPU_OP_MIN, a, b, d));
  CHECK(d == std::vector<int32_t>{1, INT32_MIN, -5, 65536});
  REQUIRE(golden::elementwise_i32(WEFT_VPU_OP_MAX, a, b, d));
  CHECK(d == std::vector<int32_t>{INT32_MAX, 1, 7, 65536});
}

TEST_CASE("A row sum is a tree of neighbours over the next power of two, absent lanes passing through") {
  RandomValues random(weft::test::seed());
  for (size_t count = 1; count <= 256; count++) {
    const auto row = random_row(count, random);
    REQUIRE(to_bits(golden::sum_row_f32(row)) == tree_sum(row, 0, std::bit_ceil(count)));
    uint32_t largest = golden::canonical_f32(to_bits(row[0]));
    for (const float v : row) largest = golden::max_f32(largest, to_bits(v));
    REQUIRE(to_bits(golden::max_row_f32(row)) == largest);
  }
  CHECK(to_bits(golden::sum_row_f32(std::vector<float>{-0.0f})) == 0x80000000);  // no zero is added
  CHECK(golden::sum_row_i32(std::vector<int32_t>{INT32_MAX, 1, 5}) == INT32_MIN + 5);
  CHECK(golden::max_row_i32(std::vector<int32_t>{-7, -3, -9}) == -3);
}

TEST_CASE("An epilogue row adds the bias, then applies the activation") {
  const std::vector<float> a = {1, -3, 2, -0.0f}, bias = {1, 1, -5, 0};
  std::vector<float> d(4);
  golden::epilogue_row_f32(a, bias, WEFT_VPU_ACTIVATION_NONE, d);
  CHECK(d == std::vector<float>{2, -2, -3, 0});
  golden::epilogue_row_f32(a, bias, WEFT_VPU_ACTIVATION_RELU, d);
  CHECK(d == std::vector<float>{2, 0, 0, 0});
  golden::epilogue_row_f32(a, {}, WEFT_VPU_ACTIVATION_NONE, d);
  CHECK(to_bits(d[3]) == 0x80000000);
  const std::vector<int32_t> i = {5, -5}, j = {INT32_MAX, 1};
  std::vector<int32_t> k(2);
  golden::epilogue_row_i32(i, j, WEFT_VPU_ACTIVATION_RELU, k);
  CHECK(k == std::vector<int32_t>{0, 0});
}

TEST_CASE("Array casts apply the scalar cast to every element") {
  RandomValues random(weft::test::seed());
  const auto f = random_row(3000, random);
  std::vector<uint16_t> half(f.size());
  std::vector<int32_t> integer(f.size());
  std::vector<float> wide(f.size());
  golden::cast_f32_to_bf16(f, half);
  golden::cast_f32_to_i32(f, integer);
  for (size_t i = 0; i < f.size(); i++) {
    REQUIRE(half[i] == golden::f32_to_bf16(to_bits(f[i])));
    REQUIRE(static_cast<uint32_t>(integer[i]) == golden::f32_to_i32(to_bits(f[i])));
  }
  golden::cast_bf16_to_f32(half, wide);
  for (size_t i = 0; i < f.size(); i++) REQUIRE(to_bits(wide[i]) == golden::bf16_to_f32(half[i]));
  golden::cast_i32_to_f32(integer, wide);
  for (size_t i = 0; i < f.size(); i++)
    REQUIRE(to_bits(wide[i]) == golden::i32_to_f32(static_cast<uint32_t>(integer[i])));
}
