// command_prefetch.sv: the two fetches of a queue, their order, errors and registers; when a version is free.
#include "prefetch_bench.hpp"

using namespace weft::prefetch;

TEST_CASE("two fetches of a queue are one stream in the order of their starts whichever ends and begins anew when") {
  const uint64_t seed = weft::bench::stimulus_seed(14);
  std::mt19937_64 random(seed);
  for (const unsigned refuse : weft::bench::kStreamLevels)
    for (const unsigned latency : {1u, 7u, 200u}) {
      Bench bench(random, {refuse, refuse, latency, refuse / 3, refuse});
      INFO("refusals " << refuse << " %, latency " << latency << ", " << weft::bench::rerun_line(seed, bench.cycle()));
      std::array<std::array<uint64_t, 2>, kQueues> turns{};
      uint64_t both = 0;
      for (unsigned i = 0; i < 3000; i++) {
        const auto q = static_cast<unsigned>(random() % kQueues);
        const auto v = static_cast<unsigned>(random() % 2);
        if (random() % 4 == 0 && !bench.of(q, v).active()) {
          both += bench.of(q, v ^ 1).active();
          const uint64_t count = random() % 3 == 0 ? 1 : 1 + random() % 60;
          bench.start(q, base_of(q, 2 * ++turns[q][v] + v), count, {}, v);
        } else {
          bench.cycle_once();
        }
        bench.settle();
        REQUIRE(bench.top->refused_o == 0);
      }
      bench.drain();
      for (unsigned q = 0; q < kQueues; q++)
        for (unsigned v = 0; v < 2; v++) CHECK_FALSE(bench.of(q, v).active());
      CHECK(both > 20);
      CHECK(bench.faults.empty());
    }
}

TEST_CASE("a fetch can be started beside the queue's other one and only when its own has ended") {
  std::mt19937_64 random(weft::bench::stimulus_seed(15));
  for (const unsigned first : {0u, 1u}) {
    Bench bench(random, {.latency = 40});
    bench.start(1, base_of(1), 3, {}, first);
    bench.start(1, base_of(1, 1), 2, {}, first ^ 1);
    bench.settle();
    bench.top->index_i = 1;
    bench.settle();
    CHECK(bench.top->left_o == 5);
    CHECK(bench.top->refused_o == 0);
    bench.write_base(1, base_of(2) | first);
    bench.settle();
    CHECK(bench.top->refused_o == 2);
    bench.drain();
    CHECK(bench.expected[1].pushed + bench.expected1[1].pushed == 5);
    bench.core_reset();
    bench.write_count(1, uint64_t{2} << 32 | 1);  // no third one
    bench.settle();
    CHECK(bench.top->refused_o == 2);
    CHECK(bench.top->active_o == 0);
  }
}

TEST_CASE("an error in either fetch has the address of its command and ends both") {
  std::mt19937_64 random(weft::bench::stimulus_seed(16));
  for (const unsigned bad : {0u, 1u})
    for (const uint64_t at : {0u, 1u, 9u}) {
      Bench bench(random, {.latency = 30});
      for (const unsigned v : {0u, 1u})
        bench.start(3, base_of(3, v), 10, v == bad ? std::optional(at) : std::nullopt, v);
      for (unsigned i = 0; i < 300; i++) bench.cycle_once();
      REQUIRE(bench.faults.size() == 1);
      CHECK(bench.faults[0].address == base_of(3, bad) + at * kStep);
      CHECK(bench.top->active_o == 8);
      CHECK(bench.top->dead_o == 8);
    }
}

TEST_CASE(
    "a version is told to be free when its last command has left its queue for four cycles and the other is used") {
  std::mt19937_64 random(weft::bench::stimulus_seed(17));
  Bench bench(random, {.latency = 3});
  bench.start(0, base_of(0), 1);
  bench.drain();
  for (unsigned i = 0; i < 8; i++) bench.cycle_once();
  CHECK(bench.freed == 0);  // the other is not used
  bench.hold_all = true;
  bench.start(0, base_of(0, 1), 1);
  bench.start(0, base_of(0, 2), 1, {}, 1);
  for (unsigned i = 0; i < 50; i++) bench.cycle_once();
  CHECK(bench.freed == 0);
  bench.hold_all = false;
  bench.cycle_once();  // one leaves
  bench.hold_all = true;
  for (unsigned i = 0; i < 4; i++) {
    bench.settle();
    CHECK(bench.freed == 0);
    CHECK(bench.top->used_o == (i < 3 ? 3 : 2));
    bench.cycle_once();
  }
  CHECK(bench.freed == 1);
}
