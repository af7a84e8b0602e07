// Sizes around every boundary, alone and back to back, at every level of refusals: rows and k of 1, N - 1, N, N + 1, 2
// N and the most, columns of 1, N - 1 and N, ACC rows at both ends of both banks. Both forms of the array in each
// cycle.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "testbench/rtl/bench/mismatch.hpp"
#include "testbench/rtl/bench/stream.hpp"
#include "testbench/rtl/mxu/mxu_harness.hpp"

namespace weft::mxu_bench::edge_test {

MxuCommand command(unsigned m, unsigned k, unsigned cols, unsigned acc_row, uint8_t seed, uint8_t dtype) {
  MxuCommand c;
  c.header.opcode = WEFT_OPCODE_MATMUL;
  c.m = static_cast<uint16_t>(m), c.k = k, c.cols = static_cast<uint16_t>(cols);
  c.acc_row = static_cast<uint16_t>(acc_row), c.seed = seed, c.dtype = dtype;
  c.x_row_stride = 1, c.x_tile_stride = m;
  c.w_addr = 8192, c.w_tile_stride = kN;
  return c;
}

std::string describe(const MxuCommand& c) {
  return fmt::format("m {} k {} cols {} acc_row {} seed {} dtype {}", c.m, c.k, c.cols, c.acc_row, c.seed, c.dtype);
}

void run_commands(Harness& bench, Reference& reference, const std::vector<MxuCommand>& commands, uint64_t seed) {
  for (const auto& c : commands) {
    bench.push(c);
    reference.execute(c, bench.vmem);
  }
  REQUIRE(bench.run());
  for (unsigned row = 0; row < 2 * kBankRows; row++) {
    const auto got = bench.read_row(row);
    const auto expected = reference.row(row);
    REQUIRE(got.size() == kN);
    for (unsigned lane = 0; lane < kN; lane++) {
      if (got[lane] == expected[lane]) continue;
      // The last command that writes the row, else the last one.
      const auto writes = [&](const MxuCommand& c) { return row >= c.acc_row && row < c.acc_row + unsigned{c.m}; };
      const auto found = std::find_if(commands.rbegin(), commands.rend(), writes);
      const MxuCommand& last = found == commands.rend() ? commands.back() : *found;
      const auto element = last.dtype == WEFT_MXU_DTYPE_INT8 ? weft::bench::Element::kI32 : weft::bench::Element::kF32;
      const unsigned in_tile = last.dtype == WEFT_MXU_DTYPE_INT8 ? 2 * kN : kN;
      FAIL(weft::bench::mismatch_text({.command = fmt::format("{}, ACC row {}", describe(last), row),
                                       .tile = (last.k - 1) / in_tile,
                                       .row = row - last.acc_row,
                                       .lane = lane,
                                       .element = element,
                                       .rtl = got[lane],
                                       .reference = expected[lane],
                                       .cycle = bench.cycle,
                                       .seed = seed}));
    }
  }
  REQUIRE(bench.differing_cycles == 0);
  REQUIRE(bench.faults.empty());
  REQUIRE(bench.counters.overflow == reference.overflowed());
}

/// What flip-flops and memories of the benches made meanwhile hold before they are written.
class InitialSeed {
 public:
  explicit InitialSeed(unsigned seed) { setenv(kName, std::to_string(seed).c_str(), 1); }
  ~InitialSeed() { before_ ? setenv(kName, before_->c_str(), 1) : unsetenv(kName); }

 private:
  static constexpr const char* kName = "WEFT_INITIAL_SEED";
  std::optional<std::string> before_ =
      std::getenv(kName) == nullptr ? std::nullopt : std::optional<std::string>(std::getenv(kName));
};

TEST_CASE("every size around every boundary is right at every level of refusals") {
  const unsigned refusals = GENERATE(from_range(weft::bench::kStreamLevels.begin(), weft::bench::kStreamLevels.end()));
  const bool int8 = GENERATE(false, true);
  const uint64_t seed = weft::bench::stimulus_seed(1);
  const uint8_t dtype = int8 ? WEFT_MXU_DTYPE_INT8 : WEFT_MXU_DTYPE_BF16;
  const unsigned tile = int8 ? 2 * kN : kN;  // k of a full tile
  Harness bench(seed + refusals + int8);
  for (auto& lane : bench.vmem) {
    const uint64_t r = bench.random();
    lane = int8 ? static_cast<uint16_t>(r) : static_cast<uint16_t>((r & 0x807f) | (120 + (r >> 16) % 12) << 7);
  }
  bench.x_refusals = bench.w_refusals = refusals;
  Reference reference(kN, 2 * kBankRows);
  run_commands(bench, reference,
               {command(kBankRows, 1, kN, 0, WEFT_MXU_SEED_ZERO, dtype),
                command(kBankRows, 1, kN, kBankRows, WEFT_MXU_SEED_ZERO, dtype)},
               seed);
  for (const unsigned m : {1u, kN - 1, kN, kN + 1, 2 * kN, kBankRows})
    for (const unsigned k : {1u, 2u, tile - 1, tile, tile + 1, 2 * tile, 2 * tile + 1, 5 * tile}) {
      std::vector<MxuCommand> commands;
      for (const unsigned cols : {1u, kN - 1, kN})
        for (const unsigned bank : {0u, 1u})
          for (const unsigned row : {0u, kBankRows - m})
            for (const uint8_t from : {uint8_t{WEFT_MXU_SEED_ZERO}, uint8_t{WEFT_MXU_SEED_KEEP}}) {
              if (bench.random() % 3 == 0 && m > 1) continue;  // other neighbours each time
              commands.push_back(command(m, k, cols, bank * kBankRows + row, from, dtype));
            }
      if (!commands.empty()) run_commands(bench, reference, commands, seed);
    }
}

TEST_CASE("a tile's weights load while rows use the one before: every pair of sizes of neighbouring commands") {
  const unsigned refusals = GENERATE(from_range(weft::bench::kStreamLevels.begin(), weft::bench::kStreamLevels.end()));
  const uint64_t seed = weft::bench::stimulus_seed(2);
  Harness bench(seed + refusals);
  for (auto& lane : bench.vmem) {
    const uint64_t r = bench.random();
    lane = static_cast<uint16_t>((r & 0x807f) | (120 + (r >> 16) % 12) << 7);
  }
  bench.w_refusals = refusals;
  Reference reference(kN, 2 * kBankRows);
  run_commands(bench, reference,
               {command(kBankRows, 1, kN, 0, WEFT_MXU_SEED_ZERO, WEFT_MXU_DTYPE_BF16),
                command(kBankRows, 1, kN, kBankRows, WEFT_MXU_SEED_ZERO, WEFT_MXU_DTYPE_BF16)},
               seed);
  for (unsigned first = 1; first <= kN + 1; first++)
    for (unsigned second = 1; second <= kN + 1; second++) {
      auto a = command(first, 1 + bench.random() % (3 * kN), kN, 0, WEFT_MXU_SEED_KEEP, WEFT_MXU_DTYPE_BF16);
      auto b = command(second, 1 + bench.random() % (3 * kN), kN, kBankRows, WEFT_MXU_SEED_KEEP, WEFT_MXU_DTYPE_BF16);
      a.w_addr = static_cast<uint32_t>(8192 + bench.random() % 4096);
      b.w_addr = static_cast<uint32_t>(8192 + bench.random() % 4096);
      run_commands(bench, reference, {a, b, a, b}, seed);
    }
}

// Also at multiply-adds of three cycles, where the ring of rows has places that no count reaches after a reset.
TEST_CASE("after one cycle of reset it is the same whatever the flip-flops held before") {
  const uint64_t seed = weft::bench::stimulus_seed(3);
  for (unsigned initial = 1; initial <= 16; initial++) {
    CAPTURE(initial);
    const InitialSeed guard(initial);
    Harness bench(seed);
    for (auto& lane : bench.vmem) lane = static_cast<uint16_t>(bench.random() % 6 + 0x3f80);
    Reference reference(kN, 2 * kBankRows);
    // all of ACC: what its memory held before is no codeword of its ECC
    run_commands(bench, reference,
                 {command(kBankRows, kN, kN, 0, WEFT_MXU_SEED_ZERO, WEFT_MXU_DTYPE_BF16),
                  command(kBankRows, kN, kN, kBankRows, WEFT_MXU_SEED_ZERO, WEFT_MXU_DTYPE_BF16)},
                 seed);
  }
}

}  // namespace weft::mxu_bench::edge_test
