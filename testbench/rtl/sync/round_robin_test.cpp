// round_robin.sv with five requests: one grant a cycle, in turn, nobody waits longer than the others take.
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>

#include "Vround_robin_bench.h"
#include "testbench/rtl/bench/stream.hpp"
#include "testbench/rtl/bench/verilated_bench.hpp"

namespace {

using namespace weft::bench;
constexpr unsigned kWidth = 5;

class ArbiterBench : public VerilatedBench<Vround_robin_bench> {
 public:
  ArbiterBench() {
    top->request_i = 0;
    reset();
  }
  unsigned grant(unsigned request) {
    top->request_i = static_cast<uint8_t>(request);
    settle();
    const unsigned granted = top->grant_o;
    step();
    return granted;
  }
};

}  // namespace

TEST_CASE("from every turn every set of requests is served by the next one above the turn, else by the lowest") {
  for (unsigned served = 0; served < kWidth; served++)
    for (unsigned request = 0; request < 1u << kWidth; request++) {
      ArbiterBench bench;
      CHECK(bench.grant(1u << served) == 1u << served);
      const unsigned above = request & ~((2u << served) - 1);
      const unsigned set = above != 0 ? above : request;
      INFO("served last " << served << ", requests " << request);
      CHECK(bench.grant(request) == (set & -set));
    }
}

TEST_CASE("a cycle without requests and a reset give the turn back to request 0") {
  for (unsigned served = 0; served < kWidth; served++) {
    ArbiterBench bench;
    (void)bench.grant(1u << served);
    CHECK(bench.grant(0) == 0);
    CHECK(bench.grant(31) == 1);
    bench.reset();
    CHECK(bench.grant(31) == 1);
  }
}

TEST_CASE("a request that stands is granted before any other is granted twice") {
  const uint64_t seed = stimulus_seed(1);
  for (const unsigned idle : kStreamLevels) {
    std::mt19937_64 random(seed + idle);
    ArbiterBench bench;
    unsigned standing = 0;
    std::array<unsigned, kWidth> passed_over{};
    for (unsigned i = 0; i < 20000; i++) {
      for (unsigned r = 0; r < kWidth; r++)
        if (!chance(random, idle)) standing |= 1u << r;
      const unsigned granted = bench.grant(standing);
      INFO("requests " << standing << "; " << rerun_line(seed, bench.cycle()));
      REQUIRE(std::popcount(granted) == (standing != 0));
      REQUIRE((granted & ~standing) == 0);
      for (unsigned r = 0; r < kWidth; r++) {
        passed_over[r] = (standing & ~granted) >> r & 1 ? passed_over[r] + 1 : 0;
        REQUIRE(passed_over[r] < kWidth);
      }
      standing &= ~granted;
    }
  }
}
