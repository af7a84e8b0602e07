// Layouts against their definition in words.
#include "host/compiler/layout.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

using namespace weft;

TEST_CASE("word k of a bf16 tile is W(k, n0 to n0 + N - 1), column blocks outermost") {
  const auto& chip = *spec::find_chip("nano");
  const uint64_t k = 19, n = 13;
  std::vector<uint16_t> w(k * n);
  for (size_t i = 0; i < w.size(); i++) w[i] = static_cast<uint16_t>(i + 1);
  const auto packed = compiler::pack_weights_bf16(chip, w, k, n);
  REQUIRE(packed.size() == 2 * 24 * 16);
  for (uint64_t block = 0; block < 2; block++)
    for (uint64_t row = 0; row < 24; row++)
      for (uint64_t lane = 0; lane < 8; lane++) {
        uint16_t value;
        std::memcpy(&value, &packed[((block * 24 + row) * 8 + lane) * 2], 2);
        const uint64_t column = block * 8 + lane;
        CHECK(value == (row < k && column < n ? w[row * n + column] : 0));
      }
}

TEST_CASE("word i, lane j of an int8 tile holds W(2i+1, j) above W(2i, j)") {
  const auto& chip = *spec::find_chip("nano");
  const uint64_t k = 17, n = 3;
  std::vector<int8_t> w(k * n);
  for (size_t i = 0; i < w.size(); i++) w[i] = static_cast<int8_t>(i - 20);
  const auto packed = compiler::pack_weights_int8(chip, w, k, n);
  REQUIRE(packed.size() == 2 * 8 * 16);
  for (uint64_t row = 0; row < 32; row++)
    for (uint64_t lane = 0; lane < 8; lane++)
      CHECK(static_cast<int8_t>(packed[row / 2 * 16 + 2 * lane + row % 2]) ==
            (row < k && lane < n ? w[row * n + lane] : 0));
}

TEST_CASE("rows are padded with zeros to 64 bytes and come back unchanged") {
  std::vector<std::byte> dense(5 * 13 * 2);
  for (size_t i = 0; i < dense.size(); i++) dense[i] = static_cast<std::byte>(i);
  const auto pitched = compiler::pack_rows(dense, 5, 13, 2);
  REQUIRE(pitched.size() == 5 * 64);
  CHECK(pitched[26] == std::byte{0});
  CHECK(compiler::unpack_rows(pitched, 5, 13, 2) == dense);
}

TEST_CASE("fp32 rounds to bf16 to nearest even, flushes subnormals, keeps infinities and makes one NaN") {
  CHECK(compiler::bf16_from_f32(1.0f) == 0x3f80);
  CHECK(compiler::bf16_from_f32(1.00390625f) == 0x3f80);  // tie, to even
  CHECK(compiler::bf16_from_f32(1.01171875f) == 0x3f82);  // tie, to even
  CHECK(compiler::bf16_from_f32(3.4e38f) == 0x7f80);
  CHECK(compiler::bf16_from_f32(-1e-39f) == 0x8000);
  CHECK(compiler::bf16_from_f32(-INFINITY) == 0xff80);
  CHECK(compiler::bf16_from_f32(-std::nanf("")) == 0x7fc0);
}
