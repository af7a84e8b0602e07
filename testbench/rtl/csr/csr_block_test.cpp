// csr.sv alone, its neighbours played by C++: decode, strobes, interrupts, first and last cycle, in every random mix.
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>

#include "Vcsr_model.h"
#include "Vcsr_model___024root.h"
#include "testbench/rtl/bench/stream.hpp"
#include "testbench/rtl/bench/verilated_bench.hpp"
#include "weft/spec/spec.h"

namespace {

using namespace weft::bench;
constexpr uint32_t kRegisterBytes = 8192;  // of the core's registers: address_bytes of spec/core_csr.toml

class CsrBench : public VerilatedBench<Vcsr_model> {
 public:
  CsrBench() {
    auto& t = *top;
    t.core_rst_ni = 0;
    t.csr_valid_i = t.csr_write_i = 0, t.csr_addr_i = 0, t.csr_wdata_i = 0;
    t.busy_i = t.stopped_i = t.accept_i = 0, t.idle_credit_i = 0, t.fell_i = t.retire_i = 0;
    t.fault_raised_i = 0, t.fault_cycle_i = t.fault_count_i = 0, t.sem_rdata_i = 0, t.counter_rdata_i = 0;
    for (auto& level : t.level_i) level = 0;
    for (auto& tag : t.head_tag_i) tag = 0;
    for (unsigned w = 0; w < 3; w++) t.fault_i[w] = 0;
    for (unsigned w = 0; w < 5; w++) t.segment_i[w] = 0;
    t.inject_rdata_i = 0;
    t.version_used_i = t.version_freed_i = 0;
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

/// control_pkg::fault_t at fault_i, the lowest field first.
struct FaultBits {
  uint64_t address, code, unit, queue, tag, valid;
};
FaultBits fault_bits(const Vcsr_model& t) {
  const uint64_t high = t.fault_i[2];
  return {.address = t.fault_i[0] | uint64_t{t.fault_i[1]} << 32,
          .code = high >> 23 & 0xff,
          .unit = high >> 19 & 15,
          .queue = high >> 16 & 7,
          .tag = high & 0xffff,
          .valid = high >> 31 & 1};
}

/// What a read of `address` returns: of a register of csr.sv, or of the neighbour that holds it.
uint64_t value_at(const Vcsr_model& t, const Model& model, uint32_t address) {
  const auto in = [&](uint32_t base, uint32_t bytes) { return address >= base && address - base < bytes; };
  const unsigned queue = address >> 3 & 7;
  const FaultBits fault = fault_bits(t);
  if (in(WEFT_CSR_QUEUE_LEVEL, 8 * WEFT_CORE_QUEUES)) return t.level_i[queue];
  if (in(WEFT_CSR_QUEUE_RETIRED, 8 * WEFT_CORE_QUEUES)) return model.retired[queue];
  if (in(WEFT_CSR_QUEUE_HEAD_TAG, 8 * WEFT_CORE_QUEUES))
    return t.level_i[queue] == 0 ? 0 : uint64_t{1} << 16 | t.head_tag_i[queue];
  if (in(WEFT_CSR_PREFETCH_BASE, 8 * WEFT_CORE_QUEUES)) return t.prefetch_base_i;
  if (in(WEFT_CSR_PREFETCH_COUNT, 8 * WEFT_CORE_QUEUES)) return t.prefetch_left_i;
  if (in(WEFT_CSR_SEMAPHORE, 8 * WEFT_SEMAPHORES)) return t.sem_rdata_i;
  if (in(WEFT_CSR_SEGMENT_BASE, 32 * WEFT_SEGMENTS)) {
    const unsigned field = address >> 3 & 3;
    if (field == 3) return 0;
    return field == 2 ? t.segment_i[4] & 15 : t.segment_i[2 * field] | uint64_t{t.segment_i[2 * field + 1]} << 32;
  }
  if (in(WEFT_CSR_INJECT_ADDRESS, 8 * 6)) return t.inject_rdata_i;
  if (in(WEFT_CSR_COUNTER, kRegisterBytes - WEFT_CSR_COUNTER)) return t.counter_rdata_i;
  switch (address) {
    case WEFT_CSR_STATUS:
      return unsigned{t.stopped_i} << 2 | fault.valid << 1 | t.busy_i;
    case WEFT_CSR_CYCLE:
      return model.cycle + t.idle_credit_i;
    case WEFT_CSR_INTERRUPT:
      return model.interrupt;
    case WEFT_CSR_QUEUE_LOW:
      return model.low;
    case WEFT_CSR_WATCHDOG_LIMIT:
      return model.limit;
    case WEFT_CSR_FIRST_ACCEPT_CYCLE:
      return model.first;
    case WEFT_CSR_LAST_RETIRE_CYCLE:
      return model.last;
    case WEFT_CSR_FAULT_CODE:
      return fault.tag << 32 | fault.queue << 16 | fault.unit << 8 | fault.code;
    case WEFT_CSR_FAULT_ADDRESS:
      return fault.address;
    case WEFT_CSR_FAULT_CYCLE:
      return t.fault_cycle_i;
    case WEFT_CSR_FAULT_COUNT:
      return t.fault_count_i;
    case WEFT_CSR_PREFETCH_STATUS:  // 5 bits each: refused, faulted, fetches
      return (t.prefetch_status_i & 31) | (t.prefetch_status_i >> 5 & 31) << 8 | (t.prefetch_status_i >> 10) << 16 |
             unsigned{t.version_used_i} << 24;
    case WEFT_CSR_SEMAPHORE_NONZERO:
      return t.sem_nonzero_i;
    default:
      return 0;
  }
}

}  // namespace

TEST_CASE("random traffic and events: every register, strobe and the interrupt line follow the model") {
  const uint64_t seed = stimulus_seed(1);
  const unsigned idle = GENERATE(from_range(kStreamLevels.begin(), kStreamLevels.end()));
  std::mt19937_64 random(seed + idle);
  const auto below = [&](uint64_t limit) { return random() % limit; };
  CsrBench bench;
  auto& t = *bench.top;
  Model model;
  constexpr std::array<uint32_t, 26> kAddresses{WEFT_CSR_PREFETCH_STATUS, WEFT_CSR_SEMAPHORE_NONZERO,
                                                WEFT_CSR_PREFETCH_BASE,   WEFT_CSR_PREFETCH_COUNT,
                                                WEFT_CSR_STATUS,          WEFT_CSR_CONTROL,
                                                WEFT_CSR_CYCLE,           WEFT_CSR_INTERRUPT,
                                                WEFT_CSR_INTERRUPT,       WEFT_CSR_QUEUE_LOW,
                                                WEFT_CSR_WATCHDOG_LIMIT,  WEFT_CSR_FIRST_ACCEPT_CYCLE,
                                                WEFT_CSR_FAULT_CYCLE,     WEFT_CSR_LAST_RETIRE_CYCLE,
                                                WEFT_CSR_FAULT_COUNT,     WEFT_CSR_COUNTER_SNAPSHOT,
                                                WEFT_CSR_COUNTER_CLEAR,   WEFT_CSR_SEMAPHORE,
                                                WEFT_CSR_SEGMENT_BASE,    WEFT_CSR_QUEUE_RETIRED,
                                                WEFT_CSR_FAULT_CODE,      WEFT_CSR_FAULT_ADDRESS,
                                                WEFT_CSR_QUEUE_LEVEL,     WEFT_CSR_QUEUE_HEAD_TAG,
                                                WEFT_CSR_INJECT_ADDRESS,  WEFT_CSR_COUNTER};
  for (unsigned i = 0; i < 20000; i++) {
    const bool valid = !chance(random, idle), write = below(2) != 0, core_reset = below(200) == 0;
    const auto index = static_cast<uint32_t>(below(WEFT_CORE_QUEUES));
    uint32_t address = kAddresses[below(kAddresses.size())];
    if (address == WEFT_CSR_QUEUE_RETIRED || address == WEFT_CSR_QUEUE_LEVEL || address == WEFT_CSR_QUEUE_HEAD_TAG)
      address += 8 * index;
    if (address == WEFT_CSR_PREFETCH_BASE || address == WEFT_CSR_PREFETCH_COUNT) address += 8 * index;
    if (address == WEFT_CSR_INJECT_ADDRESS) address += 8 * static_cast<uint32_t>(below(6));
    if (address == WEFT_CSR_COUNTER) address += WEFT_CSR_COUNTER_STRIDE * static_cast<uint32_t>(below(WEFT_COUNTERS));
    if (below(20) == 0) address = 8 * static_cast<uint32_t>(below(kRegisterBytes));  // any of the bus, mapped or not
    if (address == WEFT_CSR_SEMAPHORE) address += 8 * static_cast<uint32_t>(below(WEFT_SEMAPHORES));
    if (address == WEFT_CSR_SEGMENT_BASE) address += 8 * static_cast<uint32_t>(below(4 * WEFT_SEGMENTS));
    if (below(10) == 0) address += static_cast<uint32_t>(1 + below(7));  // no register: not a multiple of 8
    const uint64_t data = below(2) ? below(32) : random();
    bench.bus(valid, write, address, data);
    t.core_rst_ni = !core_reset;
    t.busy_i = below(2), t.stopped_i = below(2), t.accept_i = below(8) == 0;
    t.idle_credit_i = below(30) != 0 ? 0 : below(4) != 0 ? below(1u << 20) : random();
    t.retire_i = static_cast<uint8_t>(below(4) == 0 ? 1u << below(WEFT_CORE_QUEUES) : 0);
    t.fault_raised_i = below(40) == 0;
    t.fault_cycle_i = random(), t.fault_count_i = random(), t.sem_rdata_i = static_cast<uint16_t>(random());
    t.sem_nonzero_i = random();
    t.prefetch_base_i = random(), t.prefetch_left_i = static_cast<uint32_t>(random());
    t.prefetch_status_i = static_cast<uint16_t>(below(1u << 15));
    t.version_used_i = static_cast<uint8_t>(below(4)), t.version_freed_i = below(40) == 0;
    t.counter_rdata_i = random(), t.inject_rdata_i = random();
    for (unsigned w = 0; w < 3; w++) t.fault_i[w] = static_cast<uint32_t>(random());
    for (unsigned w = 0; w < 5; w++) t.segment_i[w] = static_cast<uint32_t>(random()) & (w == 4 ? 15 : UINT32_MAX);
    for (auto& tag : t.head_tag_i) tag = static_cast<uint16_t>(random());
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
    const auto queue_write = [&](uint32_t base) {
      return writes && address >= base && address < base + 8 * WEFT_CORE_QUEUES;
    };
    REQUIRE(!!t.prefetch_base_write_o == queue_write(WEFT_CSR_PREFETCH_BASE));
    REQUIRE(!!t.prefetch_count_write_o == queue_write(WEFT_CSR_PREFETCH_COUNT));
    REQUIRE(!!t.segment_write_o ==
            (writes && address >= WEFT_CSR_SEGMENT_BASE && address < WEFT_CSR_SEGMENT_BASE + 32 * WEFT_SEGMENTS));
    REQUIRE(!!t.inject_write_o ==
            (writes && address >= WEFT_CSR_INJECT_ADDRESS && address < WEFT_CSR_INJECT_ADDRESS + 8 * 6));
    REQUIRE(t.csr_rdata_o == (reads ? value_at(t, model, address) : 0));

    const unsigned set =
        (t.fault_raised_i ? 1u : 0u) | (idle_event ? 2u : 0u) | (fell_low ? 4u : 0u) | (t.version_freed_i ? 8u : 0u);
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

TEST_CASE("each queue's count of retired commands carries over all of its 64 bits") {
  for (unsigned queue = 0; queue < WEFT_CORE_QUEUES; queue++) {
    CsrBench bench;
    for (unsigned bit = 1; bit < 64; bit++) {
      INFO("queue " << queue << ", bit " << bit);
      bench.top->rootp->csr__DOT__retired_q[queue] = (uint64_t{1} << bit) - 1;  // after years
      bench.top->retire_i = static_cast<uint8_t>(1u << queue);
      bench.step();
      bench.top->retire_i = 0;
      bench.bus(true, false, WEFT_CSR_QUEUE_RETIRED + 8 * queue, 0);
      bench.settle();
      CHECK(bench.top->csr_rdata_o == uint64_t{1} << bit);
    }
  }
}
