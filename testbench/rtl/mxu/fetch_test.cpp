// mxu_fetch.sv alone: words arrive in the order in which they were asked for, with their control, at every level of
// refusals and of consumption; a reset forgets what is under way.
#include <catch2/catch.hpp>
#include <cstdint>
#include <deque>
#include <random>

#include "Vmxu_fetch_model.h"
#include "testbench/rtl/bench/stream.hpp"
#include "testbench/rtl/bench/verilated_bench.hpp"

namespace {

using namespace weft::bench;

/// A word is its address, in all lanes; the control bit is the address's parity.
class FetchBench : public VerilatedBench<Vmxu_fetch_model> {
 public:
  FetchBench() {
    top->want_i = top->gnt_i = top->rvalid_i = top->pop_i = 0;
    reset();
  }
  void answer(bool valid, uint32_t address) {
    top->rvalid_i = valid;
    for (unsigned i = 0; i < 4; i++) top->answer_i[i] = address;  // data stand lowest
  }
};

}  // namespace

TEST_CASE("words come in order at every level of idles, refusals and back-pressure") {
  const uint64_t seed = stimulus_seed(1);
  for (const unsigned idle : kStreamLevels)
    for (const unsigned refuse : kStreamLevels)
      for (const unsigned stall : kStreamLevels) {
        std::mt19937_64 random(seed + idle + 100 * refuse + 10000 * stall);
        FetchBench bench;
        auto& t = *bench.top;
        StreamDriver<uint32_t> walker(random, idle);
        constexpr uint32_t kWords = 300;
        for (uint32_t i = 0; i < kWords; i++) walker.push(i * 37 % 16384);
        uint32_t popped = 0, granted = 0;
        bool pending = false;
        uint32_t pending_address = 0;
        while (popped < kWords && bench.cycle() < 30000) {
          const uint32_t* want = walker.offer();
          t.want_i = want != nullptr;
          t.addr_i = static_cast<uint16_t>(want != nullptr ? *want : random() % 16384);
          t.ctl_i = t.addr_i & 1;
          bench.answer(pending, pending_address);
          t.gnt_i = t.pop_i = 0;
          bench.settle();
          t.gnt_i = t.req_o && !chance(random, refuse);
          t.pop_i = t.valid_o && !chance(random, stall);
          bench.settle();
          INFO("idles " << idle << " %, refusals " << refuse << " %, stalls " << stall << " %; "
                        << rerun_line(seed, bench.cycle()));
          REQUIRE(granted - popped <= 5);  // four in the FIFO, one on its way
          if (t.valid_o) {
            const uint32_t expected = popped * 37 % 16384;
            REQUIRE(t.data_o[0] == expected);
            REQUIRE(t.data_o[3] == expected);
            REQUIRE(t.ctl_o == (expected & 1));
          }
          if (t.req_o) REQUIRE(t.addr_o == t.addr_i);
          pending = t.taken_o, pending_address = t.addr_i;
          granted += t.taken_o;
          popped += t.pop_i;
          (void)walker.edge(t.taken_o);
          bench.step();
        }
        CHECK(popped == kWords);
        if (idle == 0 && refuse == 0 && stall == 0) CHECK(bench.cycle() <= kWords + 4);  // one word a cycle
      }
}

TEST_CASE("an answer from before a reset is nobody's") {
  FetchBench bench;
  bench.top->want_i = bench.top->gnt_i = 1;
  bench.step();
  bench.top->want_i = bench.top->gnt_i = 0;
  bench.reset();
  bench.answer(true, 5);
  bench.step();
  bench.answer(false, 0);
  bench.settle();
  CHECK_FALSE(bench.top->valid_o);
}
