// What the registers tell of the queues and of a unit that hangs, for every queue: the one of a neighbour is another
// one.
#include <catch2/catch.hpp>
#include <cstdint>

#include "testbench/unit/model_core/core_bench.hpp"

namespace {

using namespace weft;
using bench::CoreBench;

constexpr uint8_t kNeverPosted = 40;

spec::Command copy(unsigned queue, uint16_t tag, const bench::Semaphores& semaphores) {
  spec::DmaCommand command;
  command.header = bench::header(WEFT_OPCODE_COPY, tag, semaphores);
  command.src_seg = queue == WEFT_QUEUE_DMA_IN ? 1 : 0, command.dst_seg = queue == WEFT_QUEUE_DMA_IN ? 0 : 1;
  command.size0 = 256;
  return encode(command);
}

/// A command that the queue accepts and that waits for ever.
spec::Command waiting(unsigned queue, uint16_t tag) {
  const bench::Semaphores semaphores{.wait0 = kNeverPosted, .wait_count0 = 1};
  if (queue == WEFT_QUEUE_DMA_IN || queue == WEFT_QUEUE_DMA_OUT) return copy(queue, tag, semaphores);
  if (queue == WEFT_QUEUE_MXU) {
    spec::MxuCommand command;
    command.header = bench::header(WEFT_OPCODE_MATMUL, tag, semaphores);
    return encode(command);
  }
  if (queue == WEFT_QUEUE_VPU) {
    spec::VpuCommand command;
    command.header = bench::header(WEFT_OPCODE_ELEMENTWISE, tag, semaphores);
    return encode(command);
  }
  return bench::sync_command(WEFT_OPCODE_WAIT, tag, semaphores);
}

}  // namespace

TEST_CASE("level and head tag of every queue stand at the queue's own offset, and nothing beyond the last") {
  CoreBench bench("nano");
  for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++)
    for (unsigned i = 0; i < 2 + queue; i++)
      REQUIRE(bench.push(queue, waiting(queue, static_cast<uint16_t>(100 * (queue + 1) + i))));
  bench.skip(40);
  REQUIRE(bench.read(WEFT_CSR_FAULT_CODE) == 0);
  for (unsigned queue = 0; queue < 8; queue++) {
    INFO("queue " << queue);
    const bool exists = queue < WEFT_CORE_QUEUES;
    CHECK(bench.read(WEFT_CSR_QUEUE_LEVEL + 8 * queue) == (exists ? 2 + queue : 0));
    CHECK(bench.read(WEFT_CSR_QUEUE_HEAD_TAG + 8 * queue) == (exists ? 0x10000 | 100 * (queue + 1) : 0));
    CHECK(bench.read(WEFT_CSR_QUEUE_RETIRED + 8 * queue) == 0);
  }
}

TEST_CASE("a unit that hangs is the one that the WATCHDOG fault names, with its queue and its command") {
  constexpr uint64_t kLimitCycles = 500;
  for (const unsigned queue : {WEFT_QUEUE_DMA_IN, WEFT_QUEUE_DMA_OUT}) {
    for (unsigned commands = 1; commands <= 2; commands++) {
      INFO("queue " << queue << ", " << commands << " commands");
      CoreBench bench("nano");
      bench.write(WEFT_CSR_WATCHDOG_LIMIT, kLimitCycles);
      // The memory is busy with something else for much longer than the limit.
      bench.bus.schedule_read(WEFT_ADDRESS_SPACE_HBM, uint64_t{1} << 40, bench.core->cycle());
      for (unsigned i = 0; i < commands; i++)
        REQUIRE(bench.push(queue, copy(queue, static_cast<uint16_t>(70 + i), {})));
      bench.skip(4 * kLimitCycles);  // the unit stays busy: it hangs
      const bench::FaultInfo fault = bench::fault(bench);
      CHECK(fault.code == WEFT_FAULT_WATCHDOG);
      CHECK(fault.queue == queue);
      CHECK(fault.unit == (queue == WEFT_QUEUE_DMA_IN ? WEFT_UNIT_DMA0 : WEFT_UNIT_DMA2));
      CHECK(fault.tag == 70);
    }
  }
}

TEST_CASE("a refused VMEM access is counted, and a program that meets nobody counts none") {
  CoreBench bench("nano");
  const auto refused = [&] {
    uint64_t sum = 0;
    const auto counters = bench.counters();
    for (unsigned i = WEFT_COUNTER_VMEM_CONFLICTS_X; i <= WEFT_COUNTER_VMEM_CONFLICTS_DMA_WRITE; i++)
      sum += counters[i];
    return sum;
  };
  // Words of one bank, read by a copy out alone, then by a product at the same time.
  spec::DmaCommand out;
  out.header = bench::header(WEFT_OPCODE_COPY, 1, {});
  out.src_seg = 0, out.dst_seg = 1, out.size0 = bench.chip.word_bytes, out.size1 = 1000;
  out.src_stride1 = out.dst_stride1 = static_cast<int32_t>(bench.chip.vmem_banks * bench.chip.word_bytes);
  spec::MxuCommand product;
  product.header = bench::header(WEFT_OPCODE_MATMUL, 2, {});
  product.k = 8 * bench.chip.n, product.m = 64, product.cols = 8, product.dtype = WEFT_MXU_DTYPE_BF16;
  product.x_row_stride = bench.chip.vmem_banks;
  REQUIRE(bench.push(WEFT_QUEUE_DMA_OUT, encode(out)));
  REQUIRE(bench.run());
  CHECK(refused() == 0);
  REQUIRE(bench.push(WEFT_QUEUE_DMA_OUT, encode(out)));
  REQUIRE(bench.push(WEFT_QUEUE_MXU, encode(product)));
  REQUIRE(bench.run());
  REQUIRE(bench.read(WEFT_CSR_FAULT_CODE) == 0);
  CHECK(refused() > 0);
}
