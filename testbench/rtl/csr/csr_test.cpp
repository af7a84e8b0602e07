// Every register of spec/core_csr.toml: reset value, access, and what it tells.
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <set>

#include "testbench/unit/model_core/core_bench.hpp"

namespace {

using namespace weft;
using bench::CoreBench;

uint64_t random_bits(std::mt19937_64& random) { return random(); }

}  // namespace

TEST_CASE("after power-up every register reads its reset value") {
  std::string error;
  const spec::Chip& chip = *spec::find_chip("nano");
  bench::SimpleBus bus(chip);
  const auto core = core::make_core(core::CoreKind::kRtl, chip, bus, {}, error);
  REQUIRE(core);
  for (uint32_t offset = 0; offset < 0x2000; offset += 8) {
    uint64_t expected = 0;
    if (offset == WEFT_CSR_WATCHDOG_LIMIT) expected = WEFT_CORE_WATCHDOG_DEFAULT_CYCLES;
    if (offset == WEFT_CSR_SEGMENT_LIMIT) expected = chip.vmem_bytes;
    if (offset == WEFT_CSR_SEGMENT_ATTRIBUTES) expected = WEFT_ADDRESS_SPACE_VMEM | 0xc;
    INFO("offset " << offset);
    REQUIRE(core->read_csr(offset) == expected);
  }
  CHECK_FALSE(core->interrupt());
}

TEST_CASE("registers that can be written keep their value and touch no other") {
  CoreBench bench("nano");
  constexpr unsigned kSeed = 1;
  INFO("seed " << kSeed);
  std::mt19937_64 random(kSeed);
  for (unsigned i = 0; i < WEFT_SEGMENTS; i++) {
    bench.write(WEFT_CSR_SEGMENT_BASE + 32 * i, i * 0x1000);
    bench.write(WEFT_CSR_SEGMENT_LIMIT + 32 * i, i * 3);
    bench.write(WEFT_CSR_SEGMENT_ATTRIBUTES + 32 * i, i % 16);
  }
  std::array<std::array<uint64_t, 3>, WEFT_SEGMENTS> segments{};
  for (unsigned i = 0; i < WEFT_SEGMENTS; i++) segments[i] = {i * 0x1000u, i * 3u, i % 16u};
  segments[0] = {0, bench.chip.vmem_bytes, WEFT_ADDRESS_SPACE_VMEM | 0xc};
  std::array<uint16_t, WEFT_SEMAPHORES> semaphores{};
  uint64_t limit = WEFT_CORE_WATCHDOG_DEFAULT_CYCLES, low = 0;
  for (unsigned round = 0; round < 2000; round++) {
    const uint64_t value = random_bits(random);
    const unsigned index = static_cast<unsigned>(random() % 64);
    switch (random() % 6) {
      case 0:
        // every other one back to 0
        semaphores[index] = round % 2 == 0 ? static_cast<uint16_t>(value) : uint16_t{0};
        bench.write(WEFT_CSR_SEMAPHORE + 8 * index, round % 2 == 0 ? value : value << 16);
        break;
      case 1:
        bench.write(WEFT_CSR_WATCHDOG_LIMIT, value | 1 << 20), limit = value | 1 << 20;
        break;
      case 2:
        bench.write(WEFT_CSR_QUEUE_LOW, value % 32), low = value % 32;
        break;
      default: {
        const unsigned segment = index % WEFT_SEGMENTS, field = static_cast<unsigned>(random() % 3);
        bench.write(WEFT_CSR_SEGMENT_BASE + 32 * segment + 8 * field, value);
        if (segment == 0 || (field == 0 && value % 2 != 0)) break;  // bit 0 of a base: not for version 0, which is read
        segments[segment][field] = field == 2 ? value & 15 : field == 0 ? value & ~uint64_t{15} : value;
      }
    }
    const unsigned look = static_cast<unsigned>(random() % 64);
    REQUIRE(bench.read(WEFT_CSR_SEMAPHORE + 8 * look) == semaphores[look]);
    uint64_t nonzero = 0;
    for (unsigned i = 0; i < WEFT_SEMAPHORES; i++) nonzero |= uint64_t{semaphores[i] != 0} << i;
    REQUIRE(bench.read(WEFT_CSR_SEMAPHORE_NONZERO) == nonzero);
    for (unsigned field = 0; field < 3; field++)
      REQUIRE(bench.read(WEFT_CSR_SEGMENT_BASE + 32 * (look % 32) + 8 * field) == segments[look % 32][field]);
    REQUIRE(bench.read(WEFT_CSR_WATCHDOG_LIMIT) == limit);
    REQUIRE(bench.read(WEFT_CSR_QUEUE_LOW) == low);
  }
}

TEST_CASE("offsets that no register has read 0 and ignore writes, and so do read-only registers") {
  CoreBench bench("nano");
  std::set<uint32_t> writable{WEFT_CSR_CONTROL, WEFT_CSR_QUEUE_LOW, WEFT_CSR_WATCHDOG_LIMIT, WEFT_CSR_COUNTER_SNAPSHOT,
                              WEFT_CSR_COUNTER_CLEAR};
  for (uint32_t offset = WEFT_CSR_INJECT_ADDRESS; offset <= WEFT_CSR_INJECT_ARM; offset += 8) writable.insert(offset);
  for (unsigned i = 0; i < WEFT_SEMAPHORES; i++) writable.insert(WEFT_CSR_SEMAPHORE + 8 * i);
  for (unsigned i = 0; i < WEFT_CORE_QUEUES; i++)
    writable.insert({WEFT_CSR_PREFETCH_BASE + 8 * i, WEFT_CSR_PREFETCH_COUNT + 8 * i});
  for (unsigned i = 0; i < WEFT_SEGMENTS; i++)
    for (unsigned field = 0; field < 3; field++) writable.insert(WEFT_CSR_SEGMENT_BASE + 32 * i + 8 * field);
  std::array<uint64_t, 0x400> before{};
  for (uint32_t offset = 0; offset < 0x2000; offset += 8) before[offset / 8] = bench.read(offset);
  for (uint32_t offset = 0; offset < 0x2000; offset++) {
    if (writable.count(offset) == 0) bench.core->write_csr(offset, 0x5a5a5a5a5a5a5a5a);
    if (offset % 64 == 0) bench.skip(70);
  }
  bench.skip(100);
  for (uint32_t offset = 0; offset < 0x2000; offset += 8) {
    if (offset == WEFT_CSR_CYCLE) continue;
    INFO("offset " << offset);
    CHECK(bench.read(offset) == before[offset / 8]);
  }
  for (const uint32_t offset : {0x2000u, 0x10000u, 0x10008u, 0xfffffff8u}) {
    bench.write(offset, UINT64_MAX);
    CHECK(bench.read(offset) == 0);
  }
}

TEST_CASE("a write takes effect in the next cycle, and writes of one cycle follow each other") {
  CoreBench bench("nano");
  bench.core->write_csr(WEFT_CSR_QUEUE_LOW, 3);
  CHECK(bench.read(WEFT_CSR_QUEUE_LOW) == 0);
  bench.core->advance(bench.core->cycle() + 1);
  CHECK(bench.read(WEFT_CSR_QUEUE_LOW) == 3);
  bench.core->write_csr(WEFT_CSR_QUEUE_LOW, 4);
  bench.core->write_csr(WEFT_CSR_QUEUE_LOW, 5);
  bench.core->advance(bench.core->cycle() + 1);
  CHECK(bench.read(WEFT_CSR_QUEUE_LOW) == 4);
  CHECK(bench.core->busy());
  bench.core->advance(bench.core->cycle() + 1);
  CHECK(bench.read(WEFT_CSR_QUEUE_LOW) == 5);
  CHECK_FALSE(bench.core->busy());
}

TEST_CASE("QUEUE_LEVEL, QUEUE_HEAD_TAG, QUEUE_RETIRED and the first and last cycle follow the commands") {
  CoreBench bench("nano");
  for (uint16_t i = 0; i < 3; i++)
    REQUIRE(bench.core->push(WEFT_QUEUE_SYNC, bench::sync_command(WEFT_OPCODE_WAIT, static_cast<uint16_t>(200 + i),
                                                                  {.wait0 = 4, .wait_count0 = 1})));
  const uint64_t pushed = bench.core->cycle();
  bench.skip(20);
  const uint32_t queue = 8 * WEFT_QUEUE_SYNC;
  for (unsigned left = 3; left > 0; left--) {
    CHECK(bench.read(WEFT_CSR_QUEUE_LEVEL + queue) == left);
    CHECK(bench.read(WEFT_CSR_QUEUE_HEAD_TAG + queue) == (0x10000 | (203 - left)));
    CHECK(bench.read(WEFT_CSR_QUEUE_RETIRED + queue) == 3 - left);
    bench.write(WEFT_CSR_SEMAPHORE + 8 * 4, 1);
    bench.skip(20);
  }
  CHECK(bench.read(WEFT_CSR_QUEUE_HEAD_TAG + queue) == 0);
  CHECK(bench.read(WEFT_CSR_QUEUE_RETIRED + queue) == 3);
  CHECK(bench.read(WEFT_CSR_FIRST_ACCEPT_CYCLE) == pushed);
  CHECK(bench.read(WEFT_CSR_LAST_RETIRE_CYCLE) > pushed + 40);
  bench.write(WEFT_CSR_FIRST_ACCEPT_CYCLE, 1);
  CHECK(bench.read(WEFT_CSR_FIRST_ACCEPT_CYCLE) == 0);
  const uint64_t again = bench.core->cycle();
  REQUIRE(bench.core->push(WEFT_QUEUE_SYNC, bench::sync_command(WEFT_OPCODE_SIGNAL, 1)));
  bench.skip(5);
  CHECK(bench.read(WEFT_CSR_FIRST_ACCEPT_CYCLE) == again);
  bench.reset();
  CHECK(bench.read(WEFT_CSR_QUEUE_RETIRED + queue) == 0);
  CHECK(bench.read(WEFT_CSR_FIRST_ACCEPT_CYCLE) == 0);
  CHECK(bench.read(WEFT_CSR_LAST_RETIRE_CYCLE) == 0);
}

TEST_CASE("a core reset keeps segments, limits and counters, and clears queues and semaphores") {
  CoreBench bench("nano");
  bench.write(WEFT_CSR_SEMAPHORE + 8, 9);
  bench.write(WEFT_CSR_QUEUE_LOW, 2);
  bench.write(WEFT_CSR_WATCHDOG_LIMIT, 555555);
  REQUIRE(bench.core->push(WEFT_QUEUE_SYNC, bench::sync_command(WEFT_OPCODE_WAIT, 1, {.wait0 = 4, .wait_count0 = 1})));
  bench.skip(20);
  const uint64_t cycle = bench.core->cycle();
  bench.core->write_csr(WEFT_CSR_CONTROL, 1);
  CHECK_FALSE(bench.core->push(WEFT_QUEUE_SYNC, bench::sync_command(WEFT_OPCODE_SIGNAL, 1)));
  bench.skip(WEFT_CORE_CORE_RESET_CYCLES);
  CHECK_FALSE(bench.core->push(WEFT_QUEUE_SYNC, bench::sync_command(WEFT_OPCODE_SIGNAL, 1)));
  bench.skip(1);
  CHECK(bench.core->push(WEFT_QUEUE_SYNC, bench::sync_command(WEFT_OPCODE_SIGNAL, 1)));
  bench.skip(10);
  CHECK(bench.read(WEFT_CSR_CYCLE) == cycle + WEFT_CORE_CORE_RESET_CYCLES + 11);
  CHECK(bench.read(WEFT_CSR_QUEUE_RETIRED + 8 * WEFT_QUEUE_SYNC) == 1);
  CHECK(bench.read(WEFT_CSR_SEMAPHORE + 8) == 0);
  CHECK(bench.read(WEFT_CSR_QUEUE_LOW) == 2);
  CHECK(bench.read(WEFT_CSR_WATCHDOG_LIMIT) == 555555);
  CHECK(bench.read(WEFT_CSR_SEGMENT_LIMIT + 32) == bench::SimpleBus::kBytes);
  const auto counters = bench.counters();
  CHECK(counters[WEFT_COUNTER_QUEUE_SYNC_WAITING] >= 15);
  CHECK(counters[WEFT_COUNTER_QUEUE_MXU_EMPTY] == bench.core->cycle() - 1);
}

TEST_CASE("counters are read as of the last snapshot") {
  CoreBench bench("nano");
  const auto first = bench.counters();
  const uint64_t cycle = bench.core->cycle();
  bench.skip(100);
  for (unsigned i = 0; i < WEFT_COUNTERS; i++) CHECK(bench.read(WEFT_CSR_COUNTER + 8 * i) == first[i]);
  const auto second = bench.counters();
  CHECK(second[WEFT_COUNTER_MXU_IDLE] - first[WEFT_COUNTER_MXU_IDLE] == bench.core->cycle() - cycle);
}

TEST_CASE("STATUS tells busy, and a waiting core stays busy") {
  CoreBench bench("nano");
  CHECK(bench.read(WEFT_CSR_STATUS) == 0);
  REQUIRE(bench.core->push(WEFT_QUEUE_SYNC, bench::sync_command(WEFT_OPCODE_WAIT, 1, {.wait0 = 4, .wait_count0 = 1})));
  bench.skip(50);
  CHECK(bench.read(WEFT_CSR_STATUS) == 1);
  CHECK(bench.core->busy());
  bench.write(WEFT_CSR_SEMAPHORE + 8 * 4, 1);
  bench.skip(10);
  CHECK(bench.read(WEFT_CSR_STATUS) == 0);
}
