// The whole core in lockstep with the golden model while its memory refuses at every level: sizes around N, several
// tiles, the same cycles when it runs again.
#include <catch2/catch.hpp>
#include <cstdint>

#include "testbench/rtl/bench/stream.hpp"
#include "testbench/unit/model_core/core_bench.hpp"

namespace {

using namespace weft;
using bench::CoreBench;

/// Runs y = relu(x w + b) and returns its cycles; every command is compared by the lockstep core, the sum by plain
/// loops.
uint64_t run_program(const bench::MatmulProgram& program, unsigned refuse_percent, unsigned seed) {
  CoreBench bench("nano", core::CoreKind::kLockstep);
  bench.bus.refuse_percent = refuse_percent;
  program.place(bench, seed);
  REQUIRE(program.push(bench));
  REQUIRE(bench.run());
  const auto mismatch = core::find_mismatch(*bench.core);
  INFO("m " << program.m << " tiles " << program.tiles << " cols " << program.cols << ", " << refuse_percent
            << " % refused, seed " << seed << "\n"
            << mismatch.report);
  REQUIRE_FALSE(mismatch.differs);
  REQUIRE(bench::fault(bench).code == WEFT_FAULT_NONE);
  REQUIRE(program.result(bench) == program.expected(bench));
  return bench.core->cycle();
}

}  // namespace

TEST_CASE("every size around N is right at every level of the memory's back-pressure") {
  const unsigned refuse = GENERATE(from_range(bench::kStreamLevels.begin(), bench::kStreamLevels.end()));
  const unsigned n = spec::find_chip("nano")->n;
  unsigned seed = 1;
  for (const unsigned m : {1u, n - 1, n, n + 1, 2 * n, spec::find_chip("nano")->acc_bank_rows})
    for (const unsigned tiles : {1u, 2u, 5u})
      for (const unsigned cols : {1u, n - 1, n})
        (void)run_program({.m = m, .tiles = tiles, .cols = cols}, refuse, seed++);
}

TEST_CASE("a memory that refuses costs cycles, and the same run takes the same cycles again") {
  const bench::MatmulProgram program{.m = 32, .tiles = 4, .cols = 8};
  const uint64_t free = run_program(program, 0, 1);
  CHECK(run_program(program, 0, 1) == free);
  const uint64_t refused = run_program(program, 75, 1);
  CHECK(refused > free);
  CHECK(run_program(program, 75, 1) == refused);
}
