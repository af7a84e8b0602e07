// Queues, semaphores, registers, interrupts and reset.
#include <catch2/catch.hpp>

#include "bench.hpp"

using namespace weft;
using namespace weft::test;

TEST_CASE("A queue holds sixteen commands and says when it is full") {
  Bench bench;
  const auto stuck = waiting(sync(WEFT_OPCODE_WAIT), 9);
  for (int i = 0; i < 16; i++) CHECK(bench.push(WEFT_QUEUE_SYNC, stuck));
  CHECK_FALSE(bench.push(WEFT_QUEUE_SYNC, stuck));
  CHECK(bench.push(WEFT_QUEUE_MXU, stuck));
  CHECK_FALSE(bench.core.push(5, {}));
  bench.core.advance(bench.core.cycle() + 20);
  CHECK(bench.csr(WEFT_CSR_QUEUE_LEVEL + 8 * WEFT_QUEUE_SYNC) == 16);
  CHECK_FALSE(bench.push(WEFT_QUEUE_SYNC, stuck));
  CHECK(bench.csr(WEFT_CSR_STATUS) == (1 | 2 | 4));  // WAIT is not legal on the MXU's queue
}

TEST_CASE("A command with two waits takes both counts at once or neither") {
  Bench bench;
  bench.push(WEFT_QUEUE_SYNC, tagged(waiting(waiting(sync(WEFT_OPCODE_WAIT), 1, 2), 2, 3), 7));
  bench.core.advance(bench.core.cycle() + 50);
  bench.write(WEFT_CSR_SEMAPHORE + 8 * 1, 2);
  bench.write(WEFT_CSR_SEMAPHORE + 8 * 2, 2);
  bench.core.advance(bench.core.cycle() + 50);
  CHECK(bench.csr(WEFT_CSR_SEMAPHORE + 8 * 1) == 2);
  CHECK(bench.csr(WEFT_CSR_SEMAPHORE + 8 * 2) == 2);
  CHECK(bench.csr(WEFT_CSR_QUEUE_HEAD_TAG + 8 * WEFT_QUEUE_SYNC) == (0x10000 | 7));
  bench.write(WEFT_CSR_SEMAPHORE + 8 * 2, 5);
  REQUIRE(bench.drain());
  CHECK(bench.csr(WEFT_CSR_SEMAPHORE + 8 * 1) == 0);
  CHECK(bench.csr(WEFT_CSR_SEMAPHORE + 8 * 2) == 2);
  CHECK(bench.csr(WEFT_CSR_SEMAPHORE_NONZERO) == 1u << 2);
  CHECK(bench.csr(WEFT_CSR_QUEUE_RETIRED + 8 * WEFT_QUEUE_SYNC) == 1);
}

TEST_CASE("SIGNAL posts both semaphores") {
  Bench bench;
  bench.push(WEFT_QUEUE_SYNC, posting(posting(sync(WEFT_OPCODE_SIGNAL), 1, 2), 63, 0xffff));
  REQUIRE(bench.drain());
  CHECK(bench.csr(WEFT_CSR_SEMAPHORE + 8 * 1) == 2);
  CHECK(bench.csr(WEFT_CSR_SEMAPHORE + 8 * 63) == 0xffff);
  CHECK(bench.csr(WEFT_CSR_SEMAPHORE_NONZERO) == (uint64_t{1} << 63 | 1u << 1));
}

TEST_CASE("FENCE waits for the other units, SIGNAL does not") {
  for (const auto opcode : {WEFT_OPCODE_SIGNAL, WEFT_OPCODE_FENCE}) {
    Bench bench;
    bench.push(WEFT_QUEUE_DMA_IN, posting(tagged(copy_in(3, 0, 0, 4096), 1), 0));
    bench.core.advance(bench.core.cycle() + 20);
    bench.push(WEFT_QUEUE_SYNC, tagged(sync(opcode), 2));
    REQUIRE(bench.drain());
    CHECK((bench.log.at('r', 2) > bench.log.at('r', 1)) == (opcode == WEFT_OPCODE_FENCE));
  }
}

TEST_CASE("Interrupts: idle when work ends, low when a queue drains, cleared by writing ones") {
  Bench bench;
  bench.write(WEFT_CSR_QUEUE_LOW, 0);
  bench.push(WEFT_QUEUE_SYNC, sync(WEFT_OPCODE_SIGNAL));
  bench.core.advance(1'000'000);
  CHECK(bench.core.cycle() < 1'000'000);
  CHECK(bench.core.interrupt());
  CHECK(bench.csr(WEFT_CSR_INTERRUPT) == 4);
  bench.write(WEFT_CSR_INTERRUPT, 4);
  CHECK_FALSE(bench.core.interrupt());
  bench.core.advance(1'000'000);
  CHECK(bench.core.interrupt());
  CHECK(bench.csr(WEFT_CSR_INTERRUPT) == 2);
  bench.write(WEFT_CSR_INTERRUPT, 2);
  CHECK_FALSE(bench.core.busy());
  bench.core.advance(1'000'000);
  CHECK(bench.core.cycle() == 1'000'000);
  CHECK(bench.csr(WEFT_CSR_CYCLE) == 1'000'000);
}

TEST_CASE("Core reset drops all work, keeps VMEM and segments, and takes its cycles") {
  Bench bench;
  std::fill(bench.bus.bytes.begin(), bench.bus.bytes.begin() + 64, std::byte{0x5a});
  bench.push(WEFT_QUEUE_DMA_IN, copy_in(3, 0, 0, 64));
  REQUIRE(bench.drain());
  bench.push(WEFT_QUEUE_SYNC, waiting(sync(WEFT_OPCODE_WAIT), 3));
  bench.push(WEFT_QUEUE_DMA_IN, copy_in(3, 0, 0, 1 << 16));
  bench.push(WEFT_QUEUE_VPU, sync(WEFT_OPCODE_WAIT));
  bench.write(WEFT_CSR_SEMAPHORE + 8, 3);
  bench.core.advance(bench.core.cycle() + 100);
  CHECK(bench.fault_code() == WEFT_FAULT_ILLEGAL_OPCODE);
  bench.core.write_csr(WEFT_CSR_CONTROL, 1);
  CHECK_FALSE(bench.push(WEFT_QUEUE_SYNC, sync(WEFT_OPCODE_SIGNAL)));
  const uint64_t before = bench.core.cycle();
  while (bench.core.busy()) bench.core.advance(bench.core.cycle() + 1);
  CHECK(bench.core.cycle() == before + 1 + WEFT_CORE_CORE_RESET_CYCLES);
  CHECK(bench.fault_code() == 0);
  CHECK(bench.csr(WEFT_CSR_STATUS) == 0);
  CHECK(bench.csr(WEFT_CSR_FAULT_COUNT) == 0);
  CHECK(bench.csr(WEFT_CSR_SEMAPHORE + 8) == 0);
  CHECK(bench.csr(WEFT_CSR_QUEUE_RETIRED) == 0);
  CHECK(bench.csr(WEFT_CSR_SEGMENT_LIMIT + 3 * WEFT_CSR_SEGMENT_LIMIT_STRIDE) == 1 << 20);
  CHECK(bench.csr(WEFT_CSR_SEGMENT_ATTRIBUTES + 3 * WEFT_CSR_SEGMENT_ATTRIBUTES_STRIDE) ==
        (WEFT_ADDRESS_SPACE_HBM | 4 | 8));
  std::byte value{};
  REQUIRE(bench.core.peek_vmem(63, {&value, 1}));
  CHECK(value == std::byte{0x5a});
  CHECK(bench.push(WEFT_QUEUE_SYNC, sync(WEFT_OPCODE_SIGNAL)));
  REQUIRE(bench.drain());
  CHECK(bench.csr(WEFT_CSR_QUEUE_RETIRED + 8 * WEFT_QUEUE_SYNC) == 1);
}

TEST_CASE("Peeks outside of VMEM and ACC are refused") {
  Bench bench;
  std::vector<std::byte> out(32);
  CHECK(bench.core.peek_vmem(bench.chip.vmem_bytes - 32, out));
  CHECK_FALSE(bench.core.peek_vmem(bench.chip.vmem_bytes - 31, out));
  CHECK_FALSE(bench.core.peek_vmem(UINT64_MAX - 3, out));
  CHECK(bench.core.peek_acc(2 * bench.chip.acc_bank_rows - 1, out));
  CHECK_FALSE(bench.core.peek_acc(2 * bench.chip.acc_bank_rows, out));
}

TEST_CASE("Unknown registers read zero and ignore writes") {
  Bench bench;
  for (const uint32_t offset : {0x70u, 0x1f8u, 0x418u, 0xff8u, 0x4000u, 3u}) {
    bench.write(offset, 0x123456789);
    CHECK(bench.csr(offset) == 0);
  }
}
