// sync_engine.sv: when SIGNAL, WAIT and FENCE are done.
#include <Vsync_engine_bench.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <random>

#include "testbench/rtl/bench/stream.hpp"
#include "testbench/rtl/bench/verilated_bench.hpp"
#include "weft/spec/spec.h"

namespace {

class Bench : public weft::bench::VerilatedBench<Vsync_engine_bench> {
 public:
  Bench() {
    top->cmd_valid_i = top->others_active_i = 0;
    reset();
  }
  void step() {
    VerilatedBench::step();
    settle();
  }
  void take(weft_opcode opcode) {
    top->opcode_i = static_cast<uint8_t>(opcode);
    top->cmd_valid_i = 1;
    settle();
    REQUIRE(top->cmd_ready_o == 1);
    step();
    top->cmd_valid_i = 0;
    settle();
  }
};

}  // namespace

TEST_CASE("SIGNAL and WAIT are done in the cycle after they were taken, whatever else is active") {
  for (const auto opcode : {WEFT_OPCODE_SIGNAL, WEFT_OPCODE_WAIT}) {
    Bench bench;
    bench.top->others_active_i = 1;
    bench.take(opcode);
    CHECK(bench.top->active_o == 1);
    CHECK(bench.top->done_o == 1);
    bench.step();
    CHECK(bench.top->active_o == 0);
    CHECK(bench.top->done_o == 0);
  }
}

TEST_CASE("FENCE holds until no other unit is active") {
  Bench bench;
  bench.top->others_active_i = 1;
  bench.take(WEFT_OPCODE_FENCE);
  for (unsigned i = 0; i < 10; i++) {
    CHECK(bench.top->done_o == 0);
    CHECK(bench.top->cmd_ready_o == 0);
    bench.step();
  }
  bench.top->others_active_i = 0;
  bench.settle();
  CHECK(bench.top->done_o == 1);
  bench.step();
  CHECK(bench.top->done_o == 0);
  CHECK(bench.top->cmd_ready_o == 1);
}

TEST_CASE("a reset gives up the command that is held, and the next one starts anew") {
  Bench bench;
  bench.top->others_active_i = 1;
  bench.take(WEFT_OPCODE_FENCE);
  bench.reset();
  CHECK(bench.top->active_o == 0);
  CHECK(bench.top->done_o == 0);
  CHECK(bench.top->cmd_ready_o == 1);
  bench.take(WEFT_OPCODE_SIGNAL);
  CHECK(bench.top->done_o == 1);
}

TEST_CASE("at every level of idles and of other units' work each command is done once, when its kind says") {
  const uint64_t seed = weft::bench::stimulus_seed(1);
  for (const unsigned idle : weft::bench::kStreamLevels)
    for (const unsigned others : weft::bench::kStreamLevels) {
      std::mt19937_64 random(seed + idle * 100 + others);
      weft::bench::StreamDriver<weft_opcode> driver(random, idle);
      for (unsigned i = 0; i < 300; i++)
        driver.push(random() % 3 == 0 ? WEFT_OPCODE_SIGNAL : random() % 2 ? WEFT_OPCODE_WAIT : WEFT_OPCODE_FENCE);
      Bench bench;
      bool held = false, fence = false;
      unsigned done = 0;
      while (done < 300 && bench.cycle() < 20000) {
        const weft_opcode* offer = driver.offer();
        bench.top->cmd_valid_i = offer != nullptr;
        if (offer != nullptr) bench.top->opcode_i = static_cast<uint8_t>(*offer);
        bench.top->others_active_i = weft::bench::chance(random, others);
        bench.settle();
        INFO("idles " << idle << " %, others " << others << " %; " << weft::bench::rerun_line(seed, bench.cycle()));
        REQUIRE(!!bench.top->cmd_ready_o == !held);
        REQUIRE(!!bench.top->active_o == held);
        REQUIRE(!!bench.top->done_o == (held && !(fence && bench.top->others_active_i)));
        const bool was_fence = offer != nullptr && *offer == WEFT_OPCODE_FENCE;
        if (bench.top->done_o) held = false, done++;
        if (driver.edge(bench.top->cmd_ready_o)) held = true, fence = was_fence;
        bench.step();
      }
      CHECK(done == 300);
    }
}
