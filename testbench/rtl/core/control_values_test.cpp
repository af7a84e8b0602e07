// Registers, faults and counters at values of their whole width: addresses of bus errors, the watchdog's verdict,
// counters that carry over all bits, sums that leave int32.
#include <cstring>
#include <vector>

#include "field_bench.hpp"

namespace weft {
namespace {

TEST_CASE("a bus error tells its address whatever the address is", "[control_values]") {
  constexpr uint64_t kSeed = 99;
  INFO("seed " << kSeed);
  FieldBench bench(kSeed);
  bench.bus.fails = true;
  for (unsigned i = 0; i < 60; i++) {
    INFO("case " << i);
    bench.reset();
    bench.segments[1] = {.base = bench.draw.bits() & ~uint64_t{15},
                         .limit = 4096,
                         .space = WEFT_ADDRESS_SPACE_HBM,
                         .readable = true,
                         .writable = true};
    const uint32_t at = WEFT_CSR_SEGMENT_BASE_STRIDE;
    bench.write(WEFT_CSR_SEGMENT_BASE + at, bench.segments[1].base);
    bench.write(WEFT_CSR_SEGMENT_LIMIT + at, bench.segments[1].limit);
    bench.write(WEFT_CSR_SEGMENT_ATTRIBUTES + at, uint64_t{WEFT_ADDRESS_SPACE_HBM} | 0xc);
    const bool out = i % 2 != 0;
    // With a first copy at work on channel 0, the second goes to channel 1.
    const unsigned copies = 1 + i / 2 % 2;
    for (unsigned copy = 0; copy < copies; copy++) {
      spec::DmaCommand c;
      c.header.opcode = WEFT_OPCODE_COPY;
      c.header.tag = static_cast<uint16_t>(bench.draw.bits());
      (out ? c.dst_seg : c.src_seg) = 1;
      (out ? c.dst_off : c.src_off) = 16 * bench.draw.below(250);
      c.size0 = 16;
      REQUIRE(bench.core->push(out ? WEFT_QUEUE_DMA_OUT : WEFT_QUEUE_DMA_IN, encode(c)));
      if (copy != 0) continue;
      const uint64_t address = bench.segments[1].base + (out ? c.dst_off : c.src_off);
      if (copies == 1) {
        REQUIRE(bench.run(500));
        CHECK((bench.core->read_csr(WEFT_CSR_FAULT_CODE) & 0xff) == WEFT_FAULT_DMA_BUS);
        CHECK(bench.core->read_csr(WEFT_CSR_FAULT_ADDRESS) == address);
      }
    }
    REQUIRE(bench.run(500));
    CHECK(bench.core->read_csr(WEFT_CSR_FAULT_COUNT) == copies);
  }
}

TEST_CASE("the watchdog names the unit that hangs, or the queue that waits", "[control_values]") {
  FieldBench bench(21);
  bench.open_segment();
  const auto copy = [&](unsigned queue, uint16_t tag) {
    spec::DmaCommand c;
    c.header.opcode = WEFT_OPCODE_COPY;
    c.header.tag = tag;
    (queue == WEFT_QUEUE_DMA_OUT ? c.dst_seg : c.src_seg) = FieldBench::kOpenSegment;
    c.size0 = 16;
    REQUIRE(bench.core->push(queue, encode(c)));
  };
  const auto expired = [&](unsigned unit, uint16_t tag) {
    bench.run(1000);
    const uint64_t code = bench.core->read_csr(WEFT_CSR_FAULT_CODE);
    CHECK((code & 0xff) == WEFT_FAULT_WATCHDOG);
    CHECK((code >> 8 & 0xff) == unit);
    CHECK((code >> 32 & 0xffff) == tag);
    bench.reset();
  };
  bench.write(WEFT_CSR_WATCHDOG_LIMIT, 100);
  for (unsigned channel = 0; channel < WEFT_CORE_DMA_CHANNELS; channel++) {
    INFO("channel " << channel);
    const unsigned queue = channel < 2 ? WEFT_QUEUE_DMA_IN : WEFT_QUEUE_DMA_OUT;
    bench.bus.answers = channel % 2;  // the first copy comes back, the second one, on the other channel, does not
    if (channel % 2 != 0) copy(queue, 7);
    copy(queue, 8);
    expired(channel, 8);
  }
  bench.bus.answers = UINT32_MAX;
  constexpr weft_opcode kOpcodes[] = {WEFT_OPCODE_COPY, WEFT_OPCODE_MATMUL, WEFT_OPCODE_CAST, WEFT_OPCODE_COPY,
                                      WEFT_OPCODE_WAIT};
  constexpr unsigned kUnits[] = {WEFT_UNIT_DMA0, WEFT_UNIT_MXU, WEFT_UNIT_VPU, WEFT_UNIT_DMA2, WEFT_UNIT_SYNC};
  for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++) {
    INFO("queue " << queue);
    spec::CommandHeader waits;
    waits.opcode = static_cast<uint8_t>(kOpcodes[queue]);
    waits.tag = static_cast<uint16_t>(100 + queue);
    waits.wait_sem0 = 3, waits.wait_count0 = 1;
    REQUIRE(bench.core->push(queue, spec::encode(waits)));
    expired(kUnits[queue], waits.tag);
  }
}

TEST_CASE("of two faults in one cycle the first source is kept and both are counted", "[control_values]") {
  FieldBench bench(22);
  unsigned met = 0;
  for (unsigned delay = 0; delay < 12; delay++) {
    INFO("delay " << delay);
    spec::DmaCommand unmapped;
    unmapped.header.opcode = WEFT_OPCODE_COPY;
    unmapped.header.tag = 1;
    unmapped.src_seg = 9, unmapped.size0 = 16;
    spec::CommandHeader flags;
    flags.opcode = WEFT_OPCODE_FENCE;
    flags.tag = 2, flags.flags = 0x80;
    REQUIRE(bench.core->push(WEFT_QUEUE_DMA_IN, encode(unmapped)));
    for (unsigned i = 0; i < delay; i++) bench.core->advance(bench.core->cycle() + 1);
    REQUIRE(bench.core->push(WEFT_QUEUE_SYNC, spec::encode(flags)));
    REQUIRE(bench.run(100));
    const uint64_t code = bench.core->read_csr(WEFT_CSR_FAULT_CODE);
    const bool dma_first = (code >> 32 & 0xffff) == 1;
    CHECK((code & 0xff) == (dma_first ? WEFT_FAULT_SEGMENT : WEFT_FAULT_ILLEGAL_FIELD));
    // The sync queue stops with the first fault, so both count only if they came in one cycle or the DMA's came later.
    if (dma_first && bench.core->read_csr(WEFT_CSR_FAULT_COUNT) == 2) met++;
    bench.reset();
  }
  CHECK(met == 1);
}

TEST_CASE("cycle and idle counters carry over all of their bits", "[control_values]") {
  FieldBench bench(5);
  spec::Command fence;
  spec::store_le(fence, 0, 1, WEFT_OPCODE_FENCE);
  spec::store_le(fence, 4, 4, 0xffffffff);
  // Before and behind each power of two a command runs, a fault is timed, and the idle cycles of the jump are credited.
  for (unsigned bit = 12; bit < 64; bit++) {
    INFO("bit " << bit);
    const uint64_t target = (uint64_t{1} << bit) - 6;
    while (bench.core->cycle() < target) bench.core->advance(target);
    CHECK(bench.core->read_csr(WEFT_CSR_CYCLE) == target);
    bench.write(WEFT_CSR_WATCHDOG_LIMIT, bit % 2 != 0 ? uint64_t{1} << bit : ~uint64_t{0} >> (bit - 12));
    REQUIRE(bench.core->push(WEFT_QUEUE_SYNC, fence));
    REQUIRE(bench.run(100));
    bench.write(WEFT_CSR_COUNTER_SNAPSHOT, 1);
    uint64_t states = 0;  // of queue sync: busy, waiting, blocked, empty
    for (unsigned i = 0; i < WEFT_COUNTERS; i++)
      states |= bench.core->read_csr(WEFT_CSR_COUNTER + i * WEFT_CSR_COUNTER_STRIDE);
    CHECK(states >> (bit - 2) != 0);
    CHECK(bench.core->read_csr(WEFT_CSR_LAST_RETIRE_CYCLE) > target);
    bench.write(WEFT_CSR_COUNTER_CLEAR, 1);
    bench.reset();
    spec::Command illegal;
    REQUIRE(bench.core->push(WEFT_QUEUE_MXU, illegal));
    REQUIRE(bench.run(100));
    CHECK(bench.core->read_csr(WEFT_CSR_FAULT_CYCLE) > target);
    CHECK(bench.core->read_csr(WEFT_CSR_FAULT_COUNT) == 1);
    bench.reset();
  }
}

TEST_CASE("unmapped registers read 0 and the mapped ones keep what is written", "[control_values]") {
  FieldBench bench(11);
  for (const uint64_t value : {~uint64_t{0}, uint64_t{0}, uint64_t{0x5555555555555555}, uint64_t{0xaaaaaaaaaaaaaaaa}}) {
    for (uint32_t offset = 0x28; offset < 0x1000; offset += 8) {
      const bool control = offset < WEFT_CSR_SEMAPHORE && offset != WEFT_CSR_WATCHDOG_LIMIT;
      if (!control) bench.write(offset, value);
    }
    CHECK(bench.core->read_csr(WEFT_CSR_WATCHDOG_LIMIT) == value);
    for (unsigned i = 0; i < WEFT_SEMAPHORES; i++) CHECK(bench.semaphore(i) == (value & 0xffff));
    CHECK(bench.core->read_csr(0xff8) == 0);
  }
}

TEST_CASE("an int8 sum beyond int32 wraps and is told", "[control_values]") {
  FieldBench bench(23);
  spec::DmaCommand fill;
  fill.header.opcode = WEFT_OPCODE_FILL;
  fill.src_off = 0x80808080;  // -128
  fill.size0 = 2 * bench.chip.n * bench.chip.word_bytes;
  REQUIRE(bench.core->push(WEFT_QUEUE_DMA_IN, encode(fill)));
  REQUIRE(bench.run(1000));
  spec::MxuCommand sum;
  sum.header.opcode = WEFT_OPCODE_MATMUL;
  sum.dtype = WEFT_MXU_DTYPE_INT8;
  sum.k = (1u << 31) / (128 * 128) + 2 * bench.chip.n;
  sum.m = 1, sum.cols = static_cast<uint16_t>(bench.chip.n);
  REQUIRE(bench.core->push(WEFT_QUEUE_MXU, encode(sum)));
  REQUIRE(bench.run(sum.k));
  bench.write(WEFT_CSR_COUNTER_SNAPSHOT, 1);
  CHECK(bench.core->read_csr(WEFT_CSR_COUNTER + WEFT_COUNTER_STATUS_INT_OVERFLOW * WEFT_CSR_COUNTER_STRIDE) == 1);
  std::byte row[4];
  std::vector<std::byte> lanes(size_t{bench.chip.n} * 4);
  REQUIRE(bench.core->peek_acc(0, lanes));
  std::copy_n(lanes.begin(), 4, row);
  uint32_t value = 0;
  std::memcpy(&value, row, 4);
  CHECK(value == sum.k * (128u * 128u));
  const core::Mismatch mismatch = core::find_mismatch(*bench.core);
  INFO(mismatch.report);
  CHECK_FALSE(mismatch.differs);
}

}  // namespace
}  // namespace weft
