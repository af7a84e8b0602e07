// Queues that fetch their own commands, on the RTL and on the fast core: what a fetch does, refuses and costs.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <vector>

#include "testbench/unit/fast_core/programs.hpp"
#include "testbench/unit/model_core/core_bench.hpp"

namespace {

using namespace weft;
using bench::CoreBench;
using core::CoreKind;

constexpr uint64_t kBase = 0x100000;  // of the commands in HBM
constexpr uint64_t kVersion0Used = 1u << 24;
constexpr uint32_t at_queue(uint32_t offset, unsigned queue) { return offset + 8 * queue; }

uint64_t base_of(unsigned queue) { return kBase + queue * uint64_t{0x40000}; }

/// Puts commands into HBM, where the queue's fetch finds them.
void place(CoreBench& bench, unsigned queue, const std::vector<spec::Command>& commands, uint64_t at = 0) {
  auto& hbm = bench.bus.memory(WEFT_ADDRESS_SPACE_HBM);
  for (size_t i = 0; i < commands.size(); i++)
    std::memcpy(&hbm[base_of(queue) + at + i * WEFT_COMMAND_BYTES], commands[i].bytes.data(), WEFT_COMMAND_BYTES);
}
void fetch(CoreBench& bench, unsigned queue, uint64_t count, uint64_t at = 0) {
  bench.write(at_queue(WEFT_CSR_PREFETCH_BASE, queue), base_of(queue) + at);
  bench.write(at_queue(WEFT_CSR_PREFETCH_COUNT, queue), count);
}
std::vector<spec::Command> signals(unsigned count, const bench::Semaphores& semaphores = {}) {
  std::vector<spec::Command> commands;
  for (unsigned i = 0; i < count; i++)
    commands.push_back(bench::sync_command(WEFT_OPCODE_SIGNAL, static_cast<uint16_t>(i + 1), semaphores));
  return commands;
}
uint64_t retired(CoreBench& bench, unsigned queue) { return bench.read(at_queue(WEFT_CSR_QUEUE_RETIRED, queue)); }

/// The smallest command of each queue.
spec::Command smallest(const spec::Chip& chip, unsigned queue) {
  spec::DmaCommand fill;
  fill.header.opcode = WEFT_OPCODE_FILL;
  fill.size0 = WEFT_CORE_DMA_GRANULE_BYTES;
  switch (queue) {
    case WEFT_QUEUE_DMA_IN:
      return spec::encode(fill);
    case WEFT_QUEUE_MXU:
      return spec::encode(test::matmul(64, 1, 128, 1, 1, 1, chip.n));
    case WEFT_QUEUE_VPU:
      return spec::encode(test::epilogue(0, 1, 1, 256));
    case WEFT_QUEUE_DMA_OUT:
      fill.dst_seg = 1;
      return spec::encode(fill);
    default:
      return bench::sync_command(WEFT_OPCODE_SIGNAL, 1);
  }
}

/// No command of dma_out moves nothing. So its writes are acknowledged at once here: else its channels, which hold 16
/// commands for the latency of a write each, are what is measured.
///
/// Cycles per command of a queue over `count` of them, all queues of `queues` (a bit each) at once.
double cycles_a_command(CoreKind kind, unsigned queues, unsigned count) {
  CoreBench bench("nano", kind);
  for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++)
    place(bench, q, std::vector<spec::Command>(count, smallest(bench.chip, q)));
  bench.bus.writes_are_quick = true;
  const uint64_t begin = bench.core->cycle();
  for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++)
    if ((queues >> q & 1) != 0) fetch(bench, q, count);
  REQUIRE(bench.run());
  REQUIRE(bench::fault(bench).code == 0);
  for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) REQUIRE(retired(bench, q) == ((queues >> q & 1) != 0 ? count : 0));
  return static_cast<double>(bench.core->cycle() - begin) / count;
}

}  // namespace

TEST_CASE("a queue fetches its commands and runs them in order, and the core is busy from the count to the last one") {
  for (const CoreKind kind : {CoreKind::kRtl, CoreKind::kFast, CoreKind::kLockstep}) {
    CoreBench bench("nano", kind);
    place(bench, WEFT_QUEUE_SYNC, signals(300, {.post0 = 7, .post_count0 = 2}));
    CHECK_FALSE(bench.core->busy());
    fetch(bench, WEFT_QUEUE_SYNC, 300);
    CHECK(bench.core->busy());
    CHECK(bench.read(WEFT_CSR_STATUS) == 1);
    CHECK(bench.read(WEFT_CSR_PREFETCH_STATUS) == (1u << WEFT_QUEUE_SYNC | kVersion0Used));
    CHECK(bench.read(at_queue(WEFT_CSR_PREFETCH_COUNT, WEFT_QUEUE_SYNC)) == 300);
    REQUIRE(bench.run());
    CHECK(retired(bench, WEFT_QUEUE_SYNC) == 300);
    CHECK(bench.read(WEFT_CSR_SEMAPHORE + 8 * 7) == 600);
    CHECK(bench.read(WEFT_CSR_PREFETCH_STATUS) == 0);
    CHECK(bench.read(at_queue(WEFT_CSR_PREFETCH_BASE, WEFT_QUEUE_SYNC)) ==
          base_of(WEFT_QUEUE_SYNC) + 300 * WEFT_COMMAND_BYTES);
    CHECK((bench.read(WEFT_CSR_INTERRUPT) & 2) != 0);
    CHECK(bench.counters()[WEFT_COUNTER_PREFETCH_COMMANDS] == 300);
    CHECK(bench.counters()[WEFT_COUNTER_PREFETCH_WAITS] >= bench.chip.hbm_read_latency_cycles);
  }
}

TEST_CASE("a queue that fetches takes no push, another does, and after the fetch it takes pushes again") {
  for (const CoreKind kind : {CoreKind::kRtl, CoreKind::kFast}) {
    CoreBench bench("nano", kind);
    const auto signal = bench::sync_command(WEFT_OPCODE_SIGNAL, 99);
    place(bench, WEFT_QUEUE_SYNC, signals(3));
    bench.core->write_csr(at_queue(WEFT_CSR_PREFETCH_BASE, WEFT_QUEUE_SYNC), base_of(WEFT_QUEUE_SYNC));
    bench.core->write_csr(at_queue(WEFT_CSR_PREFETCH_COUNT, WEFT_QUEUE_SYNC), 3);
    CHECK_FALSE(bench.core->push(WEFT_QUEUE_SYNC, signal));  // the write is not yet clocked in
    CHECK(bench.core->push(WEFT_QUEUE_DMA_IN, smallest(bench.chip, WEFT_QUEUE_DMA_IN)));
    while (bench.read(at_queue(WEFT_CSR_PREFETCH_COUNT, WEFT_QUEUE_SYNC)) != 0 ||
           retired(bench, WEFT_QUEUE_SYNC) == 0) {
      CHECK_FALSE(bench.core->push(WEFT_QUEUE_SYNC, signal));
      bench.core->advance(bench.core->cycle() + 1);
    }
    CHECK(bench.core->push(WEFT_QUEUE_SYNC, signal));
    REQUIRE(bench.run());
    CHECK(retired(bench, WEFT_QUEUE_SYNC) == 4);
    CHECK(retired(bench, WEFT_QUEUE_DMA_IN) == 1);
  }
}

TEST_CASE("a queue that fetches raises no low interrupt, one that is pushed to does") {
  for (const CoreKind kind : {CoreKind::kRtl, CoreKind::kFast}) {
    CoreBench bench("nano", kind);
    bench.write(WEFT_CSR_QUEUE_LOW, 8);
    place(bench, WEFT_QUEUE_SYNC, signals(40));
    fetch(bench, WEFT_QUEUE_SYNC, 40);
    REQUIRE(bench.run());
    CHECK(bench.read(WEFT_CSR_INTERRUPT) == 2);
    REQUIRE(bench.core->push(WEFT_QUEUE_SYNC, bench::sync_command(WEFT_OPCODE_SIGNAL, 9)));
    REQUIRE(bench.run());
    CHECK(bench.read(WEFT_CSR_INTERRUPT) == 6);
  }
}

TEST_CASE("a command that memory does not have is fault COMMAND_FETCH of its queue, with its address") {
  for (const CoreKind kind : {CoreKind::kRtl, CoreKind::kFast, CoreKind::kLockstep})
    for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++)
      for (const unsigned at : {0u, 1u, 200u}) {
        CoreBench bench("nano", kind);
        place(bench, queue, std::vector<spec::Command>(300, smallest(bench.chip, queue)));
        bench.bus.bad_address = base_of(queue) + at * WEFT_COMMAND_BYTES + 5;
        fetch(bench, queue, 300);
        REQUIRE(bench.run());
        const auto fault = bench::fault(bench);
        constexpr unsigned kUnits[] = {WEFT_UNIT_DMA0, WEFT_UNIT_MXU, WEFT_UNIT_VPU, WEFT_UNIT_DMA2, WEFT_UNIT_SYNC};
        INFO("queue " << queue << ", command " << at);
        CHECK(fault.code == WEFT_FAULT_COMMAND_FETCH);
        CHECK(fault.unit == kUnits[queue]);
        CHECK(fault.queue == queue);
        CHECK(fault.tag == 0);
        CHECK(fault.address == base_of(queue) + at * WEFT_COMMAND_BYTES);
        CHECK(fault.count == 1);
        CHECK(retired(bench, queue) <= at);
        CHECK(bench.read(WEFT_CSR_PREFETCH_STATUS) == (1u << queue | 1u << (8 + queue) | kVersion0Used));
        CHECK(bench.read(WEFT_CSR_STATUS) == 7);
        bench.reset();
        CHECK(bench.read(WEFT_CSR_STATUS) == 0);
      }
}

TEST_CASE("an address outside of HBM is the same fault, and nothing of it runs") {
  for (const CoreKind kind : {CoreKind::kRtl, CoreKind::kFast})
    for (const uint64_t base : {bench::SimpleBus::kBytes, uint64_t{1} << 40, ~uint64_t{63}}) {
      CoreBench bench("nano", kind);
      bench.write(at_queue(WEFT_CSR_PREFETCH_BASE, WEFT_QUEUE_MXU), base);
      bench.write(at_queue(WEFT_CSR_PREFETCH_COUNT, WEFT_QUEUE_MXU), 5);
      REQUIRE(bench.run());
      CHECK(bench::fault(bench).code == WEFT_FAULT_COMMAND_FETCH);
      CHECK(bench::fault(bench).address == base);
      CHECK(retired(bench, WEFT_QUEUE_MXU) == 0);
    }
}

TEST_CASE("a command's own header is checked as that of a pushed one, and stops the fetch") {
  for (const CoreKind kind : {CoreKind::kRtl, CoreKind::kFast}) {
    CoreBench bench("nano", kind);
    auto commands = signals(300);
    commands[20].bytes[0] = 0xee;
    place(bench, WEFT_QUEUE_SYNC, commands);
    fetch(bench, WEFT_QUEUE_SYNC, 300);
    REQUIRE(bench.run());
    CHECK(bench::fault(bench).code == WEFT_FAULT_ILLEGAL_OPCODE);
    CHECK(bench::fault(bench).tag == 21);
    CHECK(retired(bench, WEFT_QUEUE_SYNC) == 20);
    CHECK_FALSE(bench.core->busy());
  }
}

TEST_CASE("a core whose commands do not come hangs, and the watchdog names the first queue that fetches") {
  for (const CoreKind kind : {CoreKind::kRtl, CoreKind::kFast}) {
    CoreBench bench("nano", kind);
    bench.write(WEFT_CSR_WATCHDOG_LIMIT, 100);  // less than HBM takes
    fetch(bench, WEFT_QUEUE_DMA_OUT, 1);
    fetch(bench, WEFT_QUEUE_VPU, 1);
    REQUIRE(bench.run());
    CHECK(bench::fault(bench).code == WEFT_FAULT_WATCHDOG);
    CHECK(bench::fault(bench).queue == WEFT_QUEUE_VPU);
    CHECK(bench::fault(bench).unit == WEFT_UNIT_VPU);
  }
}

TEST_CASE("a core reset in any cycle of a fetch drops it, and the next one is whole, in the same cycles") {
  for (const CoreKind kind : {CoreKind::kRtl, CoreKind::kFast}) {
    CoreBench bench("nano", kind);
    for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++)
      place(bench, q, std::vector<spec::Command>(20, smallest(bench.chip, q)));
    uint64_t cycles = 0;
    for (unsigned cut = 0; cut < 520; cut += cut < 40 || cut > 400 ? 1 : 7) {
      for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) fetch(bench, q, 20);
      bench.skip(cut);
      bench.reset();
      INFO("reset after " << cut << " cycles");
      REQUIRE_FALSE(bench.core->busy());
      REQUIRE(bench.read(WEFT_CSR_PREFETCH_STATUS) == 0);
      bench.skip(1000);  // what was outstanding would come now
      const uint64_t begin = bench.core->cycle();
      for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) fetch(bench, q, 20);
      REQUIRE(bench.run());
      for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) REQUIRE(retired(bench, q) == 20);
      REQUIRE(bench::fault(bench).code == 0);
      if (cycles == 0) cycles = bench.core->cycle() - begin;
      REQUIRE(bench.core->cycle() - begin == cycles);
      bench.reset();
    }
  }
}

TEST_CASE("sustained at nano's HBM a command costs 8 cycles at most on one queue, and 12 on five at once") {
  constexpr unsigned kCount = 3000;
  for (const CoreKind kind : {CoreKind::kRtl, CoreKind::kFast}) {
    for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) {
      const double one = cycles_a_command(kind, 1u << q, kCount);
      std::printf("%s: %.2f cycles a command on queue %u alone\n", kind == CoreKind::kRtl ? "rtl" : "fast", one, q);
      CHECK(one <= 8);
    }
    const double five = cycles_a_command(kind, 0x1f, kCount);
    std::printf("%s: %.2f cycles a command on five queues at once\n", kind == CoreKind::kRtl ? "rtl" : "fast", five);
    CHECK(five <= 12);
  }
}

TEST_CASE("commands of the second fetch see the other version of a base and the same cycle tells which one is free") {
  constexpr unsigned kCopies = 40, kBytes = 64, kSegment = 2;
  struct Seen {
    uint64_t freed = 0, end = 0;
    bool operator==(const Seen&) const = default;
  };
  std::vector<Seen> seen;
  for (const CoreKind kind : {CoreKind::kRtl, CoreKind::kFast, CoreKind::kLockstep}) {
    CoreBench bench("nano", kind);
    auto& hbm = bench.bus.memory(WEFT_ADDRESS_SPACE_HBM);
    std::vector<spec::Command> commands;
    for (unsigned i = 0; i < kCopies; i++) {
      spec::DmaCommand copy;
      copy.header.opcode = WEFT_OPCODE_COPY;
      copy.header.tag = static_cast<uint16_t>(i);
      copy.src_seg = 0, copy.dst_seg = kSegment;
      copy.src_off = 0, copy.dst_off = uint64_t{i} * kBytes;
      copy.size0 = kBytes;
      commands.push_back(spec::encode(copy));
    }
    place(bench, WEFT_QUEUE_DMA_OUT, commands);
    const uint32_t segment = kSegment * WEFT_CSR_SEGMENT_BASE_STRIDE;
    constexpr uint64_t kRoom = 0x1000, kOut = 0x300000;
    bench.write(WEFT_CSR_SEGMENT_LIMIT + segment, kRoom);
    bench.write(WEFT_CSR_SEGMENT_ATTRIBUTES + segment, WEFT_ADDRESS_SPACE_HBM | 8);
    bench.write(WEFT_CSR_SEGMENT_BASE + segment, kOut | 2);            // of version 0
    bench.write(WEFT_CSR_SEGMENT_BASE + segment, (kOut + kRoom) | 1);  // of version 1
    std::fill(hbm.begin() + kOut, hbm.begin() + kOut + 2 * kRoom, std::byte{0xee});
    const uint64_t base = base_of(WEFT_QUEUE_DMA_OUT);
    for (const uint64_t version : {0u, 1u}) {
      bench.write(at_queue(WEFT_CSR_PREFETCH_BASE, WEFT_QUEUE_DMA_OUT), base | version);
      bench.write(at_queue(WEFT_CSR_PREFETCH_COUNT, WEFT_QUEUE_DMA_OUT), version << 32 | kCopies);
    }
    INFO("core " << seen.size());
    CHECK(bench.read(WEFT_CSR_PREFETCH_STATUS) == (1u << WEFT_QUEUE_DMA_OUT | 3u << 24));
    CHECK(bench.read(at_queue(WEFT_CSR_PREFETCH_COUNT, WEFT_QUEUE_DMA_OUT)) <= 2 * kCopies);
    Seen now;
    const uint64_t begin = bench.core->cycle();
    while ((bench.read(WEFT_CSR_INTERRUPT) & 8) == 0 && bench.core->cycle() < begin + 100000) bench.skip(1);
    now.freed = bench.core->cycle() - begin;
    CHECK(bench.read(WEFT_CSR_PREFETCH_STATUS) >> 24 == 2);
    CHECK(retired(bench, WEFT_QUEUE_DMA_OUT) <= kCopies);
    REQUIRE(bench.run());
    now.end = bench.core->cycle() - begin;
    CHECK(bench::fault(bench).code == 0);
    CHECK(retired(bench, WEFT_QUEUE_DMA_OUT) == 2 * kCopies);
    CHECK(bench.read(WEFT_CSR_PREFETCH_STATUS) == 0);
    for (const uint64_t out : {kOut, kOut + kRoom}) {
      CHECK(std::count(hbm.begin() + static_cast<int64_t>(out),
                       hbm.begin() + static_cast<int64_t>(out + kCopies * kBytes), std::byte{0xee}) == 0);
      CHECK(hbm[out + kCopies * kBytes] == std::byte{0xee});
    }
    seen.push_back(now);
  }
  CHECK(seen[0] == seen[1]);
  CHECK(seen[0] == seen[2]);
}
