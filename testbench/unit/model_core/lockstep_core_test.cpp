// The lockstep core: it agrees where the RTL is right, and names the first wrong element where the golden model was
// disturbed.
#include "model/core/lockstep_core.hpp"

#include <catch2/catch.hpp>
#include <cstdint>

#include "testbench/unit/model_core/core_bench.hpp"

namespace {

using namespace weft;
using bench::CoreBench;
using bench::MatmulProgram;

core::LockstepCore& lockstep(CoreBench& bench) { return dynamic_cast<core::LockstepCore&>(*bench.core); }

/// Pushes a program whose golden VMEM is disturbed at `byte` after the loads (they take more than `cycles`), and runs
/// it.
std::string report_of_disturbed(CoreBench& bench, uint64_t byte) {
  const MatmulProgram program{.m = 16, .tiles = 2, .cols = 8, .first_tag = 100};
  program.place(bench, 9);
  REQUIRE(program.push(bench));
  while (lockstep(bench).commands_compared() < 3) bench.skip(1);
  lockstep(bench).golden_state().vmem()[byte] ^= std::byte{0x80};
  REQUIRE(bench.run());
  return core::find_mismatch(*bench.core).report;
}

}  // namespace

TEST_CASE("in lockstep a program agrees with the golden model, command by command") {
  CoreBench bench("nano", core::CoreKind::kLockstep);
  unsigned commands = 0;
  for (const unsigned m : {1u, 7u, 8u, 30u, 64u}) {
    const MatmulProgram program{.m = m, .tiles = 3, .cols = m == 7 ? 3u : 8u};
    program.place(bench, m);
    REQUIRE(program.push(bench));
    REQUIRE(bench.run());
    INFO(core::find_mismatch(*bench.core).report);
    REQUIRE_FALSE(core::find_mismatch(*bench.core).differs);
    CHECK(program.result(bench) == program.expected(bench));
    commands += 6;
  }
  CHECK(lockstep(bench).commands_compared() == commands);
}

TEST_CASE("products that follow each other on the same ACC rows agree") {
  CoreBench bench("nano", core::CoreKind::kLockstep);
  const MatmulProgram program{.m = 16, .tiles = 4, .cols = 8};
  program.place(bench, 4);
  REQUIRE(program.push(bench));
  REQUIRE(bench.run());
  for (unsigned tile = 0; tile < 12; tile++) {
    spec::MxuCommand product;
    product.header = bench::header(WEFT_OPCODE_MATMUL, static_cast<uint16_t>(10 + tile), {});
    product.x_addr = 16 * (tile % 4), product.x_row_stride = 1;
    product.w_addr = 64 + 8 * (tile % 4);
    product.k = 8, product.m = 16, product.cols = 8, product.dtype = WEFT_MXU_DTYPE_BF16;
    product.seed = tile % 4 == 0 ? WEFT_MXU_SEED_ZERO : WEFT_MXU_SEED_KEEP;
    REQUIRE(bench.push(WEFT_QUEUE_MXU, encode(product)));
  }
  REQUIRE(bench.run());
  INFO(core::find_mismatch(*bench.core).report);
  CHECK_FALSE(core::find_mismatch(*bench.core).differs);
}

TEST_CASE("a wrong product is named by unit, command, tag, row, lane and both values") {
  CoreBench bench("nano", core::CoreKind::kLockstep);
  const std::string report = report_of_disturbed(bench, 5 * 16 + 1);  // x: row 5, lane 0, sign
  INFO(report);
  CHECK(report.find("unit mxu") != std::string::npos);
  CHECK(report.find("row 5, ACC row 5, lane 0") != std::string::npos);
  CHECK(report.find("MATMUL tag 103") != std::string::npos);
  CHECK(report.find("RTL 0x") != std::string::npos);
  CHECK(report.find("golden 0x") != std::string::npos);
  CHECK(report.find("cycle") != std::string::npos);
}

TEST_CASE("a wrong epilogue is found at the epilogue, a wrong byte on its way out at the copy") {
  CoreBench bench("nano", core::CoreKind::kLockstep);
  const uint32_t bias_word = (2 * 16 + 16 + 1) & ~1u;
  const std::string report = report_of_disturbed(bench, bias_word * 16 + 3);
  INFO(report);
  CHECK(report.find("unit vpu") != std::string::npos);
  CHECK(report.find("EPILOGUE tag 104") != std::string::npos);
  CHECK(report.find("row 0, VMEM word 50, lane 0") != std::string::npos);
}

TEST_CASE("commands that a reset cut off leave no difference behind") {
  CoreBench bench("nano", core::CoreKind::kLockstep);
  for (const unsigned cycles : {20u, 450u, 480u, 500u, 520u, 560u, 600u, 640u}) {
    const MatmulProgram cut{.m = 64, .tiles = 4, .cols = 8};
    cut.place(bench, cycles);
    REQUIRE(cut.push(bench));
    bench.skip(cycles);
    bench.reset();
    const MatmulProgram program{.m = 10, .tiles = 2, .cols = 8};
    program.place(bench, cycles + 1);
    REQUIRE(program.push(bench));
    REQUIRE(bench.run());
    INFO(cycles << ": " << core::find_mismatch(*bench.core).report);
    REQUIRE_FALSE(core::find_mismatch(*bench.core).differs);
  }
}

TEST_CASE("cores of other kinds never differ") {
  CoreBench bench("nano");
  CHECK_FALSE(core::find_mismatch(*bench.core).differs);
}
