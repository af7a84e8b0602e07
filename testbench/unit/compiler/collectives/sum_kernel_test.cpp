// The sum of arrays on golden arithmetic, against additions of the host in the order that the header names.
#include "host/compiler/collectives/sum_kernel.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <vector>

#include "host/compiler/collectives/collective_tiles.hpp"
#include "testbench/unit/compiler/program_executor.hpp"

using namespace weft;

namespace {

using Bytes = std::vector<std::byte>;

const spec::Chip& nano() { return *spec::find_chip("nano"); }

/// Numbers of either sign between 2^-15 and 2: most of their sums are rounded, none is subnormal.
uint32_t number(std::mt19937& random) {
  return (random() & 0x807fffff) | (112 + static_cast<uint32_t>(random()) % 16) << 23;
}

Bytes draw(std::mt19937& random, weft_argument_dtype dtype, uint64_t bytes) {
  Bytes data(bytes);
  for (size_t at = 0; at < bytes; at += 4) {
    const auto low = number(random), high = number(random);
    const uint32_t word = dtype == WEFT_ARGUMENT_DTYPE_I32    ? static_cast<uint32_t>(random())
                          : dtype == WEFT_ARGUMENT_DTYPE_BF16 ? low >> 16 | (high & 0xffff0000)
                                                              : low;
    std::memcpy(&data[at], &word, 4);
  }
  return data;
}

uint32_t added(weft_argument_dtype dtype, uint32_t a, uint32_t b) {
  const auto sum = [](uint32_t x, uint32_t y) {
    return std::bit_cast<uint32_t>(std::bit_cast<float>(x) + std::bit_cast<float>(y));
  };
  if (dtype == WEFT_ARGUMENT_DTYPE_I32) return a + b;
  if (dtype == WEFT_ARGUMENT_DTYPE_F32) return sum(a, b);
  const auto half = [&](uint32_t x, uint32_t y) {  // to the nearest, ties to even
    const uint32_t exact = sum(x, y);
    return (exact + 0x7fff + (exact >> 16 & 1)) >> 16;
  };
  return half(a << 16, b << 16) | half(a & 0xffff0000, b & 0xffff0000) << 16;
}

Bytes expected(weft_argument_dtype dtype, const std::vector<Bytes>& inputs) {
  Bytes sum = inputs.front();
  for (size_t i = 1; i < inputs.size(); i++)
    for (size_t at = 0; at < sum.size(); at += 4) {
      uint32_t a = 0, b = 0;
      std::memcpy(&a, &sum[at], 4);
      std::memcpy(&b, &inputs[i][at], 4);
      a = added(dtype, a, b);
      std::memcpy(&sum[at], &a, 4);
    }
  return sum;
}

}  // namespace

TEST_CASE("a sum has the bits of its additions one after the other whichever unit is ahead") {
  constexpr unsigned kSeed = 28;
  CAPTURE(kSeed);
  std::mt19937 random(kSeed);
  const uint64_t tile = compiler::transfer_tile_bytes(nano());
  for (const auto dtype : {WEFT_ARGUMENT_DTYPE_F32, WEFT_ARGUMENT_DTYPE_BF16, WEFT_ARGUMENT_DTYPE_I32})
    for (const uint32_t count : {2u, 3u, 4u, 5u, 6u, 28u})
      for (const uint64_t bytes : {uint64_t{16}, uint64_t{4096}, tile, 2 * tile + 16}) {
        CAPTURE(dtype, count, bytes);
        const auto kernel = compiler::compile_sum(nano(), dtype, bytes, count);
        REQUIRE(kernel.ok());
        REQUIRE(kernel.value().arguments.size() == count + 1);
        std::vector<Bytes> arguments;
        for (uint32_t i = 0; i < count; i++) arguments.push_back(draw(random, dtype, bytes));
        const auto sum = expected(dtype, arguments);
        const auto inputs = arguments;
        arguments.emplace_back(bytes, std::byte{0x5a});
        test::ProgramExecutor executor(nano(), kernel.value(), arguments, random());
        executor.finish_in_order();  // a pass waits for the tiles of the one before by their count
        REQUIRE(executor.run().empty());
        const bool same = executor.argument(count, bytes) == sum;  // without their bytes in the message
        REQUIRE(same);
        for (uint32_t i = 0; i < count; i++) REQUIRE(executor.argument(i, bytes) == inputs[i]);
      }
}

TEST_CASE("another order of additions would show") {
  std::mt19937 random(29);
  for (const auto dtype : {WEFT_ARGUMENT_DTYPE_F32, WEFT_ARGUMENT_DTYPE_BF16}) {
    std::vector<Bytes> inputs;
    for (int i = 0; i < 4; i++) inputs.push_back(draw(random, dtype, 4096));
    const auto sum = expected(dtype, inputs);
    std::swap(inputs[1], inputs[3]);
    CHECK(expected(dtype, inputs) != sum);
  }
}

TEST_CASE("sums that cannot be are refused by what is wrong with them") {
  const auto message = [](weft_argument_dtype dtype, uint64_t bytes, uint32_t count, weft_error code) {
    const auto kernel = compiler::compile_sum(nano(), dtype, bytes, count);
    REQUIRE_FALSE(kernel.ok());
    CHECK(kernel.error().code == code);
    return kernel.error().message;
  };
  constexpr auto kF32 = WEFT_ARGUMENT_DTYPE_F32;
  CHECK_THAT(message(WEFT_ARGUMENT_DTYPE_I8, 64, 2, WEFT_ERROR_INVALID_ARGUMENT), Catch::Contains("f32, bf16 and i32"));
  CHECK_THAT(message(kF32, 0, 2, WEFT_ERROR_INVALID_ARGUMENT), Catch::Contains("multiple of 16"));
  CHECK_THAT(message(kF32, 24, 2, WEFT_ERROR_INVALID_ARGUMENT), Catch::Contains("24 bytes"));
  CHECK_THAT(message(kF32, 64, 1, WEFT_ERROR_INVALID_ARGUMENT), Catch::Contains("2 to 28"));
  CHECK_THAT(message(kF32, 64, 29, WEFT_ERROR_INVALID_ARGUMENT), Catch::Contains("29 arrays"));
  const uint64_t most = 16384 * compiler::transfer_tile_bytes(nano());
  CHECK_THAT(message(kF32, most + 16, 2, WEFT_ERROR_UNSUPPORTED), Catch::Contains(std::to_string(most)));
}
