// command_prefetch.sv: against the words of rtl/core/README.md. Every command of base and count comes to its queue,
// once, in order and unchanged; nothing else is read; errors, stops and resets in every cycle.
#include <Vcommand_prefetch_model.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <random>
#include <vector>

#include "testbench/rtl/bench/stream.hpp"
#include "testbench/rtl/bench/verilated_bench.hpp"
#include "weft/spec/spec.h"

namespace {

constexpr unsigned kQueues = WEFT_CORE_QUEUES, kDepth = WEFT_CORE_PREFETCH_COMMANDS;
constexpr uint64_t kStep = WEFT_COMMAND_BYTES;

using Words = std::array<uint32_t, WEFT_COMMAND_BYTES / 4>;

/// What memory holds at an address: no two are alike.
Words contents(uint64_t address) {
  Words words;
  for (unsigned i = 0; i < words.size(); i++)
    words[i] = static_cast<uint32_t>((address / kStep + 1) * 0x9e3779b97f4a7c15 >> 16) + i * 0x85ebca6b;
  return words;
}

/// What the README says of one queue's fetch.
struct Expected {
  uint64_t base = 0;
  uint64_t count = 0, asked = 0, pushed = 0;
  std::optional<uint64_t> error;  // of which command memory answers with an error
  bool dead = false;
};

struct Levels {
  unsigned refuse_percent = 0;  // memory takes no request
  unsigned late_percent = 0;    // no answer though one is due
  unsigned latency = 1;         // cycles
  unsigned push_percent = 0;    // the manager pushes: no command enters a queue
  unsigned hold_percent = 0;    // a queue is not emptied
};

/// The block, a memory and five queues of 16 around it. What breaks a rule is a failure in the cycle in which it does.
class Bench : public weft::bench::VerilatedBench<Vcommand_prefetch_model> {
 public:
  Bench(std::mt19937_64& random, const Levels& levels) : random_(random), levels_(levels) {
    top->stop_i = top->base_write_i = top->count_write_i = top->mrsp_valid_i = top->manager_push_i = 0;
    top->mrd_ready_i = 0;
    top->push_ready_i = 1;
    top->full_i = 0;
    top->empty_i = 0x1f;
    reset();
  }

  void write_base(unsigned queue, uint64_t value) { write(queue, value, false); }
  void write_count(unsigned queue, uint64_t value) { write(queue, value, true); }
  void start(unsigned queue, uint64_t base, uint64_t count, std::optional<uint64_t> error = {}) {
    write_base(queue, base);
    expected[queue] = {base & ~(kStep - 1), count, 0, 0, error, false};
    write_count(queue, count);
  }
  void core_reset() {
    top->rst_ni = 0;
    VerilatedBench::step();
    top->rst_ni = 1;
    flights_.clear();  // memory drops what is outstanding
    expected = {};
    levels = {};
    faults.clear();
    settle();
  }

  void cycle_once() {
    top->mrd_ready_i = !weft::bench::chance(random_, levels_.refuse_percent);
    const bool due = !flights_.empty() && flights_.front().cycle <= cycle();
    top->mrsp_valid_i = due && !weft::bench::chance(random_, levels_.late_percent);
    if (top->mrsp_valid_i) {
      const Words words = contents(flights_.front().address);
      std::memcpy(top->mrsp_data_i.data(), words.data(), kStep);
      top->mrsp_error_i = flights_.front().error;
    }
    top->push_ready_i = !weft::bench::chance(random_, levels_.push_percent);
    top->full_i = top->empty_i = 0;
    for (unsigned q = 0; q < kQueues; q++) {
      top->full_i |= (levels[q] == WEFT_CORE_QUEUE_DEPTH ? 1u : 0u) << q;
      top->empty_i |= (levels[q] == 0 ? 1u : 0u) << q;
    }
    settle();
    look();
    step();
  }
  [[nodiscard]] bool idle() const { return top->active_o == 0 && !top->moving_o; }
  /// Cycles until nothing moves; fails at `limit`.
  uint64_t drain(uint64_t limit = 200000) {
    const uint64_t begin = cycle();
    settle();
    while (!idle()) {
      cycle_once();
      settle();
      REQUIRE(cycle() - begin < limit);
    }
    return cycle() - begin;
  }
  [[nodiscard]] uint64_t flights() const { return flights_.size(); }

  struct Fault {
    unsigned code, unit, queue, tag;
    uint64_t address;
  };
  std::array<Expected, kQueues> expected{};
  std::array<unsigned, kQueues> levels{};
  std::vector<Fault> faults;
  bool hold_all = false;  // no queue is emptied
  uint64_t most_outstanding = 0;
  uint64_t asked_cycle = 0, answered_cycle = 0, pushed_cycle = 0;  // of the last one

 private:
  struct Flight {
    uint64_t cycle, address;
    unsigned queue;
    bool error;
  };

  void write(unsigned queue, uint64_t value, bool count) {
    top->index_i = static_cast<uint8_t>(queue);
    top->wdata_i = value;
    (count ? top->count_write_i : top->base_write_i) = 1;
    cycle_once();
    top->count_write_i = top->base_write_i = 0;
  }

  void look() {
    if (top->mrsp_valid_i) {
      Expected& e = expected[flights_.front().queue];
      e.dead = e.dead || flights_.front().error;
      flights_.pop_front();
      answered_cycle = cycle();
    }
    if (top->mrd_valid_o && top->mrd_ready_i) take_request(top->mrd_addr_o);
    if (top->mrd_valid_o) asked_cycle = cycle();
    REQUIRE((top->push_o & (top->push_o - 1)) == 0);
    for (unsigned q = 0; q < kQueues; q++) {
      if (top->push_o >> q & 1)
        take_push(q);
      else if (levels[q] != 0 && !hold_all && !weft::bench::chance(random_, levels_.hold_percent))
        levels[q]--;
    }
    if (top->fault_o[2] >> 31 != 0) {
      REQUIRE(top->moving_o);  // the edge has to come, stopped or not
      const uint32_t high = top->fault_o[2];
      faults.push_back({high >> 23 & 0xff, high >> 19 & 0xf, high >> 16 & 7, high & 0xffff,
                        top->fault_o[0] | uint64_t{top->fault_o[1]} << 32});
    }
  }
  void take_request(uint64_t address) {
    for (unsigned q = 0; q < kQueues; q++) {
      Expected& e = expected[q];
      if (e.asked == e.count || address != e.base + e.asked * kStep) continue;
      flights_.push_back({cycle() + levels_.latency, address, q, e.error == e.asked});
      e.asked++;
      REQUIRE(e.asked - e.pushed <= kDepth + 1);  // one is in the register before the queue
      most_outstanding = std::max(most_outstanding, e.asked - e.pushed);
      return;
    }
    FAIL("a read of " << std::hex << address << ", which is no queue's next command");
  }
  void take_push(unsigned q) {
    Expected& e = expected[q];
    REQUIRE(top->push_ready_i);
    REQUIRE(levels[q] < WEFT_CORE_QUEUE_DEPTH);
    REQUIRE(e.pushed < e.asked);
    REQUIRE((!e.error || e.pushed < *e.error));
    const Words words = contents(e.base + e.pushed * kStep);
    REQUIRE(std::memcmp(top->cmd_o.data(), words.data(), kStep) == 0);
    e.pushed++;
    levels[q]++;
    pushed_cycle = cycle();
  }

  std::mt19937_64& random_;
  const Levels levels_;
  std::deque<Flight> flights_;
};

/// Bases that no two queues share.
uint64_t base_of(unsigned queue, uint64_t turn = 0) { return (uint64_t{queue} + 1) << 32 | turn << 24; }

}  // namespace

TEST_CASE("every command of each fetch comes to its queue once, in order and unchanged, at every level of refusals") {
  const uint64_t seed = weft::bench::stimulus_seed(1);
  std::mt19937_64 random(seed);
  for (const unsigned refuse : weft::bench::kStreamLevels)
    for (const unsigned hold : weft::bench::kStreamLevels)
      for (const unsigned latency : {1u, 3u, 90u, 700u}) {
        Bench bench(random, {refuse, refuse, latency, hold / 3, hold});
        INFO("refusals " << refuse << " %, held queues " << hold << " %, latency " << latency << ", "
                         << weft::bench::rerun_line(seed, bench.cycle()));
        for (unsigned turn = 0; turn < 3; turn++) {
          uint64_t all = 0;
          for (unsigned q = 0; q < kQueues; q++) {
            const uint64_t count = random() % 4 == 0 ? 0 : 1 + random() % 300;
            bench.start(q, base_of(q, turn), count);
            all += count;
          }
          bench.drain();
          uint64_t pushed = 0;
          for (const Expected& e : bench.expected) pushed += e.pushed;
          CHECK(pushed == all);
          CHECK(bench.faults.empty());
        }
      }
}

TEST_CASE("a fetch has as many reads on their way as the buffer has places, and no more") {
  std::mt19937_64 random(weft::bench::stimulus_seed(2));
  Bench bench(random, {.latency = 700});
  bench.start(1, base_of(1), 1000);
  bench.drain();
  CHECK(bench.most_outstanding == kDepth);
}

TEST_CASE("the first read is offered two cycles after the count, and a command enters its queue two after its answer") {
  std::mt19937_64 random(weft::bench::stimulus_seed(3));
  Bench bench(random, {.latency = 5});
  const uint64_t written = bench.cycle() + 1;  // the base is written first
  bench.start(4, base_of(4), 1);
  bench.drain();
  CHECK(bench.asked_cycle == written + 2);
  CHECK(bench.answered_cycle == bench.asked_cycle + 5);
  CHECK(bench.pushed_cycle == bench.answered_cycle + 2);
}

TEST_CASE(
    "registers: the base follows the reads, the count the pushes, and a write while the queue fetches is refused") {
  std::mt19937_64 random(weft::bench::stimulus_seed(4));
  Bench bench(random, {.latency = 20});
  bench.start(2, base_of(2) + 5, 3);  // bits 5:0 are ignored
  bench.top->index_i = 2;
  bench.settle();
  CHECK(bench.top->left_o == 3);
  CHECK(bench.top->base_o == base_of(2));
  CHECK(bench.top->active_o == 4);
  CHECK(bench.top->fed_o == 4);
  CHECK(bench.top->refused_o == 0);
  bench.write_count(2, 9);
  bench.settle();
  CHECK(bench.top->refused_o == 4);
  bench.write_base(3, 64);  // another queue's is free
  bench.settle();
  CHECK(bench.top->refused_o == 4);
  bench.drain();
  bench.top->index_i = 2;
  bench.settle();
  CHECK(bench.expected[2].pushed == 3);
  CHECK(bench.top->left_o == 0);
  CHECK(bench.top->base_o == base_of(2) + 3 * kStep);
  bench.write_count(1, uint64_t{1} << 32);
  bench.settle();
  CHECK(bench.top->refused_o == 6);
  CHECK(bench.top->active_o == 0);
  bench.write_count(0, 0);
  bench.settle();
  CHECK(bench.top->refused_o == 6);
  CHECK(bench.top->fed_o == 4);
  bench.top->manager_push_i = 4;
  bench.cycle_once();
  bench.top->manager_push_i = 0;
  bench.settle();
  CHECK(bench.top->fed_o == 0);
  bench.core_reset();
  CHECK(bench.top->refused_o == 0);
}

TEST_CASE("a write of base or count is refused in every cycle of a fetch, also that of its last push") {
  std::mt19937_64 random(weft::bench::stimulus_seed(5));
  for (const bool count : {false, true})
    for (unsigned after = 0; after < 12; after++) {
      Bench bench(random, {.latency = 2});
      bench.start(0, base_of(0), 2);
      for (unsigned i = 0; i < after; i++) bench.cycle_once();
      bench.settle();
      const bool active = bench.top->active_o != 0;
      if (count && !active) bench.expected[0] = {base_of(0) + 2 * kStep, 1, 0, 0, {}, false};
      if (count)
        bench.write_count(0, 1);
      else
        bench.write_base(0, base_of(3));
      bench.settle();
      INFO((count ? "count" : "base") << " written " << after << " cycles after the start");
      CHECK(!!bench.top->refused_o == active);
      bench.drain();
      bench.top->index_i = 0;
      bench.settle();
      if (!count) CHECK(bench.top->base_o == (active ? base_of(0) + 2 * kStep : base_of(3)));
    }
}

TEST_CASE("an answer with an error is one fault of its queue with its address, and the others go on") {
  const uint64_t seed = weft::bench::stimulus_seed(6);
  std::mt19937_64 random(seed);
  for (unsigned i = 0; i < 60; i++) {
    Bench bench(random, {random() % 2 == 0 ? 0u : 25u, 25, static_cast<unsigned>(1 + random() % 60), 10, 25});
    const auto bad = static_cast<unsigned>(random() % kQueues);
    const uint64_t at = random() % 40;
    for (unsigned q = 0; q < kQueues; q++) bench.start(q, base_of(q), 41, q == bad ? std::optional(at) : std::nullopt);
    for (unsigned c = 0; c < 3000; c++) bench.cycle_once();
    INFO(weft::bench::rerun_line(seed, bench.cycle()));
    REQUIRE(bench.faults.size() == 1);
    const auto& fault = bench.faults[0];
    constexpr std::array<unsigned, kQueues> kUnits{WEFT_UNIT_DMA0, WEFT_UNIT_MXU, WEFT_UNIT_VPU, WEFT_UNIT_DMA2,
                                                   WEFT_UNIT_SYNC};
    CHECK(fault.code == WEFT_FAULT_COMMAND_FETCH);
    CHECK(fault.queue == bad);
    CHECK(fault.unit == kUnits[bad]);
    CHECK(fault.tag == 0);
    CHECK(fault.address == base_of(bad) + at * kStep);
    CHECK(bench.top->dead_o == 1u << bad);
    CHECK(bench.top->active_o == 1u << bad);
    CHECK_FALSE(bench.top->moving_o);
    for (unsigned q = 0; q < kQueues; q++)
      if (q != bad) CHECK(bench.expected[q].pushed == 41);
    bench.write_count(bad, 1);
    bench.settle();
    CHECK(bench.top->refused_o == 1u << bad);
  }
}

TEST_CASE("a stopped core asks for nothing and gets nothing, and what is on its way ends") {
  std::mt19937_64 random(weft::bench::stimulus_seed(7));
  for (unsigned after = 1; after < 60; after++) {
    Bench bench(random, {25, 25, 20, 10, 25});
    for (unsigned q = 0; q < kQueues; q++) bench.start(q, base_of(q), 100);
    for (unsigned i = 0; i < after; i++) bench.cycle_once();
    bench.top->stop_i = 1;
    bench.cycle_once();  // what is offered and in the register goes
    uint64_t asked = 0, pushed = 0, pushed_later = 0;
    for (unsigned i = 0; i < 5; i++) bench.cycle_once();  // until the manager lets the register go
    for (const Expected& e : bench.expected) pushed += e.pushed;
    for (unsigned i = 0; i < 300; i++) bench.cycle_once();
    for (const Expected& e : bench.expected) asked += e.asked, pushed_later += e.pushed;
    CHECK(pushed_later == pushed);
    CHECK_FALSE(bench.top->moving_o);
    CHECK(bench.top->active_o == 0x1f);
    CHECK(bench.flights() == 0);
    CHECK_FALSE(bench.top->wait_o);
    bench.cycle_once();
    uint64_t later = 0;
    for (const Expected& e : bench.expected) later += e.asked;
    CHECK(later == asked);
  }
}

TEST_CASE("an error that comes to a stopped core is told") {
  std::mt19937_64 random(weft::bench::stimulus_seed(11));
  Bench bench(random, {.latency = 20});
  bench.start(1, base_of(1), 1, 0);
  for (unsigned i = 0; i < 5; i++) bench.cycle_once();
  bench.top->stop_i = 1;
  bench.settle();
  while (bench.top->moving_o) bench.cycle_once(), bench.settle();
  REQUIRE(bench.faults.size() == 1);
  CHECK(bench.faults[0].address == base_of(1));
}

TEST_CASE("queues that want a read get it in turn, and turns begin with the first queue after a drain") {
  std::mt19937_64 random(weft::bench::stimulus_seed(12));
  for (unsigned before = 0; before < kQueues; before++) {
    Bench bench(random, {.latency = 3});
    bench.start(before, base_of(before, 1), 3);
    bench.drain();
    bench.top->stop_i = 1;
    for (unsigned q = 0; q < kQueues; q++) bench.start(q, base_of(q), 200);
    bench.top->stop_i = 0;
    for (unsigned i = 0; i < 300; i++) {
      bench.cycle_once();
      const auto& e = bench.expected;
      for (unsigned q = 1; q < kQueues; q++) {
        REQUIRE((e[q - 1].asked == e[q].asked || e[q - 1].asked == e[q].asked + 1));
        REQUIRE((e[q - 1].pushed == e[q].pushed || e[q - 1].pushed == e[q].pushed + 1));
      }
    }
    CHECK(bench.expected[0].pushed > 50);
    bench.core_reset();
    // the same of the buffer: full queues hold all back, then have room at once
    bench.start(before, base_of(before, 1), 3);
    bench.drain();
    bench.hold_all = true;
    bench.levels.fill(WEFT_CORE_QUEUE_DEPTH);
    for (unsigned q = 0; q < kQueues; q++) bench.start(q, base_of(q), 4);
    for (unsigned i = 0; i < 50; i++) bench.cycle_once();
    bench.levels.fill(0);
    for (unsigned q = 0; q < kQueues; q++) {
      while (bench.expected[q].pushed == 0) {
        bench.cycle_once();
        for (unsigned later = q + 1; later < kQueues; later++) REQUIRE(bench.expected[later].pushed == 0);
      }
    }
  }
}

TEST_CASE("a reset in every cycle of a fetch leaves nothing behind: the next fetch is whole") {
  const uint64_t seed = weft::bench::stimulus_seed(8);
  std::mt19937_64 random(seed);
  for (unsigned cut = 0; cut < 150; cut++) {
    Bench bench(random, {25, 25, 9, 10, 25});
    for (unsigned q = 0; q < kQueues; q++)
      bench.start(q, base_of(q), 20, q == cut % 7 ? std::optional<uint64_t>(cut % 20) : std::nullopt);
    for (unsigned i = 0; i < cut; i++) bench.cycle_once();
    bench.core_reset();
    INFO("reset after " << cut << " cycles, " << weft::bench::rerun_line(seed, bench.cycle()));
    REQUIRE(bench.top->active_o == 0);
    REQUIRE(bench.top->dead_o == 0);
    REQUIRE_FALSE(bench.top->moving_o);
    REQUIRE_FALSE(bench.top->mrd_valid_o);
    for (unsigned i = 0; i < 5; i++) bench.cycle_once();
    for (unsigned q = 0; q < kQueues; q++) bench.start(q, base_of(q, 1), 30);
    bench.drain();
    for (const Expected& e : bench.expected) REQUIRE(e.pushed == 30);
    REQUIRE(bench.faults.empty());
  }
}

TEST_CASE("wait_o tells that a queue that fetches holds nothing, has nothing buffered and is not stopped") {
  std::mt19937_64 random(weft::bench::stimulus_seed(9));
  Bench bench(random, {.latency = 50});
  bench.settle();
  CHECK_FALSE(bench.top->wait_o);
  bench.start(0, base_of(0), 1);
  uint64_t waits = 0;
  bench.settle();
  while (!bench.idle()) {
    waits += bench.top->wait_o;
    bench.cycle_once();
    bench.settle();
  }
  CHECK(waits == 1 + 1 + 50);  // to the offer, in it, until its answer is in the buffer
  bench.start(0, base_of(1), 1);
  bench.top->stop_i = 1;
  bench.settle();
  CHECK_FALSE(bench.top->wait_o);
}

TEST_CASE("a queue gets a command every second cycle, five queues one a cycle") {
  std::mt19937_64 random(weft::bench::stimulus_seed(10));
  for (const unsigned queues : {1u, kQueues}) {
    Bench bench(random, {.latency = 20});
    for (unsigned q = 0; q < queues; q++) bench.start(q, base_of(q), 2000);
    const uint64_t cycles = bench.drain();
    const double rate = static_cast<double>(cycles) / (2000.0 * queues);
    CHECK(rate < (queues == 1 ? 2.05 : 1.05));
  }
}

TEST_CASE("at a latency of 700 cycles the buffer of a queue lasts for a command every 8 cycles") {
  std::mt19937_64 random(weft::bench::stimulus_seed(13));
  Bench bench(random, {.latency = 700});
  bench.start(0, base_of(0), 3000);
  CHECK(static_cast<double>(bench.drain()) / 3000 < 8);
}
