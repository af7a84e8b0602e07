// command_prefetch.sv: against the words of rtl/core/README.md. Every command of base and count comes to its queue,
// once, in order and unchanged; nothing else is read; errors, stops and resets in every cycle.
#include "prefetch_bench.hpp"

using namespace weft::prefetch;

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
  bench.start(2, base_of(2) + 6, 3);  // bits 5:1 are ignored
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
  bench.write_count(1, uint64_t{1} << 33);
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
