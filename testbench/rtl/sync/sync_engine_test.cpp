// sync_engine.sv: when SIGNAL, WAIT, FENCE and BARRIER are done, and when a BARRIER is refused or fails.
#include <Vsync_engine_bench.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <random>

#include "testbench/rtl/bench/stream.hpp"
#include "testbench/rtl/bench/verilated_bench.hpp"
#include "weft/spec/commands.hpp"

namespace {

class Bench : public weft::bench::VerilatedBench<Vsync_engine_bench> {
 public:
  Bench() {
    top->cmd_valid_i = top->others_active_i = top->barrier_end_i = top->barrier_fault_i = 0;
    reset();
  }
  void step() {
    VerilatedBench::step();
    settle();
  }
  void offer(const weft::spec::Command& command) {
    std::memcpy(top->cmd_i.data(), command.bytes.data(), command.bytes.size());
  }
  void offer(weft_opcode opcode) {
    weft::spec::NoneCommand c;
    c.header.opcode = static_cast<uint8_t>(opcode);
    offer(weft::spec::encode(c));
  }
  template <class Command>
  void take(const Command& command) {
    offer(command);
    top->cmd_valid_i = 1;
    settle();
    REQUIRE(top->cmd_ready_o == 1);
    step();
    top->cmd_valid_i = 0;
    settle();
  }
};

constexpr uint16_t kTag = 0x8421;

/// A legal BARRIER of a box of 2 x 1 x 3 chips.
weft::spec::BarrierCommand barrier() {
  weft::spec::BarrierCommand c;
  c.header.opcode = WEFT_OPCODE_BARRIER;
  c.header.tag = kTag;
  c.base = 5;
  c.count0 = 2, c.count1 = 1, c.count2 = 3;
  c.stride0 = 1, c.stride1 = 0, c.stride2 = 8;
  c.signature = 0xdeadbeef;
  return c;
}

/// Bad fields with the lowest first: the offset that the fault names; 0: legal. As docs/command_checks.md says.
uint64_t wrong_field(const weft::spec::BarrierCommand& c) {
  const uint16_t counts[] = {c.count0, c.count1, c.count2}, strides[] = {c.stride0, c.stride1, c.stride2};
  for (unsigned i = 0; i < 3; i++)
    if (counts[i] == 0) return 18 + 2 * i;
  for (unsigned i = 0; i < 3; i++)
    if ((counts[i] == 1) != (strides[i] == 0)) return 24 + 2 * i;
  return 0;
}

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
        if (offer != nullptr) bench.offer(*offer);
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

TEST_CASE("BARRIER begins when it is taken and holds until it is ended, whatever else is active") {
  for (const unsigned wait : {0u, 1u, 7u}) {
    Bench bench;
    bench.top->others_active_i = 1;
    bench.offer(encode(barrier()));
    bench.settle();
    CHECK(bench.top->barrier_begin_o == 0);
    bench.top->cmd_valid_i = 1;
    bench.settle();
    CHECK(bench.top->barrier_begin_o == 1);
    bench.step();
    bench.settle();
    CHECK(bench.top->barrier_begin_o == 0);  // one at a time
    bench.top->cmd_valid_i = 0;
    for (unsigned i = 0; i < wait; i++) {
      CHECK((bench.top->active_o == 1 && bench.top->done_o == 0 && bench.top->cmd_ready_o == 0));
      bench.step();
    }
    bench.top->barrier_end_i = 1;
    bench.settle();
    CHECK((bench.top->done_o == 1 && bench.top->fault_valid_o == 0));
    bench.step();
    bench.top->barrier_end_i = 0;
    bench.settle();
    CHECK((bench.top->active_o == 0 && bench.top->done_o == 0 && bench.top->cmd_ready_o == 1));
  }
}

TEST_CASE("only a BARRIER is handed to the interconnect, and its end means nothing to other commands") {
  for (const auto opcode : {WEFT_OPCODE_SIGNAL, WEFT_OPCODE_WAIT, WEFT_OPCODE_FENCE}) {
    Bench bench;
    bench.top->others_active_i = opcode == WEFT_OPCODE_FENCE;
    bench.offer(opcode);
    bench.top->cmd_valid_i = 1;
    bench.settle();
    CHECK(bench.top->barrier_begin_o == 0);
    bench.step();
    bench.top->cmd_valid_i = 0;
    bench.top->barrier_end_i = bench.top->barrier_fault_i = 1;
    bench.settle();
    CHECK(bench.top->fault_valid_o == 0);
    CHECK(!!bench.top->done_o == (opcode != WEFT_OPCODE_FENCE));
  }
}

TEST_CASE("a BARRIER that fails is fault ICI with the address it is told, and nothing is taken or done after it") {
  Bench bench;
  bench.take(encode(barrier()));
  bench.step();
  bench.top->barrier_end_i = bench.top->barrier_fault_i = 1;
  bench.top->barrier_address_i = 0x0700'0005'0000'0000;
  bench.settle();
  CHECK(bench.top->fault_valid_o == 1);
  CHECK(bench.top->fault_code_o == WEFT_FAULT_ICI);
  CHECK(bench.top->fault_tag_o == kTag);
  CHECK(bench.top->fault_address_o == 0x0700'0005'0000'0000);
  CHECK(bench.top->done_o == 0);
  bench.step();
  bench.top->barrier_fault_i = 0;
  for (unsigned i = 0; i < 3; i++) {
    bench.settle();
    CHECK((bench.top->fault_valid_o == 0 && bench.top->done_o == 0 && bench.top->cmd_ready_o == 0));
    bench.step();
  }
  bench.top->barrier_end_i = 0;
  bench.reset();
  bench.take(WEFT_OPCODE_SIGNAL);
  CHECK(bench.top->done_o == 1);
}

TEST_CASE("a BARRIER with a wrong field is a fault in the next cycle, names the lowest one, and never begins") {
  const uint64_t seed = weft::bench::stimulus_seed(3);
  std::mt19937_64 random(seed);
  const auto draw = [&] {
    constexpr uint16_t kEdges[] = {0, 1, 2, 0x100, 0x8000, 0xffff};
    return random() % 4 == 0 ? static_cast<uint16_t>(random()) : kEdges[random() % 6];
  };
  unsigned refused = 0;
  for (unsigned i = 0; i < 2000; i++) {
    auto c = barrier();
    for (uint16_t* field : {&c.count0, &c.count1, &c.count2, &c.stride0, &c.stride1, &c.stride2})
      if (random() % 4 == 0) *field = draw();
    const uint64_t wrong = wrong_field(c);
    Bench bench;
    bench.offer(encode(c));
    bench.top->cmd_valid_i = 1;
    bench.settle();
    INFO(weft::bench::rerun_line(seed, i) << ", counts " << c.count0 << " " << c.count1 << " " << c.count2
                                          << ", strides " << c.stride0 << " " << c.stride1 << " " << c.stride2);
    REQUIRE(!!bench.top->barrier_begin_o == (wrong == 0));
    bench.step();
    bench.top->cmd_valid_i = 0;
    bench.top->barrier_end_i = 1;  // nothing waits for it
    bench.settle();
    REQUIRE(!!bench.top->done_o == (wrong == 0));
    REQUIRE(!!bench.top->fault_valid_o == (wrong != 0));
    if (wrong == 0) continue;
    REQUIRE(bench.top->fault_code_o == WEFT_FAULT_ILLEGAL_FIELD);
    REQUIRE(bench.top->fault_address_o == wrong);
    REQUIRE(bench.top->fault_tag_o == kTag);
    bench.step();
    bench.settle();
    REQUIRE((bench.top->fault_valid_o == 0 && bench.top->done_o == 0 && bench.top->cmd_ready_o == 0));
    refused++;
  }
  CHECK(refused > 500);
}
