// The hazard checker: it finds races, and is silent where queues and semaphores order.
#include "model/core/hazard/hazard_checker.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "host/compiler/lower.hpp"
#include "host/compiler/program.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "model/core/command/command_text.hpp"
#include "testbench/random/hazard_commands.hpp"
#include "testbench/random/program_generator.hpp"

namespace {

using namespace weft;
using namespace weft::random;

/// A run told by hand: starts and retirements in this order.
class Script {
 public:
  Script() : checker(nano()) {}
  Script& start(weft_unit_index unit, const spec::Command& command) {
    checker.command_started(unit, command, cycle_++);
    running_[unit].push_back(command);
    return *this;
  }
  Script& retire(weft_unit_index unit) {
    checker.command_retired(unit, running_[unit].front(), cycle_++);
    running_[unit].erase(running_[unit].begin());
    return *this;
  }
  Script& run(weft_unit_index unit, const spec::Command& command) { return start(unit, command).retire(unit); }
  core::HazardChecker checker;

 private:
  uint64_t cycle_ = 0;
  std::array<std::vector<spec::Command>, WEFT_CORE_UNITS> running_;
};

Queues queues_of(const random::Program& program) {
  Queues queues;
  for (const auto& c : program.commands) queues[c.queue].push_back(c.command);
  return queues;
}

}  // namespace

TEST_CASE(
    "a race is found even where the run happened to keep the commands apart, and the report names both and the range") {
  Script script;
  script.run(WEFT_UNIT_DMA0, fill(7, 4, 8)).run(WEFT_UNIT_VPU, cast(9, 6));
  const auto hazards = script.checker.finish();
  REQUIRE(hazards.size() == 1);
  CHECK(hazards[0].range == core::AccessRange{core::AccessSpace::kVmem, 64, 96});
  CHECK(hazards[0].text.find("VMEM bytes 0x40 to 0x5f") != std::string::npos);
  CHECK(hazards[0].text.find("dma0: FILL tag 7") != std::string::npos);
  CHECK(hazards[0].text.find("vpu: CAST tag 9") != std::string::npos);
  CHECK(script.checker.commands() == 0);
}

TEST_CASE("a semaphore orders, and neighbours that do not overlap need none") {
  Script ordered;
  ordered.run(WEFT_UNIT_DMA0, fill(0, 0, 8, {.post = 3, .post_count = 2}))
      .run(WEFT_UNIT_VPU, cast(1, 6, {.wait = 3, .wait_count = 2}));
  CHECK(ordered.checker.finish().empty());
  Script apart;
  apart.run(WEFT_UNIT_DMA0, fill(0, 6, 8)).run(WEFT_UNIT_VPU, cast(1, 6));
  CHECK(apart.checker.finish().empty());
}

TEST_CASE("a product's ACC rows race with an epilogue that does not wait for it") {
  for (const bool waits : {false, true}) {
    Script script;
    script.run(WEFT_UNIT_MXU, product(0, 16, {.post = 1, .post_count = 1}));
    script.run(WEFT_UNIT_VPU, epilogue(1, 23, waits ? Semaphores{.wait = 1, .wait_count = 1} : Semaphores{}));
    const auto hazards = script.checker.finish();
    REQUIRE(hazards.size() == (waits ? 0 : 1));
    if (!waits) CHECK(hazards[0].range == core::AccessRange{core::AccessSpace::kAcc, 23, 24});
  }
}

TEST_CASE("one token of two posts of different channels orders neither, both tokens order both") {
  for (const uint16_t count : {uint16_t{1}, uint16_t{2}}) {
    Script script;
    script.start(WEFT_UNIT_DMA0, fill(0, 0, 2, {.post = 5, .post_count = 1}))
        .start(WEFT_UNIT_DMA1, fill(1, 2, 2, {.post = 5, .post_count = 1}));
    script.retire(WEFT_UNIT_DMA0)
        .retire(WEFT_UNIT_DMA1)
        .run(WEFT_UNIT_VPU, cast(2, 4, {.wait = 5, .wait_count = count}));
    CHECK(script.checker.finish().size() == (count == 1 ? 2 : 0));
  }
}

TEST_CASE("two loads of one queue that overlap race, for they run on two channels") {
  Script script;
  script.start(WEFT_UNIT_DMA0, fill(0, 0, 2))
      .start(WEFT_UNIT_DMA1, fill(1, 1, 2))
      .retire(WEFT_UNIT_DMA1)
      .retire(WEFT_UNIT_DMA0);
  CHECK(script.checker.finish().size() == 1);
}

TEST_CASE("a token that was there before the first command orders nothing") {
  Script script;
  script.checker.set_semaphore(3, 1);
  script.run(WEFT_UNIT_DMA0, fill(0, 0, 8, {.post = 3, .post_count = 1}))
      .run(WEFT_UNIT_VPU, cast(1, 6, {.wait = 3, .wait_count = 1}));
  CHECK(script.checker.finish().size() == 1);
}

TEST_CASE("a command that runs on after a window's end posts, and meets others, in the next window") {
  for (const bool waits : {false, true}) {
    Script script;
    script.run(WEFT_UNIT_DMA1, fill(0, 5000, 1)).start(WEFT_UNIT_DMA0, fill(1, 0, 8, {.post = 3, .post_count = 1}));
    CHECK(script.checker.finish_window().empty());
    CHECK(script.checker.commands() == 1);
    script.start(WEFT_UNIT_DMA1, fill(2, 6000, 8));
    script.retire(WEFT_UNIT_DMA0)
        .run(WEFT_UNIT_VPU, cast(3, 6, waits ? Semaphores{.wait = 3, .wait_count = 1} : Semaphores{}));
    CHECK(script.checker.finish().size() == (waits ? 0 : 1));
  }
}

TEST_CASE("a fence orders what has started before it, not what started beside it") {
  for (const bool before : {false, true}) {
    // The second fill tells that the first one has started; it does not tell that it is done: the fence does.
    Script script;
    script.start(WEFT_UNIT_DMA0, fill(0, 0, 8))
        .start(WEFT_UNIT_DMA1, fill(1, 5000, 1, before ? Semaphores{.post = 2, .post_count = 1} : Semaphores{}));
    script.retire(WEFT_UNIT_DMA1);
    script.start(WEFT_UNIT_SYNC,
                 sync(WEFT_OPCODE_FENCE, 2, before ? Semaphores{2, 1, 4, 1} : Semaphores{.post = 4, .post_count = 1}));
    script.retire(WEFT_UNIT_DMA0).retire(WEFT_UNIT_SYNC).run(WEFT_UNIT_VPU, cast(3, 6, {.wait = 4, .wait_count = 1}));
    CHECK(script.checker.finish().size() == (before ? 0 : 1));
  }
}

TEST_CASE("two buffers in turn are ordered by their credits, and race with one credit too many") {
  for (const unsigned credits : {0u, 1u}) {
    std::array<std::vector<spec::Command>, WEFT_CORE_QUEUES> queues;
    for (uint16_t i = 0; i < 6; i++) {
      auto load = fill(i, 0, 6, {.post = 0, .post_count = 1});
      if (i >= 1 + credits) spec::store_le(load, 4, 1, 1), spec::store_le(load, 8, 2, 1);
      queues[WEFT_QUEUE_DMA_IN].push_back(load);
      queues[WEFT_QUEUE_VPU].push_back(cast(static_cast<uint16_t>(10 + i), 6, {0, 1, 1, 1}));
    }
    core::HazardChecker checker(nano());
    REQUIRE(run_in_some_order(checker, queues, 5).empty());
    CHECK(checker.finish().empty() == (credits == 0));
  }
}

TEST_CASE("the checker is silent on compiled products of several shapes and types") {
  struct Shape {
    uint64_t m, k, n;
  };
  for (const auto& [m, k, n] : {Shape{1, 1, 1}, Shape{8, 8, 8}, Shape{9, 17, 25}, Shape{64, 64, 64}, Shape{130, 40, 20},
                                Shape{20, 600, 70}, Shape{60, 2000, 90}}) {
    for (const auto dtype : {WEFT_MXU_DTYPE_BF16, WEFT_MXU_DTYPE_INT8}) {
      const auto program = compiler::gemm_program(nano(), dtype, m, k, n);
      REQUIRE(program.ok());
      for (const auto& kernel : {compiler::tiles::compile_fitting(nano(), program.value()),
                                 compiler::tiles::compile_spilled(nano(), program.value())}) {
        REQUIRE(kernel.ok());
        INFO(m << " x " << k << " x " << n);
        core::HazardChecker checker(nano());
        checker.set_segments(all_segments());
        REQUIRE(run_in_some_order(checker, kernel.value().queues, m).empty());
        const auto hazards = checker.finish();
        if (!hazards.empty()) FAIL_CHECK(hazards.front().text);
      }
    }
  }
}

/// Three layers with bias and relu, of widths that are no multiples of N.
compiler::Graph network(uint64_t rows) {
  compiler::Graph graph;
  graph.name = "network";
  const std::vector<uint64_t> widths{20, 33, 9, 40};
  for (const uint64_t width : widths)
    graph.tensors.push_back(
        {fmt::format("t{}", width), {static_cast<int64_t>(rows), static_cast<int64_t>(width)}, rows, width});
  for (size_t i = 0; i + 1 < widths.size(); i++) {
    compiler::DenseNode dense{
        .name = "layer", .x = i, .y = i + 1, .k = widths[i], .n = widths[i + 1], .weights = {}, .bias = {}};
    dense.weights.resize(dense.k * dense.n);
    dense.bias.emplace(dense.n);
    dense.relu = true;
    graph.nodes.emplace_back(std::move(dense));
  }
  graph.inputs = {0}, graph.outputs = {widths.size() - 1};
  return graph;
}

TEST_CASE("the checker is silent on networks whose values stay in VMEM, and not without one of their waits") {
  for (const uint64_t rows : {1u, 8u, 40u}) {
    const auto program = compiler::lower(nano(), network(rows));
    if (!program.ok()) FAIL(program.error().message);
    const auto kernel = compiler::tiles::compile_resident(nano(), program.value());
    REQUIRE(kernel.ok());
    for (const uint64_t order : {1u, 2u, 3u}) {
      core::HazardChecker checker(nano());
      checker.set_segments(all_segments());
      REQUIRE(run_in_some_order(checker, kernel.value().queues, order).empty());
      const auto hazards = checker.finish();
      if (!hazards.empty()) FAIL_CHECK(hazards.front().text);
    }
    auto queues = kernel.value().queues;
    for (auto& command : queues[WEFT_QUEUE_VPU])
      if (spec::decode_header(command).wait_sem0 != 0xff) {
        spec::store_le(command, 4, 1, 0xff), spec::store_le(command, 8, 2, 0);
        break;
      }
    core::HazardChecker checker(nano());
    checker.set_segments(all_segments());
    REQUIRE(run_in_some_order(checker, queues, 1).empty());
    CHECK_FALSE(checker.finish().empty());
  }
}

/// Two products of i8, f32 between them that becomes i8 with a scale, and sums of i32 behind.
compiler::Graph integer_network(uint64_t rows) {
  compiler::Graph graph;
  graph.name = "integers";
  const auto tensor = [&](const char* name, uint64_t columns, weft_vpu_dtype dtype) {
    graph.tensors.push_back(
        {name, {static_cast<int64_t>(rows), static_cast<int64_t>(columns)}, rows, columns, dtype, false});
    return graph.tensors.size() - 1;
  };
  const size_t x = tensor("x", 20, WEFT_VPU_DTYPE_F32), bytes = tensor("bytes", 20, WEFT_VPU_DTYPE_I8),
               sums = tensor("sums", 33, WEFT_VPU_DTYPE_I32), wide = tensor("wide", 33, WEFT_VPU_DTYPE_F32),
               moved = tensor("moved", 33, WEFT_VPU_DTYPE_F32), again = tensor("again", 33, WEFT_VPU_DTYPE_I8),
               y = tensor("y", 9, WEFT_VPU_DTYPE_I32);
  const auto dense = [&](size_t from, size_t to, uint64_t k, uint64_t n) {
    compiler::DenseNode node{.name = "product", .x = from, .y = to, .k = k, .n = n, .weights = {}, .bias = {}};
    node.weights.resize(k * n);
    node.integer_bias.resize(n);
    graph.nodes.emplace_back(std::move(node));
  };
  graph.nodes.emplace_back(compiler::CopyNode{.name = "quantise", .a = x, .y = bytes, .bytes = {.scale = 2}});
  dense(bytes, sums, 20, 33);
  graph.nodes.emplace_back(compiler::CopyNode{.name = "convert", .a = sums, .y = wide});
  graph.nodes.emplace_back(
      compiler::VectorNode{.name = "move", .op = WEFT_VPU_OP_ADD, .a = wide, .y = moved, .b = 3.0f});
  graph.nodes.emplace_back(compiler::CopyNode{.name = "quantise", .a = moved, .y = again});
  dense(again, y, 33, 9);
  graph.inputs = {x}, graph.outputs = {y};
  return graph;
}

TEST_CASE("the checker is silent on products of i8 and what makes it of their sums") {
  for (const uint64_t rows : {1u, 8u, 40u}) {
    const auto program = compiler::lower(nano(), integer_network(rows));
    if (!program.ok()) FAIL(program.error().message);
    const auto kernel = compiler::tiles::compile_resident(nano(), program.value());
    if (!kernel.ok()) FAIL(kernel.error().message);
    for (const uint64_t order : {1u, 2u, 3u}) {
      core::HazardChecker checker(nano());
      checker.set_segments(all_segments());
      REQUIRE(run_in_some_order(checker, kernel.value().queues, order).empty());
      const auto hazards = checker.finish();
      if (!hazards.empty()) FAIL_CHECK(hazards.front().text);
    }
  }
}

/// Rows of a table by indices that the vector unit clamps, and a product of them.
compiler::Graph rows_network(uint64_t rows) {
  compiler::Graph graph;
  graph.name = "rows";
  const auto tensor = [&](const char* name, uint64_t count, uint64_t columns, weft_vpu_dtype dtype) {
    graph.tensors.push_back(
        {name, {static_cast<int64_t>(count), static_cast<int64_t>(columns)}, count, columns, dtype, false});
    return graph.tensors.size() - 1;
  };
  const size_t indices = tensor("indices", 1, rows, WEFT_VPU_DTYPE_I32),
               table = tensor("table", 50, 20, WEFT_VPU_DTYPE_F32), low = tensor("low", 1, rows, WEFT_VPU_DTYPE_I32),
               clamped = tensor("clamped", 1, rows, WEFT_VPU_DTYPE_I32),
               taken = tensor("taken", rows, 20, WEFT_VPU_DTYPE_F32),
               narrow = tensor("narrow", rows, 20, WEFT_VPU_DTYPE_BF16), y = tensor("y", rows, 33, WEFT_VPU_DTYPE_F32);
  graph.nodes.emplace_back(
      compiler::VectorNode{.name = "low", .op = WEFT_VPU_OP_MAX, .a = indices, .y = low, .b = int32_t{0}});
  graph.nodes.emplace_back(
      compiler::VectorNode{.name = "high", .op = WEFT_VPU_OP_MIN, .a = low, .y = clamped, .b = int32_t{49}});
  graph.nodes.emplace_back(compiler::RowsNode{.name = "rows", .table = table, .indices = clamped, .y = taken});
  graph.nodes.emplace_back(compiler::CopyNode{.name = "round", .a = taken, .y = narrow});
  compiler::DenseNode node{.name = "product", .x = narrow, .y = y, .k = 20, .n = 33, .weights = {}, .bias = {}};
  node.weights.resize(20 * 33);
  graph.nodes.emplace_back(std::move(node));
  graph.inputs = {indices, table}, graph.outputs = {y};
  return graph;
}

TEST_CASE("the checker is silent on rows that are gathered and not without what a GATHER waits for") {
  for (const uint64_t rows : {1u, 8u, 40u, 100u}) {
    const auto program = compiler::lower(nano(), rows_network(rows));
    if (!program.ok()) FAIL(program.error().message);
    const auto kernel = compiler::tiles::compile_resident(nano(), program.value());
    if (!kernel.ok()) FAIL(kernel.error().message);
    for (const uint64_t order : {1u, 2u, 3u}) {
      core::HazardChecker checker(nano());
      checker.set_segments(all_segments());
      REQUIRE(run_in_some_order(checker, kernel.value().queues, order).empty());
      const auto hazards = checker.finish();
      if (!hazards.empty()) FAIL_CHECK(hazards.front().text);
    }
    auto queues = kernel.value().queues;
    unsigned waits = 0;
    for (auto& command : queues[WEFT_QUEUE_DMA_IN])
      for (const unsigned slot : {0u, 1u})
        if (spec::decode_header(command).opcode == WEFT_OPCODE_GATHER && command.bytes[4 + slot] != 0xff) {
          spec::store_le(command, 4 + slot, 1, 0xff), spec::store_le(command, 8 + 2 * slot, 2, 0);
          waits++;
        }
    CHECK(waits >= 1);
    core::HazardChecker checker(nano());
    checker.set_segments(all_segments());
    REQUIRE(run_in_some_order(checker, queues, 1).empty());
    CHECK_FALSE(checker.finish().empty());
  }
}

TEST_CASE("each wait that is taken out of a compiled product is a hazard") {
  const auto kernel =
      compiler::tiles::compile_spilled(nano(), compiler::gemm_program(nano(), WEFT_MXU_DTYPE_BF16, 40, 30, 40).value());
  REQUIRE(kernel.ok());
  for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) {
    for (size_t i = 0; i < kernel.value().queues[q].size(); i++) {
      for (const unsigned slot : {0u, 1u}) {
        auto queues = kernel.value().queues;
        spec::Command& command = queues[q][i];
        if (command.bytes[4 + slot] == 0xff) continue;
        INFO(q << " " << i << " " << slot << " " << core::command_text(command));
        spec::store_le(command, 4 + slot, 1, 0xff), spec::store_le(command, 8 + 2 * slot, 2, 0);
        core::HazardChecker checker(nano());
        REQUIRE(run_in_some_order(checker, queues, 1).empty());
        CHECK_FALSE(checker.finish().empty());
      }
    }
  }
}

TEST_CASE(
    "random programs are legal, end with all semaphores at 0 in any order, and have no hazard, and without one wait "
    "most "
    "have") {
  unsigned broken = 0, found = 0;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    INFO("seed " << seed);
    const auto plan = random::generate_plan(nano(), seed, random::Legality::kLegal);
    const auto program = random::make_program(plan);
    REQUIRE(program);
    CHECK(random::make_program(plan)->commands == program->commands);
    auto queues = queues_of(*program);
    for (const uint64_t order : {1u, 2u, 3u}) {
      core::HazardChecker checker(nano());
      checker.set_segments(program->segments);
      REQUIRE(run_in_some_order(checker, queues, order).empty());
      REQUIRE(checker.finish().empty());
    }
    // The first wait that the VPU has: taken out, with the posts left as they are.
    for (auto& command : queues[WEFT_QUEUE_VPU]) {
      if (spec::decode_header(command).wait_sem0 == 0xff) continue;
      spec::store_le(command, 4, 1, 0xff), spec::store_le(command, 8, 2, 0);
      core::HazardChecker checker(nano());
      checker.set_segments(program->segments);
      broken++;
      if (run_in_some_order(checker, queues, 1).empty()) found += !checker.finish().empty();
      break;
    }
  }
  CHECK(broken > 40);
  CHECK(found > broken / 2);
}
