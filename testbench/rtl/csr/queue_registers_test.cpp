// What the registers tell of the queues and of a unit that hangs, for every queue: the one of a neighbour is another one.
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
      REQUIRE(bench.run(40 * kLimitCycles));
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
    for (unsigned i = WEFT_COUNTER_VMEM_CONFLICTS_X; i <= WEFT_COUNTER_VMEM_CONFLICTS_DMA_WRITE; i++) sum += counters[i];
    return sum;
  };
  // Copies out alone, then beside copies in: reads and writes of the same banks.
  for (uint16_t i = 0; i < 6; i++) REQUIRE(bench.push(WEFT_QUEUE_DMA_OUT, copy(WEFT_QUEUE_DMA_OUT, i, {})));
  REQUIRE(bench.run());
  CHECK(refused() == 0);
  for (uint16_t i = 0; i < 200; i++) {
    REQUIRE(bench.push(WEFT_QUEUE_DMA_OUT, copy(WEFT_QUEUE_DMA_OUT, i, {})));
    REQUIRE(bench.push(WEFT_QUEUE_DMA_IN, copy(WEFT_QUEUE_DMA_IN, i, {})));
  }
  REQUIRE(bench.run());
  CHECK(refused() > 0);
}
