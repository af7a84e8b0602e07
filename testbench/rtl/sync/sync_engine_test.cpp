// sync_engine.sv: when SIGNAL, WAIT and FENCE are done.
#include <Vsync_engine_bench.h>

#include <catch2/catch.hpp>

#include "weft/spec/spec.h"

namespace {

class Bench {
 public:
  Bench() {
    top.rst_ni = 0;
    step();
    top.rst_ni = 1;
    settle();
  }
  void settle() {
    top.clk_i = 0;
    top.eval();
  }
  void step() {
    settle();
    top.clk_i = 1;
    top.eval();
    settle();
  }
  void take(weft_opcode opcode) {
    top.opcode_i = static_cast<uint8_t>(opcode);
    top.cmd_valid_i = 1;
    settle();
    REQUIRE(top.cmd_ready_o == 1);
    step();
    top.cmd_valid_i = 0;
    settle();
  }
  Vsync_engine_bench top;
};

}  // namespace

TEST_CASE("SIGNAL and WAIT are done in the cycle after they were taken, whatever else is active") {
  for (const auto opcode : {WEFT_OPCODE_SIGNAL, WEFT_OPCODE_WAIT}) {
    Bench bench;
    bench.top.others_active_i = 1;
    bench.take(opcode);
    CHECK(bench.top.active_o == 1);
    CHECK(bench.top.done_o == 1);
    bench.step();
    CHECK(bench.top.active_o == 0);
    CHECK(bench.top.done_o == 0);
  }
}

TEST_CASE("FENCE holds until no other unit is active") {
  Bench bench;
  bench.top.others_active_i = 1;
  bench.take(WEFT_OPCODE_FENCE);
  for (unsigned i = 0; i < 10; i++) {
    CHECK(bench.top.done_o == 0);
    CHECK(bench.top.cmd_ready_o == 0);
    bench.step();
  }
  bench.top.others_active_i = 0;
  bench.settle();
  CHECK(bench.top.done_o == 1);
  bench.step();
  CHECK(bench.top.done_o == 0);
  CHECK(bench.top.cmd_ready_o == 1);
}
