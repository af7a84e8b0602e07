// fault_capture.sv with as many sources as the core of nano has: which fault is the first, how many are counted, when
// the core stops.
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "Vfault_capture_model.h"
#include "Vfault_capture_model___024root.h"
#include "testbench/rtl/bench/stream.hpp"
#include "testbench/rtl/bench/verilated_bench.hpp"

namespace {

using namespace weft::bench;
constexpr unsigned kSources = 16;

struct Fault {
  uint64_t address;
  uint32_t tag, queue, unit, code;
  bool operator==(const Fault&) const = default;
};

class CaptureBench : public VerilatedBench<Vfault_capture_model> {
 public:
  CaptureBench() {
    clear();
    top->clear_count_i = 0;
    reset();
  }
  void clear() {
    for (unsigned i = 0; i < kSources; i++) top->fault_i[i][0] = top->fault_i[i][1] = top->fault_i[i][2] = 0;
  }
  /// fault_t, the lowest field first: address 64, tag 16, queue 3, unit 4, code 8, valid.
  void raise(unsigned source, const Fault& f) {
    top->fault_i[source][0] = static_cast<uint32_t>(f.address);
    top->fault_i[source][1] = static_cast<uint32_t>(f.address >> 32);
    top->fault_i[source][2] = 1u << 31 | f.code << 23 | f.unit << 19 | f.queue << 16 | f.tag;
  }
  std::optional<Fault> first() const {
    const auto& w = top->first_o;
    if ((w[2] >> 31 & 1) == 0) return std::nullopt;
    return Fault{w[0] | uint64_t{w[1]} << 32, w[2] & 0xffff, w[2] >> 16 & 7, w[2] >> 19 & 15, w[2] >> 23 & 0xff};
  }
};

Fault random_fault(std::mt19937_64& random) {
  return {random(), static_cast<uint32_t>(random() & 0xffff), static_cast<uint32_t>(random() % 5),
          static_cast<uint32_t>(random() % 7), static_cast<uint32_t>(random() & 0xff)};
}

}  // namespace

TEST_CASE("of any set of sources in one cycle the lowest is kept and all are counted") {
  const uint64_t seed = stimulus_seed(1);
  std::mt19937_64 random(seed);
  constexpr unsigned kAll = (1u << kSources) - 1;
  std::vector<unsigned> sets{kAll};
  for (unsigned i = 0; i < kSources; i++) sets.push_back(1u << i);
  for (unsigned i = 0; i < 200; i++) sets.push_back(1 + static_cast<unsigned>(random() % kAll));
  for (const unsigned set : sets) {
    CaptureBench bench;
    std::array<Fault, kSources> faults;
    for (unsigned i = 0; i < kSources; i++) {
      faults[i] = random_fault(random);
      if ((set >> i & 1) != 0) bench.raise(i, faults[i]);
    }
    bench.top->cycle_i = 1000 + set;
    bench.settle();
    CHECK(bench.top->raised_o);
    CHECK_FALSE(bench.top->stop_o);
    bench.step();
    bench.clear();
    bench.settle();
    INFO("sources " << set << ", " << rerun_line(seed, bench.cycle()));
    CHECK(bench.top->stop_o);
    CHECK(bench.first() == faults[static_cast<unsigned>(std::countr_zero(set))]);
    CHECK(bench.top->first_cycle_o == 1000 + set);
    CHECK(bench.top->count_o == static_cast<unsigned>(std::popcount(set)));
  }
}

TEST_CASE("the first fault stands whatever follows, and the count goes on and is cleared beside an event") {
  const uint64_t seed = stimulus_seed(2);
  for (const unsigned idle : kStreamLevels) {
    std::mt19937_64 random(seed + idle);
    CaptureBench bench;
    std::optional<Fault> first;
    uint64_t first_cycle = 0, count = 0;
    for (unsigned i = 0; i < 5000; i++) {
      if (i % 50 == 49) {  // another first one
        bench.clear();
        bench.top->clear_count_i = 0;
        bench.reset();
        first.reset();
        count = 0;
      }
      const uint64_t cycle = random();
      bench.clear();
      unsigned raised = 0;
      std::optional<Fault> lowest;
      for (unsigned s = 0; s < kSources && !chance(random, idle); s++) {
        if (random() % 4 != 0) continue;
        const Fault fault = random_fault(random);
        bench.raise(s, fault);
        raised++;
        if (!lowest) lowest = fault;
      }
      const bool clears = random() % 50 == 0;
      bench.top->clear_count_i = clears;
      bench.top->cycle_i = cycle;
      bench.settle();
      INFO("idle " << idle << " %; " << rerun_line(seed, bench.cycle()));
      REQUIRE(!!bench.top->raised_o == (raised != 0));
      REQUIRE(!!bench.top->stop_o == first.has_value());
      REQUIRE(bench.first() == first);
      REQUIRE(bench.top->count_o == count);
      if (first) REQUIRE(bench.top->first_cycle_o == first_cycle);
      bench.step();
      if (!first && lowest) first = lowest, first_cycle = cycle;
      count = (clears ? 0 : count) + raised;
    }
    bench.clear();
    bench.reset();
    CHECK_FALSE(bench.first());
    CHECK_FALSE(bench.top->stop_o);
    CHECK(bench.top->count_o == 0);
  }
}

TEST_CASE("the count of faults carries over all of its 64 bits") {
  for (unsigned bit = 1; bit < 64; bit++) {
    INFO("bit " << bit);
    CaptureBench bench;
    bench.top->rootp->fault_capture__DOT__count_q = (uint64_t{1} << bit) - 1;  // after years
    bench.raise(bit % kSources, {});
    bench.step();
    CHECK(bench.top->count_o == uint64_t{1} << bit);
  }
}
