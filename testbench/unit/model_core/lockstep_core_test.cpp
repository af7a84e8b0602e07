// The lockstep core: it agrees where the RTL is right, and names the first wrong element where the golden model was
// disturbed.
#include "model/core/lockstep/lockstep_core.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "testbench/unit/model_core/core_bench.hpp"

namespace {

using namespace weft;
using bench::CoreBench;
using bench::MatmulProgram;

core::LockstepCore& lockstep(CoreBench& bench) { return dynamic_cast<core::LockstepCore&>(*bench.core); }

constexpr uint32_t kBiasWord = (2 * 16 + 16 + 1) & ~1u;  // of the program below

/// Changes one byte of the RTL's VMEM behind its back.
void flip_vmem(CoreBench& bench, uint64_t byte) {
  std::array<std::byte, 1> value{};
  REQUIRE(bench.core->peek_vmem(byte, value));
  value[0] ^= std::byte{0x80};
  REQUIRE(lockstep(bench).rtl().poke_vmem(byte, value));
}

/// Runs m = 16, K = 2 tiles, with epilogue and copy out, and calls `disturb` in the cycle after the start of the
/// command with this tag, then `mend` before it retires.
template <typename Disturb, typename Mend>
core::Mismatch mismatch_of(CoreBench& bench, uint16_t tag, Disturb disturb, Mend mend, unsigned cycles = 14) {
  const MatmulProgram program{.m = 16, .tiles = 2, .cols = 8, .first_tag = 100};
  program.place(bench, 9);
  REQUIRE(program.push(bench));
  const auto at_work = [&](unsigned unit) {
    const auto& started = lockstep(bench).rtl().started(unit);
    return !started.empty() && spec::decode_header(started.front()).tag == tag;
  };
  const auto any = [&] {
    for (unsigned unit = 0; unit < WEFT_CORE_UNITS; unit++)
      if (at_work(unit)) return true;
    return false;
  };
  while (!any()) bench.skip(1);
  disturb();
  bench.skip(cycles);
  REQUIRE(any());  // still at work
  mend();
  REQUIRE(bench.run());
  const core::Mismatch mismatch = core::find_mismatch(*bench.core);
  INFO(mismatch.report);
  REQUIRE(mismatch.differs);
  return mismatch;
}

bool contains(const core::Mismatch& mismatch, const std::string& text) {
  UNSCOPED_INFO(mismatch.report);
  return mismatch.report.find(text) != std::string::npos;
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

TEST_CASE("a wrong product is named by unit, command, tag, row, lane, both values and the cycle of the write") {
  CoreBench bench("nano", core::CoreKind::kLockstep);
  // x of row 5, lane 0, has another sign while the product reads it
  const auto flip = [&] { flip_vmem(bench, 5 * 16 + 1); };
  const core::Mismatch m = mismatch_of(bench, 103, flip, flip);
  CHECK(m.unit == "mxu");
  CHECK(contains(m, "unit mxu, cycle " + std::to_string(m.cycle)));
  CHECK(contains(m, "row 5, ACC row 5, lane 0"));
  CHECK(contains(m, "MATMUL tag 103"));
  CHECK(contains(m, "RTL 0x"));
  CHECK(contains(m, "golden 0x"));
  CHECK(m.cycle < bench.core->cycle());
}

TEST_CASE("the tile of a wrong product is the first whose sums differ") {
  CoreBench bench("nano", core::CoreKind::kLockstep);
  const auto flip = [&] { flip_vmem(bench, (16 + 3) * 16 + 1); };  // x of tile 1, row 3
  const core::Mismatch m = mismatch_of(bench, 103, flip, flip, 36);
  CHECK(contains(m, "tile 1 of 2, row 3"));
}

TEST_CASE("an operand that changed in VMEM is VMEM's fault, not that of the unit that reads it") {
  CoreBench bench("nano", core::CoreKind::kLockstep);
  const core::Mismatch m = mismatch_of(
      bench, 103, [&] { flip_vmem(bench, 5 * 16 + 1); }, [] {});
  CHECK(m.unit == "vmem");
  CHECK(contains(m, "VMEM word 5"));
  CHECK(contains(m, "changed since it was written"));
}

TEST_CASE("a row of ACC that changed is ACC's fault, not that of the VPU that reads it") {
  CoreBench bench("nano", core::CoreKind::kLockstep);
  const auto flip = [&] {
    std::vector<uint32_t> row(8);
    REQUIRE(bench.core->peek_acc(15, std::as_writable_bytes(std::span(row))));
    row[2] ^= 1;
    REQUIRE(lockstep(bench).rtl().poke_acc(15, std::as_bytes(std::span(row))));
  };
  const core::Mismatch m = mismatch_of(bench, 104, flip, [] {});
  CHECK(m.unit == "acc");
  CHECK(contains(m, "ACC row 15, lane 2"));
}

TEST_CASE("a wrong epilogue is named by the row of the VPU's result") {
  CoreBench bench("nano", core::CoreKind::kLockstep);
  const auto flip = [&] { flip_vmem(bench, (kBiasWord + 1) * 16 + 3); };  // lane 4 of the bias
  const core::Mismatch m = mismatch_of(bench, 104, flip, flip);
  CHECK(m.unit == "vpu");
  CHECK(contains(m, "EPILOGUE tag 104"));
  CHECK(contains(m, "row "));
  CHECK(contains(m, "VMEM word 5"));
}

TEST_CASE("a result that VMEM lost is VMEM's fault, with the cycle of the unit's write") {
  CoreBench bench("nano", core::CoreKind::kLockstep);
  const core::Mismatch m = mismatch_of(
      bench, 104, [] {}, [&] { flip_vmem(bench, (kBiasWord + 2) * 16); });
  CHECK(m.unit == "vmem");
  CHECK(contains(m, "row 0, VMEM word 50, lane 0"));
  CHECK(contains(m, "vpu wrote it rightly in cycle"));
}

TEST_CASE("a wrong beat to memory is named by its run, byte and the cycle in which it left") {
  CoreBench bench("nano", core::CoreKind::kLockstep);
  const auto flip = [&] { flip_vmem(bench, (kBiasWord + 2) * 16 + 2); };
  const core::Mismatch m = mismatch_of(bench, 105, flip, flip);
  CHECK(m.unit == "dma2");
  CHECK(contains(m, "run 0 of 1, byte 2, hbm address"));
  CHECK(contains(m, "COPY tag 105"));
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
