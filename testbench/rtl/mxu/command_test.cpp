// Random commands: the results bit for bit, the counters, and both forms of the array in each cycle.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "testbench/rtl/bench/mismatch.hpp"
#include "testbench/rtl/mxu/mxu_harness.hpp"

namespace weft::mxu_bench::command_test {

uint64_t first_seed() { return weft::bench::environment_number("WEFT_SEED", 7); }

/// What VMEM is filled with. kScales: zeros and powers of 2^-40 of either sign, so that sums cancel exactly, become -0
/// by underflow, and meet products far below them.
enum class Data { kOrdinary, kSpecial, kTiny, kBits, kScales };

void fill(Harness& bench, Data data) {
  for (auto& lane : bench.vmem) {
    const uint64_t r = bench.random();
    const auto ordinary = static_cast<uint16_t>((r & 0x807f) | (120 + (r >> 16) % 12) << 7);
    const uint16_t specials[] = {0x0000, 0x8000, 0x7f80, 0xff80, 0x7fc0, 0x0001, 0x7f7f, 0x0080};
    lane = ordinary;
    if (data == Data::kOrdinary && r >> 32 & 3) continue;
    if (data == Data::kOrdinary) lane = r >> 34 & 1 ? 0 : static_cast<uint16_t>((r >> 35 & 0x8000) | 0x3f80);
    if (data == Data::kSpecial && (r >> 32) % 300 == 0) lane = specials[(r >> 48) % std::size(specials)];
    if (data == Data::kTiny) lane = static_cast<uint16_t>((r & 0x807f) | (58 + (r >> 16) % 12) << 7);
    if (data == Data::kBits) lane = static_cast<uint16_t>(r);
    const uint16_t scales[] = {0x0000, 0x3f80, 0x2b80, 0x1780};
    if (data == Data::kScales) lane = static_cast<uint16_t>((r & 0x8000) | scales[r >> 16 & 3]);
  }
}

/// Shapes: a row or two of few k, where many tiles are in flight at once; small; or up to the size of a bank.
enum class Shape { kTiny, kSmall, kLarge };

MxuCommand random_command(Harness& bench, Shape shape) {
  const auto below = [&](uint64_t limit) { return static_cast<uint32_t>(bench.random() % limit); };
  MxuCommand c;
  c.header.opcode = WEFT_OPCODE_MATMUL;
  c.header.tag = static_cast<uint16_t>(bench.random());
  c.dtype = below(2) ? WEFT_MXU_DTYPE_INT8 : WEFT_MXU_DTYPE_BF16;
  c.seed = below(2) ? WEFT_MXU_SEED_KEEP : WEFT_MXU_SEED_ZERO;
  const uint32_t rows[] = {2, 12, 64}, ks[] = {3, 20, 100};
  if (shape == Shape::kTiny && below(8)) c.dtype = WEFT_MXU_DTYPE_BF16;
  c.m = static_cast<uint16_t>(1 + below(rows[static_cast<int>(shape)]));
  c.k = 1 + below(ks[static_cast<int>(shape)]);
  c.cols = static_cast<uint16_t>(below(3) ? Harness::kN : 1 + below(Harness::kN));
  c.acc_row = static_cast<uint16_t>(below(2) * Harness::kBankRows + below(Harness::kBankRows - c.m + 1u));
  c.x_row_stride = below(40);
  c.x_tile_stride = below(200);
  c.x_addr = below(Harness::kVmemWords - 63 * 40 - 13 * 200);
  c.w_tile_stride = below(300);
  c.w_addr = below(Harness::kVmemWords - 13 * 300 - 8);
  return c;
}

std::string describe(const MxuCommand& c) {
  return fmt::format("m {} k {} cols {} acc_row {} seed {} dtype {} x {}+{}+{} w {}+{}", c.m, c.k, c.cols, c.acc_row,
                     c.seed, c.dtype, c.x_addr, c.x_row_stride, c.x_tile_stride, c.w_addr, c.w_tile_stride);
}

/// Runs `count` random commands and compares everything that can be seen.
void run_random(Data data, unsigned refusals, unsigned count, uint64_t seed) {
  INFO(fmt::format("seed {}; refusals {} %, data {}", first_seed(), refusals, static_cast<int>(data)));
  Harness bench(seed);
  fill(bench, data);
  Reference reference(Harness::kN, 2 * Harness::kBankRows);
  bench.x_refusals = bench.w_refusals = refusals;

  std::vector<MxuCommand> burst;
  for (unsigned run = 0; run < 2 * Harness::kBankRows; run += Harness::kBankRows) {  // both banks: zero at first
    MxuCommand clear = random_command(bench, Shape::kSmall);
    clear.acc_row = static_cast<uint16_t>(run);
    clear.m = Harness::kBankRows;
    clear.k = 1;
    clear.seed = WEFT_MXU_SEED_ZERO;
    burst.push_back(clear);
  }
  for (unsigned i = 0; i < count;) {
    bench.command_pauses = bench.random() % 2 ? 0 : 80;
    const unsigned size = 1 + static_cast<unsigned>(bench.random() % 12);
    const auto shape = static_cast<Shape>(bench.random() % 3);
    for (unsigned b = 0; b < size; b++, i++) burst.push_back(random_command(bench, shape));
    for (const auto& command : burst) {
      bench.push(command);
      reference.execute(command, bench.vmem);
    }
    REQUIRE(bench.run());
    for (unsigned row = 0; row < 2 * Harness::kBankRows; row++) {
      const auto got = bench.read_row(row);
      const auto expected = reference.row(row);
      REQUIRE(got.size() == Harness::kN);
      for (unsigned j = 0; j < Harness::kN; j++) {
        if (got[j] == expected[j]) continue;
        std::string commands;
        for (const auto& command : burst) commands += "\n  " + describe(command);
        // The last command that writes the row.
        const auto writes = [&](const MxuCommand& m) { return row >= m.acc_row && row < m.acc_row + unsigned{m.m}; };
        const auto found = std::find_if(burst.rbegin(), burst.rend(), writes);
        const MxuCommand& last = found == burst.rend() ? burst.back() : *found;
        const bool int8 = last.dtype == WEFT_MXU_DTYPE_INT8;
        FAIL(weft::bench::mismatch_text({.command = describe(last) + "; last commands:" + commands,
                                         .tile = (last.k - 1) / (int8 ? 2 * Harness::kN : Harness::kN),
                                         .row = row - last.acc_row,
                                         .lane = j,
                                         .element = int8 ? weft::bench::Element::kI32 : weft::bench::Element::kF32,
                                         .rtl = got[j],
                                         .reference = expected[j],
                                         .cycle = bench.cycle,
                                         .seed = first_seed()}));
      }
    }
    burst.clear();
  }
  CHECK(bench.differing_cycles == 0);
  CHECK(bench.done.size() == bench.accepted.size());
  const auto& c = bench.counters;
  const uint64_t cycles = c.busy + c.weight_wait + c.acc_wait + c.vmem_wait + c.drain + c.idle;
  CHECK(cycles == bench.cycle);
  CHECK(c.busy == reference.rows());
  CHECK(c.macs == reference.macs());
  CHECK(c.overflow == reference.overflowed());
}

TEST_CASE("ordinary data: every result and counter is right, without refusals") {
  run_random(Data::kOrdinary, 0, 2000, first_seed());
}
TEST_CASE("ordinary data: every result and counter is right when VMEM refuses a quarter") {
  run_random(Data::kOrdinary, 25, 2000, first_seed() + 1);
}
TEST_CASE("ordinary data: every result and counter is right when VMEM refuses three quarters") {
  run_random(Data::kOrdinary, 75, 1000, first_seed() + 2);
}
TEST_CASE("special values: every result is right") { run_random(Data::kSpecial, 25, 2000, first_seed() + 3); }
TEST_CASE("products at the edge of underflow: every result is right") {
  run_random(Data::kTiny, 0, 1500, first_seed() + 4);
}
TEST_CASE("random bits: every result is right") { run_random(Data::kBits, 25, 1500, first_seed() + 5); }

TEST_CASE("cancellation, negative zeros and far scales: every result is right") {
  run_random(Data::kScales, 0, 3000, first_seed() + 6);
}

TEST_CASE("the overflow flag belongs to valid rows and lanes below cols only") {
  // lane 0 holds large positive int32 sums (bf16 bits), lane 1 small ones; int8 products then add to both
  for (unsigned cols : {1u, 2u}) {
    for (bool large_in_lane1 : {false, true}) {
      Harness bench(first_seed());
      // weights: word 100 for the bf16 command, word 101 for int8
      bench.vmem[0] = 0x3f80;                      // x = 1
      bench.vmem[100 * Harness::kN + 0] = 0x3f80;  // lane 0 = 1.0 = 0x3f800000
      bench.vmem[100 * Harness::kN + 1] = large_in_lane1 ? 0x7f7f : 0x3f80;
      bench.vmem[8] = 0x7f7f;  // x = 127, 127
      bench.vmem[101 * Harness::kN + 0] = 0x0101;
      bench.vmem[101 * Harness::kN + 1] = 0x7f7f;
      MxuCommand c;
      c.header.opcode = WEFT_OPCODE_MATMUL;
      c.w_addr = 100;
      c.k = c.m = 1;
      c.cols = 2;
      c.dtype = WEFT_MXU_DTYPE_BF16;
      bench.push(c);
      c.dtype = WEFT_MXU_DTYPE_INT8;
      c.seed = WEFT_MXU_SEED_KEEP;
      c.k = 2;
      c.x_addr = 1;
      c.w_addr = 101;
      c.cols = static_cast<uint16_t>(cols);
      for (int i = 0; i < 400; i++) bench.push(c);  // 400 x 32258 passes int32 from 0x7f7f0000, not from 0x3f800000
      REQUIRE(bench.run());
      CHECK(bench.counters.overflow == (large_in_lane1 && cols == 2));
      CHECK(bench.differing_cycles == 0);
    }
  }
}

}  // namespace weft::mxu_bench::command_test
