// mxu_order.sv with four MXUs: the oldest command's MXU may retire, all others wait, at every number of commands held.
#include <Vmxu_order_model.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <deque>
#include <random>

#include "model/core/core_units.hpp"
#include "testbench/rtl/bench/stream.hpp"
#include "testbench/rtl/bench/verilated_bench.hpp"

namespace {

constexpr unsigned kMxus = 4, kLaneDepth = 4, kUnits = WEFT_UNIT_SYNC + kMxus;

constexpr uint64_t kOthers = 0x6f;  // DMA, VPU, sync

unsigned bit_of(unsigned mxu) { return 1u << weft::core::unit_of_mxu(mxu); }

class Bench : public weft::bench::VerilatedBench<Vmxu_order_model> {
 public:
  Bench() {
    top->start_i = top->retire_i = 0;
    reset();
  }
  /// The commands that the MXUs hold, the oldest first; those with nothing have nothing to wait for.
  void check_turn() {
    settle();
    for (unsigned u = 0; u < kMxus; u++) {
      if (held[u] == 0) continue;
      REQUIRE(((top->out_of_turn_o & bit_of(u)) != 0) == (order.front() != u));
    }
    for (unsigned unit = 0; unit < kUnits; unit++) {
      const bool mxu = weft::core::is_mxu(unit);
      if (!mxu) REQUIRE((top->out_of_turn_o >> unit & 1) == 0);
    }
  }
  void start(unsigned mxu) {
    top->start_i = static_cast<uint16_t>(top->start_i | bit_of(mxu));
    order.push_back(mxu);
    held[mxu]++;
  }
  void retire() {
    top->retire_i = static_cast<uint16_t>(top->retire_i | bit_of(order.front()));
    held[order.front()]--;
    order.pop_front();
  }
  void clock() {
    settle();
    step();
    top->start_i = top->retire_i = 0;
  }
  std::deque<unsigned> order;
  std::array<unsigned, kMxus> held{};
};

}  // namespace

TEST_CASE("each MXU holds all the commands that it can, and they retire in the order in which they were taken") {
  Bench bench;
  // The longest order there is, from every place of the ring: one MXU after the other, and all of one before the next.
  for (unsigned turn = 0; turn < 2 * kMxus * kLaneDepth; turn++) {
    for (unsigned i = 0; i < kMxus * kLaneDepth; i++) {
      bench.start(turn % 2 == 0 ? i % kMxus : i / kLaneDepth);
      bench.clock();
      bench.check_turn();
    }
    while (!bench.order.empty()) {
      bench.check_turn();
      bench.retire();
      bench.clock();
    }
    bench.start(turn % kMxus);  // the next turn begins one place further on
    bench.clock();
    bench.retire();
    bench.clock();
  }
}

TEST_CASE("starts and retirements in any cycles keep the order, and other units are never out of turn") {
  const uint64_t seed = weft::bench::stimulus_seed(1);
  std::mt19937_64 random(seed);
  Bench bench;
  size_t most = 0;
  for (unsigned i = 0; i < 40000; i++) {
    INFO(weft::bench::rerun_line(seed, bench.cycle()));
    bench.check_turn();
    const bool fills = i / 64 % 2 == 0;
    const unsigned mxu = random() % kMxus;
    const bool retires = !bench.order.empty() && weft::bench::chance(random, fills ? 10 : 60);
    const bool starts = bench.held[mxu] < kLaneDepth && weft::bench::chance(random, fills ? 80 : 30);
    if (retires) bench.retire();
    if (starts) bench.start(mxu);
    // Other units' starts and retirements change nothing.
    bench.top->start_i = static_cast<uint16_t>(bench.top->start_i | (random() & kOthers));
    bench.top->retire_i = static_cast<uint16_t>(bench.top->retire_i | (random() & kOthers));
    bench.clock();
    most = std::max(most, bench.order.size());
  }
  CHECK(most == kMxus * kLaneDepth);
}
