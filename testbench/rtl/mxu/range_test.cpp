// Sums that leave the range of exponents which the array's fast form knows, in one lane or in several, and a reset in
// the middle of a product.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <span>
#include <utility>
#include <vector>

#include "testbench/rtl/mxu/mxu_harness.hpp"

namespace weft::mxu_bench::range_test {

inline constexpr unsigned kX = 0, kW = 8192;  // words of VMEM

/// bf16 of significand / 128 x 2 ^ exponent, significand from 128 to 255.
inline constexpr uint16_t bf16(int significand, int exponent, bool negative = false) {
  return static_cast<uint16_t>(static_cast<unsigned>(negative) << 15 | static_cast<unsigned>(exponent + 127) << 7 |
                               static_cast<unsigned>(significand - 128));
}
inline constexpr uint16_t kOne = bf16(128, 0);

/// Products that are added one after the other: x and weight of each.
struct Chain {
  const char* name;
  std::vector<std::pair<uint16_t, uint16_t>> products;
};

std::vector<Chain> chains() {
  const std::pair<uint16_t, uint16_t> below = {bf16(192, -64), bf16(128, -63)};      // 1.5 x 2^-127
  const std::pair<uint16_t, uint16_t> least = {bf16(128, -63), bf16(128, -63)};      // 2^-126
  const std::pair<uint16_t, uint16_t> above = {bf16(192, 64), bf16(128, 64)};        // 1.5 x 2^128
  const std::pair<uint16_t, uint16_t> highest = {bf16(192, 64), bf16(128, 63)};      // 1.5 x 2^127
  const std::pair<uint16_t, uint16_t> minus = {bf16(128, 60, true), bf16(128, 60)};  // -2^120
  // Four products of 255 x 2^k fill 24 bits up to the largest number; half of its last place rounds to 2^128.
  const std::vector<std::pair<uint16_t, uint16_t>> full = {
      {bf16(255, 64), bf16(128, 63)}, {bf16(255, 60), bf16(128, 59)}, {bf16(255, 56), bf16(128, 55)}};
  auto carried = full;
  carried.emplace_back(bf16(128, 52), bf16(128, 51));
  auto carried_and_back = carried;
  carried_and_back.push_back(minus);
  auto full_and_back = full;
  full_and_back.push_back(minus);
  return {{"below", {below}},
          {"twice below", {below, below}},
          {"below, then normal", {below, {kOne, kOne}}},
          {"normal, then below", {{kOne, kOne}, below}},
          {"two places below", {{bf16(192, -64), bf16(128, -64)}}},
          {"three places below", {{bf16(192, -65), bf16(128, -64)}}},
          {"far below", {{bf16(255, -100), bf16(255, -100)}}},
          {"the least normal number", {least}},
          {"a difference below", {{bf16(192, -63), bf16(128, -63)}, {bf16(128, -63, true), bf16(128, -63)}}},
          {"above", {above}},
          {"2^128", {{bf16(128, 64), bf16(128, 64)}}},
          {"above, then less", {above, minus}},
          {"above twice", {above, above}},
          {"the highest binade", {highest}},
          {"the highest binade, then less", {highest, minus}},
          {"over the highest binade by a sum", {highest, highest}},
          {"the largest number", full},
          {"the largest number, then less", full_and_back},
          {"rounded over the largest number", carried},
          {"rounded over the largest number, then less", carried_and_back}};
}

MxuCommand command(unsigned m, unsigned k, unsigned acc_row, uint8_t seed, uint8_t dtype = WEFT_MXU_DTYPE_BF16) {
  MxuCommand c;
  c.header.opcode = WEFT_OPCODE_MATMUL;
  c.m = static_cast<uint16_t>(m), c.k = k, c.cols = kN, c.acc_row = static_cast<uint16_t>(acc_row);
  c.seed = seed, c.dtype = dtype;
  c.x_addr = kX, c.x_row_stride = 1, c.x_tile_stride = m;
  c.w_addr = kW, c.w_tile_stride = kN;
  return c;
}

void check_rows(Harness& bench, const Reference& reference, unsigned first, unsigned rows) {
  for (unsigned row = first; row < first + rows; row++) {
    const auto got = bench.read_row(row);
    REQUIRE(got.size() == kN);
    for (unsigned lane = 0; lane < kN; lane++) {
      INFO(fmt::format("ACC row {}, lane {}: {:#010x}, expected {:#010x}", row, lane, got[lane],
                       reference.row(row)[lane]));
      REQUIRE(got[lane] == reference.row(row)[lane]);
    }
  }
}

TEST_CASE("a sum that leaves the range of exponents is rounded like the chain of multiply-adds, in any lanes") {
  Harness bench(1);
  for (const Chain& chain : chains()) {
    const auto k = static_cast<unsigned>(chain.products.size());
    for (unsigned lanes = 1; lanes <= kN; lanes++)
      for (const uint16_t elsewhere : {uint16_t{0}, bf16(160, -20)}) {  // weight of the other lanes
        INFO(chain.name << " in " << lanes << " lanes, the others' weights " << elsewhere);
        for (unsigned i = 0; i < k; i++) {
          bench.vmem[kX * kN + i] = chain.products[i].first;
          for (unsigned lane = 0; lane < kN; lane++)
            bench.vmem[(kW + i) * kN + lane] = lane < lanes ? chain.products[i].second : elsewhere;
        }
        Reference reference(kN, 2 * kBankRows);
        const MxuCommand c = command(1, k, lanes, WEFT_MXU_SEED_ZERO);
        bench.push(c);
        reference.execute(c, bench.vmem);
        REQUIRE(bench.run());
        check_rows(bench, reference, lanes, 1);
      }
  }
  CHECK(bench.differing_cycles == 0);
}

TEST_CASE("a reset in any cycle of a product leaves nothing in the unit") {
  Harness bench(2);
  for (auto& lane : bench.vmem) {
    const uint64_t r = bench.random();
    lane = static_cast<uint16_t>((r & 0x807f) | (120 + (r >> 16) % 12) << 7);
  }
  for (const uint8_t dtype : {WEFT_MXU_DTYPE_BF16, WEFT_MXU_DTYPE_INT8})
    for (unsigned cycles = 1; cycles < 90; cycles++) {
      INFO("reset after " << cycles << " cycles, dtype " << unsigned{dtype});
      bench.push(command(kN + 3, 3 * kN, 0, WEFT_MXU_SEED_KEEP, dtype));
      bench.push(command(kN, 2 * kN, kBankRows, WEFT_MXU_SEED_KEEP, dtype));
      for (unsigned i = 0; i < cycles; i++) bench.step();
      bench.reset();
      Reference reference(kN, 2 * kBankRows);
      for (const uint8_t seed : {WEFT_MXU_SEED_ZERO, WEFT_MXU_SEED_KEEP}) {
        const MxuCommand c = command(kN, kN + 1, 5, seed, WEFT_MXU_DTYPE_BF16);
        bench.push(c);
        reference.execute(c, bench.vmem);
      }
      REQUIRE(bench.run());
      CHECK(bench.done.size() == 2);
      CHECK_FALSE(bench.counters.overflow);
      check_rows(bench, reference, 5, kN);
    }
  CHECK(bench.faults.empty());
  CHECK(bench.differing_cycles == 0);
}

}  // namespace weft::mxu_bench::range_test
