// fifo.sv at depths 1 to 8: nothing is lost, doubled or reordered, at every idle and back-pressure level.
#include <catch2/catch.hpp>
#include <cstdint>
#include <deque>

#include "Vfifo_depth_1.h"
#include "Vfifo_depth_2.h"
#include "Vfifo_depth_3.h"
#include "Vfifo_depth_4.h"
#include "Vfifo_depth_5.h"
#include "Vfifo_depth_8.h"
#include "testbench/rtl/bench/stream.hpp"
#include "testbench/rtl/bench/verilated_bench.hpp"

namespace {

using namespace weft::bench;

/// Streams numbers through a FIFO and holds level and flags against a queue in every cycle.
template <class Top>
void run_stream(unsigned depth, unsigned idle_percent, unsigned refuse_percent, uint64_t seed) {
  std::mt19937_64 random(seed + depth);
  StreamDriver<uint32_t> driver(random, idle_percent);
  StreamSink<uint32_t> sink(random, refuse_percent);
  VerilatedBench<Top> bench;
  bench.top->push_valid_i = bench.top->pop_ready_i = 0;
  bench.reset();
  std::deque<uint32_t> model;
  std::vector<uint32_t> sent;
  for (unsigned i = 0; i < 600; i++) {
    sent.push_back(static_cast<uint32_t>(random()));
    driver.push(sent.back());
  }
  bool was_full = false, was_empty = false;
  while (sink.taken().size() < sent.size() && bench.cycle() < 20000) {
    const uint32_t* offer = driver.offer();
    bench.top->push_valid_i = offer != nullptr;
    bench.top->push_i = offer != nullptr ? *offer : static_cast<uint32_t>(random());
    bench.top->pop_ready_i = sink.ready();
    bench.settle();
    INFO("cycle " << bench.cycle() << " level " << model.size() << "; " << rerun_line(seed, bench.cycle()));
    REQUIRE(bench.top->level_o == model.size());
    REQUIRE(!!bench.top->push_ready_o == (model.size() < depth));
    REQUIRE(!!bench.top->pop_valid_o == !model.empty());
    if (!model.empty()) REQUIRE(bench.top->pop_o == model.front());
    was_full |= model.size() == depth;
    was_empty |= model.empty();
    const bool popped = sink.edge(bench.top->pop_valid_o, bench.top->pop_o);
    const uint32_t payload = bench.top->push_i;
    if (driver.edge(bench.top->push_ready_o)) model.push_back(payload);
    if (popped) model.pop_front();
    bench.step();
  }
  REQUIRE(sink.taken() == sent);
  CHECK(was_empty);
  if (idle_percent <= refuse_percent && refuse_percent != 0) CHECK(was_full);
  // A FIFO of two places or more passes an entry in every cycle.
  if (idle_percent == 0 && refuse_percent == 0 && depth > 1) CHECK(bench.cycle() <= sent.size() + 3);
}

template <class Top>
void run_levels(unsigned depth) {
  const uint64_t seed = stimulus_seed(1);
  for (const unsigned idle : kStreamLevels)
    for (const unsigned refuse : kStreamLevels) {
      INFO("depth " << depth << ", idles " << idle << " %, back-pressure " << refuse << " %");
      run_stream<Top>(depth, idle, refuse, seed);
    }
}

}  // namespace

TEST_CASE("one place: a stream passes unchanged") { run_levels<Vfifo_depth_1>(1); }
TEST_CASE("two places: a stream passes unchanged") { run_levels<Vfifo_depth_2>(2); }
TEST_CASE("three places: a stream passes unchanged") { run_levels<Vfifo_depth_3>(3); }
TEST_CASE("four places: a stream passes unchanged") { run_levels<Vfifo_depth_4>(4); }
TEST_CASE("five places: a stream passes unchanged") { run_levels<Vfifo_depth_5>(5); }
TEST_CASE("eight places: a stream passes unchanged") { run_levels<Vfifo_depth_8>(8); }

TEST_CASE("a full FIFO takes no push, also beside a pop") {
  VerilatedBench<Vfifo_depth_3> bench;
  bench.top->push_valid_i = bench.top->pop_ready_i = 0;
  bench.reset();
  bench.top->push_valid_i = 1;
  for (uint32_t i = 0; i < 3; i++) {
    bench.top->push_i = i;
    bench.step();
  }
  bench.top->push_i = 99;
  bench.top->pop_ready_i = 1;
  bench.settle();
  CHECK_FALSE(bench.top->push_ready_o);
  bench.step();
  bench.top->push_valid_i = 0;
  for (uint32_t i = 1; i < 3; i++) {
    bench.settle();
    CHECK(bench.top->pop_o == i);
    bench.step();
  }
  bench.settle();
  CHECK_FALSE(bench.top->pop_valid_o);
}

TEST_CASE("what no reset sets starts from the seed of the initial values") {
  VerilatedBench<Vfifo_depth_8> bench;
  bench.top->push_valid_i = bench.top->pop_ready_i = 0;
  bench.reset();
  CHECK((bench.top->pop_o == 0) == (environment_number("WEFT_INITIAL_SEED", 0) == 0));
}

TEST_CASE("reset empties a FIFO at every level") {
  for (unsigned level = 0; level <= 5; level++) {
    VerilatedBench<Vfifo_depth_5> bench;
    bench.top->push_valid_i = bench.top->pop_ready_i = 0;
    bench.reset();
    bench.top->push_valid_i = 1;
    for (unsigned i = 0; i < level; i++) bench.step();
    bench.top->push_valid_i = 0;
    bench.settle();
    CHECK(bench.top->level_o == level);
    bench.reset();
    CHECK(bench.top->level_o == 0);
    CHECK_FALSE(bench.top->pop_valid_o);
    CHECK(bench.top->push_ready_o);
  }
}
