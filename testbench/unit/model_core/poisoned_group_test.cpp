// Errors that ECC cannot correct in one row of the groups of a VPU with four sublanes: on the RTL and on the fast core.
#include <catch2/catch.hpp>

#include "testbench/unit/model_core/injection_bench.hpp"
#include "weft/spec/names.hpp"

namespace {

using namespace weft;
using namespace weft::bench;

constexpr const char* kChip = "nano-4mxu";
constexpr uint64_t kWord = 16;
constexpr uint32_t kA = 100, kB = 200, kD = 300;  // VMEM words

/// The command on a core whose VMEM is all zero but for double errors in these granules.
Outcome run(core::CoreKind kind, const std::vector<uint64_t>& poisoned, const spec::VpuCommand& command) {
  CoreBench bench(kChip, kind);
  REQUIRE(bench.chip.vpu_sublanes == 4);
  for (const uint64_t address : poisoned) {
    inject(bench, {.kind = WEFT_INJECT_KIND_VMEM_FLIP, .address = address, .data = 5, .n = 0});
    bench.skip(2);
  }
  REQUIRE(bench.push(WEFT_QUEUE_VPU, encode(command)));
  REQUIRE(bench.run(20'000));
  return outcome(bench);
}

/// On both cores: the fault is that of `first`, and `rows` rows were written before it.
void check(const std::vector<uint64_t>& poisoned, const spec::VpuCommand& command, uint64_t first, uint64_t rows) {
  CAPTURE(poisoned, first, rows);
  const Outcome rtl = run(core::CoreKind::kRtl, poisoned, command),
                fast = run(core::CoreKind::kFast, poisoned, command);
  CHECK(rtl.fault.code == WEFT_FAULT_ECC_UNCORRECTABLE);
  CHECK(rtl.fault.address == first);
  CHECK(rtl.fault.count == 1);
  CHECK(rtl.idle);
  CHECK(rtl.counters[WEFT_COUNTER_VPU_ROWS] == rows);
  CHECK(rtl.fault.code == fast.fault.code);
  CHECK(rtl.fault.address == fast.fault.address);
  CHECK(rtl.fault.cycle == fast.fault.cycle);
  CHECK(rtl.fault.tag == fast.fault.tag);
  for (unsigned i = 0; i < WEFT_COUNTERS; i++) {
    INFO(spec::counter_name(i));
    CHECK(rtl.counters[i] == fast.counters[i]);
  }
  CHECK((rtl.vmem == fast.vmem));
  for (uint64_t row = 0; row < command.rows;
       row++) {  // 0 == 0 is one, and the sums of zeros are marked by their counter
    if (command.op != WEFT_VPU_OP_EQ) break;
    const auto at = static_cast<ptrdiff_t>((kD + command.d_stride * row) * kWord);
    const bool written = rtl.vmem[static_cast<size_t>(at) + 3] == std::byte{0x3f};
    CAPTURE(row);
    CHECK(written == (row < rows));
  }
}

spec::VpuCommand command(weft_opcode opcode, uint16_t rows) {
  spec::VpuCommand c;
  c.header = header(opcode, 7, {});
  c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_F32;
  c.rows = rows, c.cols = 8;
  c.a_addr = kA, c.d_addr = kD, c.a_stride = c.d_stride = 2;
  return c;
}
uint64_t granule(uint32_t word, uint64_t row) { return (word + 2 * row) * kWord + 8; }

}  // namespace

TEST_CASE("of a group the rows before the poisoned one are written and none behind it") {
  auto equal = command(WEFT_OPCODE_ELEMENTWISE, 11);
  equal.op = WEFT_VPU_OP_EQ, equal.b_mode = WEFT_VPU_B_MODE_TENSOR;
  equal.b_addr = kB, equal.b_stride = 2;
  for (uint64_t row = 0; row < equal.rows; row++) {
    check({granule(kA, row)}, equal, granule(kA, row), row);
    check({granule(kB, row)}, equal, granule(kB, row), row);
  }
  // the first row counts, and in one row a before b
  check({granule(kA, 7), granule(kB, 5)}, equal, granule(kB, 5), 5);
  check({granule(kA, 6), granule(kB, 6), granule(kA, 7)}, equal, granule(kA, 6), 6);
}

TEST_CASE("a poisoned row that all rows of a group use stops the command before its group") {
  auto equal = command(WEFT_OPCODE_ELEMENTWISE, 11);
  equal.op = WEFT_VPU_OP_EQ, equal.b_mode = WEFT_VPU_B_MODE_ROW;
  equal.b_addr = kB;
  check({granule(kB, 0)}, equal, granule(kB, 0), 0);
  check({granule(kB, 0), granule(kA, 0)}, equal, granule(kA, 0), 0);
  equal.b_mode = WEFT_VPU_B_MODE_COLUMN, equal.b_stride = 2;
  check({granule(kB, 1)}, equal, granule(kB, 1), 8);  // elements 8 to 15 are those of rows from 8 on
}

TEST_CASE("of a residual each row counts and the kept bias behind the first of them") {
  auto residual = command(WEFT_OPCODE_EPILOGUE, 11);
  residual.src_space = WEFT_VPU_SPACE_ACC, residual.a_addr = 0, residual.a_stride = 1;
  residual.b_mode = WEFT_VPU_B_MODE_RESIDUAL, residual.b_addr = kB, residual.b_stride = 2, residual.scalar2 = kA;
  for (uint64_t row = 0; row < residual.rows; row++) check({granule(kB, row)}, residual, granule(kB, row), row);
  check({granule(kA, 0)}, residual, granule(kA, 0), 0);
  check({granule(kA, 0), granule(kB, 0)}, residual, granule(kB, 0), 0);
  check({granule(kA, 0), granule(kB, 1)}, residual, granule(kA, 0), 0);
}

TEST_CASE("of scales the lanes below cols count and half a word leaves what is poisoned in the other") {
  auto scaled = command(WEFT_OPCODE_EPILOGUE, 11);
  scaled.src_space = WEFT_VPU_SPACE_ACC, scaled.a_addr = 0, scaled.a_stride = 1;
  scaled.src_dtype = WEFT_VPU_DTYPE_I32, scaled.dst_dtype = WEFT_VPU_DTYPE_I8, scaled.op = WEFT_VPU_OP_UPPER;
  scaled.b_mode = WEFT_VPU_B_MODE_SCALED, scaled.b_addr = kB, scaled.scalar2 = kA;
  check({granule(kA, 0)}, scaled, granule(kA, 0), 0);
  check({granule(kA, 0), granule(kB, 0)}, scaled, granule(kB, 0), 0);
  scaled.cols = 2;
  for (const auto kind : {core::CoreKind::kRtl, core::CoreKind::kFast}) {
    CHECK(run(kind, {granule(kA, 0)}, scaled).fault.code == 0);
    for (const uint64_t half : {0u, 8u}) {  // the upper one is mended by what is written
      CoreBench bench(kChip, kind);
      inject(bench, {.kind = WEFT_INJECT_KIND_VMEM_FLIP, .address = kD * kWord + half, .data = 5, .n = 0});
      bench.skip(2);
      auto sums = command(WEFT_OPCODE_CAST, 1);
      sums.src_dtype = WEFT_VPU_DTYPE_I8, sums.op = half == 0 ? WEFT_VPU_OP_NONE : WEFT_VPU_OP_UPPER;
      sums.a_addr = kD, sums.d_addr = kD + 100;
      REQUIRE(bench.push(WEFT_QUEUE_VPU, encode(scaled)));
      REQUIRE(bench.push(WEFT_QUEUE_VPU, encode(sums)));
      REQUIRE(bench.run(20'000));
      CHECK((outcome(bench).fault.code != 0) == (half == 0));
    }
  }
}

TEST_CASE("of windows that fold side by side those before the poisoned one are written") {
  auto sums = command(WEFT_OPCODE_REDUCE, 7);
  sums.op = WEFT_VPU_OP_SUM, sums.axis = WEFT_VPU_AXIS_ROWS, sums.window = 3;
  sums.a_stride = 6, sums.b_stride = 2;  // row 3 w + i is row i of window w
  for (uint64_t row = 0; row < 21; row++) check({granule(kA, row)}, sums, granule(kA, row), row / 3);
  // window 2 meets poison in its row 0, which is read before row 2 of window 1
  check({granule(kA, 3 * 2), granule(kA, 3 * 1 + 2)}, sums, granule(kA, 3 * 1 + 2), 1);
  check({granule(kA, 3 * 1), granule(kA, 2)}, sums, granule(kA, 2), 0);
}

TEST_CASE(
    "groups of functions and sums along lanes and casts are cut as any other and a transpose has written nothing") {
  for (const uint64_t row : {0u, 2u, 5u}) {
    auto exp2 = command(WEFT_OPCODE_ELEMENTWISE, 7);
    exp2.op = WEFT_VPU_OP_EXP2;
    check({granule(kA, row)}, exp2, granule(kA, row), row);
    auto sums = command(WEFT_OPCODE_REDUCE, 7);
    sums.op = WEFT_VPU_OP_RMAX;
    check({granule(kA, row)}, sums, granule(kA, row), row);
    auto cast = command(WEFT_OPCODE_CAST, 7);
    cast.dst_dtype = WEFT_VPU_DTYPE_BF16, cast.d_stride = 1;
    check({granule(kA, row)}, cast, granule(kA, row), row);
    check({granule(kA, row)}, command(WEFT_OPCODE_TRANSPOSE, 7), granule(kA, row), 0);
  }
}

TEST_CASE("a rotation uses all lanes of a and those of b below cols") {
  auto rotate = command(WEFT_OPCODE_ELEMENTWISE, 7);
  rotate.op = WEFT_VPU_OP_ROTATE, rotate.b_mode = WEFT_VPU_B_MODE_TENSOR;
  rotate.scalar = 3, rotate.scalar2 = 1 | 2 << 16, rotate.cols = 2;
  rotate.b_addr = kB, rotate.b_stride = 2;
  const auto last_lane = [](uint32_t word, uint64_t row) { return (word + 2 * row + 1) * kWord + 8; };
  check({last_lane(kA, 5), last_lane(kB, 2)}, rotate, last_lane(kA, 5), 5);
  check({(kB + 2 * 3) * kWord, last_lane(kA, 5)}, rotate, (kB + 2 * 3) * kWord, 3);
}
