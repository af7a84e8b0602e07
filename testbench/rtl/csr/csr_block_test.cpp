// csr.sv alone, its neighbours played by C++: decode, strobes, interrupts, first and last cycle, in every random mix.
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>

#include "Vcsr_model.h"
#include "testbench/rtl/bench/stream.hpp"
#include "testbench/rtl/bench/verilated_bench.hpp"
#include "weft/spec/spec.h"

namespace {

using namespace weft::bench;

class CsrBench : public VerilatedBench<Vcsr_model> {
 public:
  CsrBench() {
    auto& t = *top;
    t.core_rst_ni = 0;
    t.csr_valid_i = t.csr_write_i = 0, t.csr_addr_i = 0, t.csr_wdata_i = 0;
    t.busy_i = t.stopped_i = t.accept_i = 0, t.idle_credit_i = 0, t.fell_i = t.retire_i = 0;
    t.fault_raised_i = 0, t.fault_cycle_i = t.fault_count_i = 0, t.sem_rdata_i = 0, t.counter_rdata_i = 0;
    for (auto& level : t.level_i) level = 0;
    reset();
    t.core_rst_ni = 1;
    settle();
  }
  void bus(bool valid, bool write, uint32_t address, uint64_t data) {
    top->csr_valid_i = valid, top->csr_write_i = write;
    top->csr_addr_i = static_cast<uint16_t>(address), top->csr_wdata_i = data;
  }
};

/// The registers that csr.sv keeps itself.
struct Model {
  uint64_t cycle = 0, limit = WEFT_CORE_WATCHDOG_DEFAULT_CYCLES, first = 0, last = 0;
  std::array<uint64_t, WEFT_CORE_QUEUES> retired{};
  unsigned low = 0, interrupt = 0;
  bool accepted = false, busy = false;
};

}  // namespace

TEST_CASE("random traffic and events: every own register, strobe and the interrupt line follow the model") {
  const uint64_t seed = stimulus_seed(1);
  const unsigned idle = GENERATE(from_range(kStreamLevels.begin(), kStreamLevels.end()));
  std::mt19937_64 random(seed + idle);
  const auto below = [&](uint64_t limit) { return random() % limit; };
  CsrBench bench;
  auto& t = *bench.top;
  Model model;
  constexpr std::array<uint32_t, 16> kAddresses{
      WEFT_CSR_STATUS,        WEFT_CSR_CONTROL,           WEFT_CSR_CYCLE,          WEFT_CSR_INTERRUPT,
      WEFT_CSR_INTERRUPT,     WEFT_CSR_QUEUE_LOW,         WEFT_CSR_WATCHDOG_LIMIT, WEFT_CSR_FIRST_ACCEPT_CYCLE,
      WEFT_CSR_FAULT_CYCLE,   WEFT_CSR_LAST_RETIRE_CYCLE, WEFT_CSR_FAULT_COUNT,    WEFT_CSR_COUNTER_SNAPSHOT,
      WEFT_CSR_COUNTER_CLEAR, WEFT_CSR_SEMAPHORE,         WEFT_CSR_SEGMENT_BASE,   WEFT_CSR_QUEUE_RETIRED};
  for (unsigned i = 0; i < 20000; i++) {
    const bool valid = !chance(random, idle), write = below(2) != 0, core_reset = below(200) == 0;
    const auto index = static_cast<uint32_t>(below(WEFT_CORE_QUEUES));
    uint32_t address = kAddresses[below(kAddresses.size())];
    if (address == WEFT_CSR_QUEUE_RETIRED) address += 8 * index;
    if (address == WEFT_CSR_SEMAPHORE) address += 8 * static_cast<uint32_t>(below(WEFT_SEMAPHORES));
    if (address == WEFT_CSR_SEGMENT_BASE) address += 8 * static_cast<uint32_t>(below(4 * WEFT_SEGMENTS));
    if (below(10) == 0) address += static_cast<uint32_t>(1 + below(7));  // no register: not a multiple of 8
    const uint64_t data = below(2) ? below(32) : random();
    bench.bus(valid, write, address, data);
    t.core_rst_ni = !core_reset;
    t.busy_i = below(2), t.stopped_i = below(2), t.accept_i = below(8) == 0;
    t.idle_credit_i = below(30) == 0 ? below(1u << 20) : 0;
    t.retire_i = static_cast<uint8_t>(below(4) == 0 ? 1u << below(WEFT_CORE_QUEUES) : 0);
    t.fault_raised_i = below(40) == 0;
    t.fault_cycle_i = random(), t.fault_count_i = random(), t.sem_rdata_i = static_cast<uint16_t>(random());
    t.fell_i = 0;
    bool fell_low = false;
    for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) {
      t.level_i[q] = static_cast<uint8_t>(below(17));
      if (t.level_i[q] == 0 || below(8) != 0) continue;
      t.fell_i = static_cast<uint8_t>(t.fell_i | 1u << q);
      fell_low |= t.level_i[q] - 1u <= model.low;
    }
    bench.settle();

    INFO("cycle " << bench.cycle() << " address " << address << " data " << data << "; "
                  << rerun_line(seed, bench.cycle()));
    const bool whole = address % 8 == 0, writes = valid && write && whole, reads = valid && !write && whole;
    const uint64_t now = model.cycle + t.idle_credit_i;
    const bool idle_event = model.busy && !t.busy_i;
    REQUIRE(!!t.irq_o == (model.interrupt != 0));
    REQUIRE(!!t.idle_event_o == idle_event);
    REQUIRE(t.cycle_o == now);
    REQUIRE(t.watchdog_limit_o == model.limit);
    REQUIRE(!!t.core_reset_o == (writes && address == WEFT_CSR_CONTROL && (data & 1) != 0));
    REQUIRE(!!t.clear_fault_count_o == (writes && address == WEFT_CSR_CONTROL && (data & 2) != 0));
    REQUIRE(!!t.snapshot_o == (writes && address == WEFT_CSR_COUNTER_SNAPSHOT));
    REQUIRE(!!t.clear_counters_o == (writes && address == WEFT_CSR_COUNTER_CLEAR));
    REQUIRE(!!t.sem_write_o == (writes && address >= WEFT_CSR_SEMAPHORE && address < WEFT_CSR_SEMAPHORE + 8 * 64));
    REQUIRE(!!t.segment_write_o ==
            (writes && address >= WEFT_CSR_SEGMENT_BASE && address < WEFT_CSR_SEGMENT_BASE + 32 * WEFT_SEGMENTS));
    if (!reads) REQUIRE(t.csr_rdata_o == 0);
    if (reads) {
      if (address == WEFT_CSR_STATUS) REQUIRE((t.csr_rdata_o & 5) == (unsigned{t.stopped_i} << 2 | t.busy_i));
      if (address == WEFT_CSR_CONTROL) REQUIRE(t.csr_rdata_o == 0);
      if (address == WEFT_CSR_CYCLE) REQUIRE(t.csr_rdata_o == now);
      if (address == WEFT_CSR_INTERRUPT) REQUIRE(t.csr_rdata_o == model.interrupt);
      if (address == WEFT_CSR_QUEUE_LOW) REQUIRE(t.csr_rdata_o == model.low);
      if (address == WEFT_CSR_WATCHDOG_LIMIT) REQUIRE(t.csr_rdata_o == model.limit);
      if (address == WEFT_CSR_FIRST_ACCEPT_CYCLE) REQUIRE(t.csr_rdata_o == model.first);
      if (address == WEFT_CSR_LAST_RETIRE_CYCLE) REQUIRE(t.csr_rdata_o == model.last);
      if (address == WEFT_CSR_FAULT_CYCLE) REQUIRE(t.csr_rdata_o == t.fault_cycle_i);
      if (address == WEFT_CSR_FAULT_COUNT) REQUIRE(t.csr_rdata_o == t.fault_count_i);
      if (address == WEFT_CSR_QUEUE_RETIRED + 8 * index) REQUIRE(t.csr_rdata_o == model.retired[index]);
    }

    const unsigned set = (t.fault_raised_i ? 1u : 0u) | (idle_event ? 2u : 0u) | (fell_low ? 4u : 0u);
    if (writes && address == WEFT_CSR_INTERRUPT) model.interrupt &= ~static_cast<unsigned>(data);
    model.interrupt |= set;
    if (writes && address == WEFT_CSR_QUEUE_LOW) model.low = data & 31;
    if (writes && address == WEFT_CSR_WATCHDOG_LIMIT) model.limit = data;
    if (t.accept_i && !model.accepted) model.first = now, model.accepted = true;
    if (writes && address == WEFT_CSR_FIRST_ACCEPT_CYCLE) model.first = 0, model.accepted = false;
    if (t.retire_i != 0) model.last = now;
    for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) model.retired[q] += t.retire_i >> q & 1;
    model.busy = t.busy_i;
    model.cycle = now + 1;
    if (core_reset)
      model = Model{.cycle = model.cycle, .limit = model.limit, .first = 0, .last = 0, .retired = {}, .low = model.low};
    bench.step();
  }
}

TEST_CASE("power-up resets what a core reset keeps") {
  CsrBench bench;
  bench.bus(true, true, WEFT_CSR_WATCHDOG_LIMIT, 77);
  bench.step();
  bench.bus(true, true, WEFT_CSR_QUEUE_LOW, 9);
  bench.step();
  bench.top->core_rst_ni = 0;
  bench.bus(true, false, WEFT_CSR_QUEUE_LOW, 0);
  bench.step();
  bench.settle();
  CHECK(bench.top->csr_rdata_o == 9);
  CHECK(bench.top->watchdog_limit_o == 77);
  bench.reset();
  CHECK(bench.top->csr_rdata_o == 0);
  CHECK(bench.top->watchdog_limit_o == WEFT_CORE_WATCHDOG_DEFAULT_CYCLES);
  CHECK(bench.top->cycle_o == 0);
}

TEST_CASE("the low interrupt comes for a level that falls to the mark, for no other") {
  for (unsigned low : {0u, 1u, 15u, 31u})
    for (unsigned level = 1; level <= 16; level++)
      for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++) {
        CsrBench bench;
        bench.bus(true, true, WEFT_CSR_QUEUE_LOW, low);
        bench.step();
        bench.bus(false, false, 0, 0);
        bench.top->level_i[queue] = static_cast<uint8_t>(level);
        bench.top->fell_i = static_cast<uint8_t>(1u << queue);
        bench.step();
        bench.top->fell_i = 0;
        bench.settle();
        INFO("mark " << low << " level " << level << " queue " << queue);
        CHECK(!!bench.top->irq_o == (level - 1 <= low));
      }
}
