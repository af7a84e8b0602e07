// watchdog.sv: when it expires, what holds it off, what switches it off.
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>

#include "Vwatchdog_model.h"
#include "testbench/rtl/bench/stream.hpp"
#include "testbench/rtl/bench/verilated_bench.hpp"

namespace {

using namespace weft::bench;

class WatchdogBench : public VerilatedBench<Vwatchdog_model> {
 public:
  explicit WatchdogBench(uint64_t limit) {
    top->busy_i = top->progress_i = top->stopped_i = 0;
    top->limit_i = limit;
    reset();
  }
  /// Cycles until it expires, at most `most`.
  uint64_t cycles_to_expiry(uint64_t most) {
    uint64_t cycles = 0;
    for (; cycles < most; cycles++) {
      settle();
      if (top->expired_o) break;
      step();
    }
    return cycles;
  }
};

}  // namespace

TEST_CASE("it expires after exactly as many busy cycles without progress as the limit says") {
  for (const uint64_t limit : {1u, 2u, 3u, 100u, 1000u}) {
    WatchdogBench bench(limit);
    bench.top->busy_i = 1;
    CHECK(bench.cycles_to_expiry(2000) == limit);
  }
}

TEST_CASE("a limit of any width is compared with all of its bits") {
  std::mt19937_64 random(stimulus_seed(4));
  WatchdogBench bench(UINT64_MAX);
  bench.top->busy_i = 1;
  for (uint64_t count = 0; count < 3000; count++) {
    const uint64_t limit = random() % 2 != 0 ? count + random() % 3 - 1 : random() >> random() % 64;
    bench.top->limit_i = limit;
    bench.settle();
    INFO("limit " << limit << " after " << count << " cycles");
    REQUIRE(!!bench.top->expired_o == (limit != 0 && count >= limit));
    bench.step();
  }
  bench.reset();
  bench.top->limit_i = 1;
  bench.settle();
  CHECK_FALSE(bench.top->expired_o);
}

TEST_CASE("limit 0 switches it off") {
  WatchdogBench bench(0);
  bench.top->busy_i = 1;
  CHECK(bench.cycles_to_expiry(5000) == 5000);
}

TEST_CASE("one cycle of progress, of idleness or of a stop starts the count again") {
  for (unsigned what = 0; what < 3; what++) {
    for (const unsigned after : {1u, 98u, 99u}) {
      WatchdogBench bench(100);
      bench.top->busy_i = 1;
      for (unsigned i = 0; i < after; i++) bench.step();
      bench.top->progress_i = what == 0, bench.top->busy_i = what != 1, bench.top->stopped_i = what == 2;
      bench.step();
      bench.top->progress_i = 0, bench.top->busy_i = 1, bench.top->stopped_i = 0;
      INFO("event " << what << " after " << after << " cycles");
      CHECK(bench.cycles_to_expiry(500) == 100);
    }
  }
}

TEST_CASE("it says nothing while the core is stopped") {
  WatchdogBench bench(10);
  bench.top->busy_i = 1;
  CHECK(bench.cycles_to_expiry(100) == 10);
  bench.top->stopped_i = 1;
  bench.settle();
  CHECK_FALSE(bench.top->expired_o);
  CHECK(bench.cycles_to_expiry(100) == 100);
}

TEST_CASE("at every rate of progress it agrees with a count") {
  const uint64_t seed = stimulus_seed(3);
  for (const unsigned idle : kStreamLevels)
    for (const unsigned progress : {0u, 5u, 25u, 75u}) {
      std::mt19937_64 random(seed + idle * 100 + progress);
      WatchdogBench bench(12);
      uint64_t count = 0;
      for (unsigned i = 0; i < 5000; i++) {
        const bool busy = !chance(random, idle), moves = chance(random, progress), stopped = chance(random, 3);
        bench.top->busy_i = busy, bench.top->progress_i = moves, bench.top->stopped_i = stopped;
        bench.settle();
        INFO("idle " << idle << " %, progress " << progress << " %; " << rerun_line(seed, bench.cycle()));
        REQUIRE(!!bench.top->expired_o == (count >= 12 && !stopped));
        count = !busy || moves || stopped ? 0 : count + 1;
        bench.step();
      }
    }
}
