// command_queue.sv: order, level, and what happens when it is full.
#include <Vcommand_queue_model.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <deque>
#include <random>

#include "testbench/rtl/bench/verilated_bench.hpp"
#include "weft/spec/commands.hpp"

namespace {

class Bench : public weft::bench::VerilatedBench<Vcommand_queue_model> {
 public:
  Bench() {
    top->push_i = top->pop_i = top->mark_i = 0;
    reset();
  }
};

weft::spec::Command random_command(std::mt19937& random) {
  weft::spec::Command command;
  for (auto& byte : command.bytes) byte = static_cast<uint8_t>(random());
  return command;
}

}  // namespace

TEST_CASE("commands leave in the order in which they came, at every level and pointer") {
  const uint64_t seed = weft::bench::stimulus_seed(1);
  std::mt19937 random(static_cast<unsigned>(seed));
  Bench bench;
  std::deque<weft::spec::Command> model;
  std::deque<unsigned> marks;
  bool was_full = false;
  for (unsigned i = 0; i < 20000; i++) {
    const unsigned phase = i / 500 % 2;  // fills, then drains
    const bool push = random() % 4 < (phase ? 1u : 3u);
    const bool pop = !model.empty() && random() % 4 < (phase ? 3u : 1u);
    const auto command = random_command(random);
    bench.top->push_i = push;
    bench.top->pop_i = pop;
    bench.top->mark_i = static_cast<uint8_t>(random() % 4);
    std::memcpy(bench.top->cmd_i.data(), command.bytes.data(), command.bytes.size());
    bench.settle();
    INFO(weft::bench::rerun_line(seed, bench.cycle()));
    REQUIRE(bench.top->full_o == (model.size() == WEFT_CORE_QUEUE_DEPTH));
    REQUIRE(bench.top->level_o == model.size());
    REQUIRE(bench.top->head_valid_o == !model.empty());
    if (!model.empty()) {
      REQUIRE(std::memcmp(bench.top->head_o.data(), model.front().bytes.data(), 64) == 0);
      REQUIRE(bench.top->head_tag_o == weft::spec::decode_header(model.front()).tag);
      REQUIRE(bench.top->head_mark_o == marks.front());
    }
    was_full |= bench.top->full_o != 0;
    const bool accepted = push && model.size() < WEFT_CORE_QUEUE_DEPTH;
    if (pop) model.pop_front(), marks.pop_front();
    if (accepted) model.push_back(command), marks.push_back(bench.top->mark_i);
    bench.step();
  }
  CHECK(was_full);
}

TEST_CASE("reset empties the queue") {
  Bench bench;
  bench.top->push_i = 1;
  for (unsigned i = 0; i < 5; i++) bench.step();
  bench.settle();
  CHECK(bench.top->level_o == 5);
  bench.top->push_i = 0;
  bench.reset();
  CHECK(bench.top->level_o == 0);
  CHECK(bench.top->head_valid_o == 0);
}

TEST_CASE("a push into a full queue is ignored, also beside a pop") {
  Bench bench;
  bench.top->push_i = 1;
  for (uint8_t i = 0; i < WEFT_CORE_QUEUE_DEPTH; i++) {
    bench.top->cmd_i[0] = i;
    bench.step();
  }
  bench.settle();
  CHECK(bench.top->full_o);
  bench.top->cmd_i[0] = 99;
  bench.step();
  bench.top->pop_i = 1;
  bench.step();
  bench.top->push_i = 0;
  for (uint8_t i = 1; i < WEFT_CORE_QUEUE_DEPTH; i++) {
    bench.settle();
    CHECK(bench.top->head_o[0] == i);
    bench.step();
  }
  bench.top->pop_i = 0;
  bench.settle();
  CHECK_FALSE(bench.top->head_valid_o);
}
