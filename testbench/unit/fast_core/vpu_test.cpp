// Groups of rows: a VPU of S sublanes takes S rows a cycle where their banks differ, and no more than the banks give.
#include <catch2/catch.hpp>

#include "bench.hpp"

using namespace weft;
using namespace weft::test;

namespace {

/// One command on an idle core: cycles in which rows are read and in which one waits, rows written.
struct Rows {
  uint64_t busy, stalled, written;
};
Rows rows_of(Bench& bench, const spec::VpuCommand& command) {
  bench.push(WEFT_QUEUE_VPU, command);
  REQUIRE(bench.drain());
  CHECK(bench.fault_code() == WEFT_FAULT_NONE);
  bench.write(WEFT_CSR_COUNTER_SNAPSHOT, 1);
  return {bench.counter(WEFT_COUNTER_VPU_BUSY), bench.counter(WEFT_COUNTER_VPU_STALLED),
          bench.counter(WEFT_COUNTER_VPU_ROWS)};
}

spec::VpuCommand row_products(const spec::Chip& chip, uint16_t rows, uint32_t b_addr, uint32_t stride) {
  spec::VpuCommand c;
  c.header.opcode = WEFT_OPCODE_ELEMENTWISE;
  c.header.wait_sem0 = c.header.wait_sem1 = c.header.post_sem0 = c.header.post_sem1 = WEFT_NO_SEMAPHORE;
  c.op = WEFT_VPU_OP_MUL;
  c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_F32;
  c.rows = rows, c.cols = static_cast<uint16_t>(chip.n);
  c.b_mode = WEFT_VPU_B_MODE_TENSOR;
  c.b_addr = b_addr;
  c.a_stride = c.b_stride = c.d_stride = stride;
  c.d_addr = 8192;
  return c;
}

}  // namespace

TEST_CASE("Rows in different banks go a group a cycle, the last one with what is left") {
  for (const char* preset : {"nano", "nano-4mxu", "v5e-1mxu"})
    for (const uint16_t rows : {1, 3, 4, 5, 8, 9, 61}) {
      CAPTURE(preset, rows);
      Bench bench(preset);
      const uint64_t sublanes = bench.chip.vpu_sublanes;
      // a and b half the banks apart
      const Rows got = rows_of(bench, row_products(bench.chip, rows, 4096 + bench.chip.vmem_banks / 2, 2));
      CHECK(got.busy == (rows + sublanes - 1) / sublanes);
      CHECK(got.stalled == 0);
      CHECK(got.written == rows);
    }
}

TEST_CASE("Where a and b meet in the same banks b waits for a, and rows of one bank go one a cycle") {
  Bench bench("nano-4mxu");  // 32 banks, groups of 8 words
  const Rows apart = rows_of(bench, row_products(bench.chip, 64, 4096 + 16, 2));
  CHECK(apart.busy == 16);
  const Rows meeting = rows_of(bench, row_products(bench.chip, 64, 4096, 2));
  CHECK(meeting.busy - apart.busy == 16);
  CHECK(meeting.stalled - apart.stalled == 8);  // b waits for a
  const Rows one_bank = rows_of(bench, row_products(bench.chip, 64, 4096 + 16, bench.chip.vmem_banks));
  CHECK(one_bank.busy - meeting.busy == 64);
}
