// Every fault of the core: code, unit, queue, tag, address; what stops and what goes on.
#include <catch2/catch.hpp>

#include "bench.hpp"

using namespace weft;
using namespace weft::test;

namespace {

struct Expected {
  weft_fault code;
  unsigned unit, queue, tag;
  uint64_t address;
};
void check_fault(Bench& bench, const Expected& e) {
  const uint64_t code = bench.csr(WEFT_CSR_FAULT_CODE);
  CHECK((code & 0xff) == static_cast<uint64_t>(e.code));
  CHECK((code >> 8 & 0xff) == e.unit);
  CHECK((code >> 16 & 0xff) == e.queue);
  CHECK((code >> 32 & 0xffff) == e.tag);
  CHECK(bench.csr(WEFT_CSR_FAULT_ADDRESS) == e.address);
  CHECK(bench.csr(WEFT_CSR_FAULT_COUNT) == 1);
  CHECK((bench.csr(WEFT_CSR_STATUS) & 6) == 6);
  CHECK((bench.csr(WEFT_CSR_INTERRUPT) & 1) == 1);
}

}  // namespace

TEST_CASE("ILLEGAL_OPCODE and a header's ILLEGAL_FIELD name the queue's first unit") {
  Bench bench;
  bench.push(WEFT_QUEUE_DMA_OUT, tagged(sync(WEFT_OPCODE_MATMUL), 0x1234));
  bench.drain(1000);
  check_fault(bench, {WEFT_FAULT_ILLEGAL_OPCODE, WEFT_UNIT_DMA2, WEFT_QUEUE_DMA_OUT, 0x1234, WEFT_OPCODE_MATMUL});
  Bench other;
  auto c = sync(WEFT_OPCODE_SIGNAL);
  c.header.post_count1 = 1;
  other.push(WEFT_QUEUE_SYNC, c);
  other.drain(1000);
  check_fault(other, {WEFT_FAULT_ILLEGAL_FIELD, WEFT_UNIT_SYNC, WEFT_QUEUE_SYNC, 0, 7});
}

TEST_CASE("A unit's refusal: field, alignment, range, segment, ACC") {
  const auto run = [](unsigned queue, const auto& command, const Expected& expected) {
    Bench bench;
    bench.push(queue, tagged(command, static_cast<uint16_t>(expected.tag)));
    bench.drain(1000);
    check_fault(bench, expected);
    CHECK(bench.csr(WEFT_CSR_QUEUE_RETIRED + 8 * queue) == 0);
  };
  auto remote = copy_in(3, 0, 0, 64);
  remote.remote_chip = 1;
  run(WEFT_QUEUE_DMA_IN, remote, {WEFT_FAULT_ILLEGAL_FIELD, WEFT_UNIT_DMA0, WEFT_QUEUE_DMA_IN, 1, 18});
  run(WEFT_QUEUE_DMA_IN, copy_in(3, 8, 0, 64), {WEFT_FAULT_ALIGNMENT, WEFT_UNIT_DMA0, WEFT_QUEUE_DMA_IN, 2, 20});
  run(WEFT_QUEUE_DMA_IN, copy_in(3, 0xffff0, 0, 64), {WEFT_FAULT_RANGE, WEFT_UNIT_DMA0, WEFT_QUEUE_DMA_IN, 3, 1 << 20});
  run(WEFT_QUEUE_DMA_OUT, copy_out(0, 9, 0, 64), {WEFT_FAULT_SEGMENT, WEFT_UNIT_DMA2, WEFT_QUEUE_DMA_OUT, 4, 9});
  run(WEFT_QUEUE_MXU, matmul(0, 1, 0, 65, 8, 8, 8), {WEFT_FAULT_ACC_RANGE, WEFT_UNIT_MXU, WEFT_QUEUE_MXU, 5, 0});
  run(WEFT_QUEUE_VPU, epilogue(0, 8, 9, 0), {WEFT_FAULT_ILLEGAL_FIELD, WEFT_UNIT_VPU, WEFT_QUEUE_VPU, 6, 22});
}

TEST_CASE("A DMA command reaches memory through the segment that it was checked with, whatever the table says later") {
  Bench bench;
  std::fill(bench.bus.bytes.begin() + 0x8000, bench.bus.bytes.begin() + 0x8040, std::byte{0x5a});
  for (int i = 0; i < 4; i++) bench.push(WEFT_QUEUE_DMA_IN, copy_in(4, 0, 0x10000, 1 << 16));
  bench.push(WEFT_QUEUE_DMA_IN, tagged(copy_in(3, 0x8000, 0x100, 64), 9));
  while (bench.log.at('s', 9) == 0) bench.core.advance(bench.core.cycle() + 1);
  bench.map(3, 2 << 20, 63);  // while it waits behind the others
  REQUIRE(bench.drain());
  CHECK(bench.fault_code() == WEFT_FAULT_NONE);
  std::array<std::byte, 64> got{};
  REQUIRE(bench.core.peek_vmem(0x100, got));
  CHECK(std::ranges::all_of(got, [](std::byte b) { return b == std::byte{0x5a}; }));
  bench.core.write_csr(WEFT_CSR_CONTROL, 1);
  bench.core.advance(bench.core.cycle() + WEFT_CORE_CORE_RESET_CYCLES + 10);
  bench.push(WEFT_QUEUE_DMA_IN, copy_in(3, 0x8000, 0x100, 64));
  bench.drain(1000);
  CHECK(bench.fault_code() == WEFT_FAULT_RANGE);
}

TEST_CASE("A bus error stops the command at its beat, and what other units hold is finished") {
  Bench bench;
  bench.bus.hole_first = 0x1000;
  bench.bus.hole_end = 0x1010;
  std::fill(bench.bus.bytes.begin(), bench.bus.bytes.end(), std::byte{0x77});
  bench.push(WEFT_QUEUE_DMA_IN, posting(tagged(copy_in(3, 0, 0, 0x2000), 1), 1));
  bench.push(WEFT_QUEUE_DMA_IN, posting(tagged(copy_in(4, 0, 0x8000, 0x2000), 2), 2));
  bench.drain(100'000);
  check_fault(bench, {WEFT_FAULT_DMA_BUS, WEFT_UNIT_DMA0, WEFT_QUEUE_DMA_IN, 1, 0x1000});
  CHECK(bench.csr(WEFT_CSR_SEMAPHORE + 8) == 0);
  CHECK(bench.csr(WEFT_CSR_SEMAPHORE + 16) == 1);
  std::byte before{}, at{};
  REQUIRE(bench.core.peek_vmem(0xfff, {&before, 1}));
  REQUIRE(bench.core.peek_vmem(0x1000, {&at, 1}));
  CHECK(before == std::byte{0x77});
  CHECK(at == std::byte{0});
  Bench out;
  out.bus.hole_first = (1 << 20) + 0x100;
  out.bus.hole_end = out.bus.hole_first + 1;
  out.push(WEFT_QUEUE_DMA_OUT, copy_out(0, 4, 0, 0x2000));
  out.drain(100'000);
  check_fault(out, {WEFT_FAULT_DMA_BUS, WEFT_UNIT_DMA2, WEFT_QUEUE_DMA_OUT, 0, (1 << 20) + 0x100});
}

TEST_CASE("SEMAPHORE_OVERFLOW: neither post happens and the command does not count") {
  Bench bench;
  bench.write(WEFT_CSR_SEMAPHORE + 8 * 6, 0xffff);
  bench.push(WEFT_QUEUE_SYNC, tagged(posting(posting(sync(WEFT_OPCODE_SIGNAL), 5), 6), 3));
  bench.drain(1000);
  check_fault(bench, {WEFT_FAULT_SEMAPHORE_OVERFLOW, WEFT_UNIT_SYNC, WEFT_QUEUE_SYNC, 3, 6});
  CHECK(bench.csr(WEFT_CSR_SEMAPHORE + 8 * 5) == 0);
  CHECK(bench.csr(WEFT_CSR_QUEUE_RETIRED + 8 * WEFT_QUEUE_SYNC) == 0);
}

TEST_CASE("A deadlock ends in WATCHDOG after its limit without progress, slow work does not") {
  Bench bench;
  bench.write(WEFT_CSR_WATCHDOG_LIMIT, 5000);
  bench.push(WEFT_QUEUE_MXU, tagged(waiting(posting(matmul(0, 1, 0, 8, 8, 8, 8), 1), 2), 0x11));
  bench.push(WEFT_QUEUE_VPU, tagged(waiting(posting(epilogue(0, 8, 8, 64), 2), 1), 0x22));
  const uint64_t start = bench.core.cycle();
  bench.core.advance(start + 1'000'000);
  check_fault(bench, {WEFT_FAULT_WATCHDOG, WEFT_UNIT_MXU, WEFT_QUEUE_MXU, 0x11, 0});
  CHECK(bench.csr(WEFT_CSR_FAULT_CYCLE) == start + 1 + 1 + 5000);  // the second push was the last progress
  CHECK_FALSE(bench.core.busy());

  Bench slow;
  slow.write(WEFT_CSR_WATCHDOG_LIMIT, 1000);
  for (int i = 0; i < 4; i++) slow.push(WEFT_QUEUE_DMA_IN, copy_in(3, 0, 0, 1 << 17));
  slow.push(WEFT_QUEUE_MXU, matmul(0, 0, 0, 64, 60000, 8, 0));
  REQUIRE(slow.drain());
  CHECK(slow.fault_code() == WEFT_FAULT_NONE);
  CHECK(slow.core.cycle() > 100'000);
}

TEST_CASE("The first fault stays, later ones are counted, and no queue issues after it") {
  Bench bench;
  bench.push(WEFT_QUEUE_VPU, tagged(sync(WEFT_OPCODE_COPY), 1));
  bench.push(WEFT_QUEUE_MXU, tagged(sync(WEFT_OPCODE_COPY), 2));
  bench.push(WEFT_QUEUE_SYNC, tagged(sync(WEFT_OPCODE_SIGNAL), 3));
  bench.drain(100);
  CHECK((bench.csr(WEFT_CSR_FAULT_CODE) >> 32 & 0xffff) == 1);
  CHECK(bench.log.at('s', 3) == 0);
  CHECK(bench.csr(WEFT_CSR_FAULT_COUNT) == 1);
}

TEST_CASE("A refused command behind a running one faults when that one is done") {
  Bench bench;
  bench.push(WEFT_QUEUE_VPU, tagged(epilogue(0, 50, 8, 0), 1));
  bench.push(WEFT_QUEUE_VPU, tagged(epilogue(0, 0, 8, 0), 2));
  bench.drain(10'000);
  CHECK((bench.csr(WEFT_CSR_FAULT_CODE) >> 32 & 0xffff) == 2);
  CHECK(bench.log.at('r', 1) != 0);
  CHECK(bench.csr(WEFT_CSR_FAULT_CYCLE) >= bench.log.at('r', 1) - 3);
}
