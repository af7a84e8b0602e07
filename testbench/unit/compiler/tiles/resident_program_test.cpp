// Networks whose values stay in VMEM: their bits are those of the step-by-step program, in any order of execution.
#include "host/compiler/tiles/resident_program.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "host/compiler/layout.hpp"
#include "host/compiler/lower.hpp"
#include "testbench/unit/compiler/program_executor.hpp"

using namespace weft;
using namespace weft::compiler;

namespace {

/// Products with bias and relu of random widths; sums of a product with its input in between.
Graph random_network(std::mt19937_64& random, uint64_t rows) {
  const auto draw = [&](uint64_t count) {
    std::vector<float> values(count);
    for (float& v : values) v = static_cast<float>(random() % 512) / 1024.0f - 0.25f;
    return values;
  };
  Graph graph;
  graph.name = "network";
  const auto tensor = [&](uint64_t columns) {
    graph.tensors.push_back({"t" + std::to_string(graph.tensors.size()),
                             {static_cast<int64_t>(rows), static_cast<int64_t>(columns)},
                             rows,
                             columns});
    return graph.tensors.size() - 1;
  };
  size_t x = tensor(1 + random() % 60);
  graph.inputs = {x};
  const uint64_t layers = 1 + random() % 4;
  for (uint64_t i = 0; i < layers; i++) {
    DenseNode dense;
    dense.name = "layer" + std::to_string(i);
    dense.k = graph.tensors[x].columns;
    dense.n = i + 1 < layers && random() % 3 == 0 ? dense.k : 1 + random() % 60;
    dense.weights = draw(dense.k * dense.n);
    if (random() % 2 == 0) dense.bias = draw(dense.n);
    dense.relu = random() % 2 == 0;
    dense.x = x, dense.y = tensor(dense.n);
    const size_t y = dense.y, from = x;
    const bool residual = dense.k == dense.n && i + 1 < layers;
    x = y;
    graph.nodes.emplace_back(std::move(dense));
    if (!residual) continue;
    VectorNode sum{"sum", WEFT_VPU_OP_ADD, y, tensor(graph.tensors[y].columns), from};
    x = sum.y;
    graph.nodes.emplace_back(std::move(sum));
  }
  graph.outputs = {x};
  return graph;
}

std::vector<std::byte> run(const spec::Chip& chip, const Kernel& kernel, const std::vector<std::byte>& input,
                           uint64_t seed) {
  test::ProgramExecutor executor(chip, kernel, {input, std::vector<std::byte>(kernel.arguments[1].size_bytes)}, seed);
  const auto error = executor.run();
  INFO(error << ", seed " << seed);
  REQUIRE(error.empty());
  return executor.argument(1, kernel.arguments[1].size_bytes);
}

}  // namespace

TEST_CASE("a network whose values stay in VMEM has the bits of the program that goes through memory") {
  for (uint64_t seed = 1; seed <= 40; seed++) {
    std::mt19937_64 random(seed);
    const auto& chip = *spec::find_chip(seed % 2 == 0 ? "nano" : "nano-4mxu");
    const auto graph = random_network(random, 1 + random() % 60);
    REQUIRE(check_graph(graph).ok());
    const auto program = lower(chip, graph);
    REQUIRE(program.ok());
    const auto resident = tiles::compile_resident(chip, program.value());
    if (!resident.ok()) FAIL(resident.error().message << ", seed " << seed);
    const auto stepwise = compile(chip, program.value());
    REQUIRE(stepwise.ok());
    const auto& in = program.value().arguments[0];
    std::vector<uint16_t> values(in.rows * in.columns);
    for (auto& v : values) v = static_cast<uint16_t>(0x3c00 + random() % 0x0400 + (random() % 2 << 15));
    const auto input = pack_rows(std::as_bytes(std::span(values)), in.rows, in.columns, 2);
    const auto expected = run(chip, stepwise.value(), input, seed);
    REQUIRE(!expected.empty());
    for (uint64_t order = 0; order < 3; order++)
      CHECK(run(chip, resident.value(), input, seed * 100 + order) == expected);
  }
}

TEST_CASE("a network whose values do not fit VMEM has them go through memory, with the same bits") {
  const auto& chip = *spec::find_chip("nano");
  uint64_t spilled_networks = 0;
  for (uint64_t seed = 1; seed <= 4; seed++) {
    std::mt19937_64 random(seed);
    const auto graph = random_network(random, 1200 + random() % 200);
    const auto program = lower(chip, graph);
    REQUIRE(program.ok());
    const auto stepwise = compile(chip, program.value());
    REQUIRE(stepwise.ok());
    const auto spilled = tiles::compile_spilled(chip, program.value());
    if (program.value().scratch_bytes < chip.vmem_bytes && !spilled.ok()) continue;  // nothing to spill
    if (!spilled.ok()) FAIL(spilled.error().message << ", seed " << seed);
    spilled_networks += spilled.value().scratch_bytes != 0;
    const auto& in = program.value().arguments[0];
    std::vector<uint16_t> values(in.rows * in.columns);
    for (auto& v : values) v = static_cast<uint16_t>(0x3c00 + random() % 0x0400 + (random() % 2 << 15));
    const auto input = pack_rows(std::as_bytes(std::span(values)), in.rows, in.columns, 2);
    CHECK(run(chip, spilled.value(), input, seed) == run(chip, stepwise.value(), input, seed));
  }
  CHECK(spilled_networks != 0);
}

TEST_CASE("weights that few rows are multiplied by come in few loads") {
  const auto& chip = *spec::find_chip("v5e-1mxu");
  const auto loads = [&](uint64_t rows) {
    Graph graph;
    graph.name = "layers";
    std::mt19937_64 random(1);
    for (uint64_t i = 0; i < 4; i++)
      graph.tensors.push_back({"t" + std::to_string(i), {static_cast<int64_t>(rows), 512}, rows, 512});
    for (uint64_t i = 0; i < 3; i++) {
      std::vector<float> weights(512 * 512);
      for (float& v : weights) v = static_cast<float>(random() % 512) / 1024.0f;
      graph.nodes.emplace_back(DenseNode{"layer" + std::to_string(i), i, i + 1, 512, 512, weights, {}, false});
    }
    graph.inputs = {0}, graph.outputs = {3};
    const auto program = lower(chip, graph);
    REQUIRE(program.ok());
    const auto kernel = tiles::compile_resident(chip, program.value());
    if (!kernel.ok()) FAIL(kernel.error().message);
    const std::vector<std::byte> input(kernel.value().arguments[0].size_bytes, std::byte{0x3c});
    const auto stepwise = compile(chip, program.value());
    REQUIRE(stepwise.ok());
    CHECK(run(chip, kernel.value(), input, rows) == run(chip, stepwise.value(), input, rows));
    return kernel.value().queues[WEFT_QUEUE_DMA_IN].size();
  };
  CHECK(loads(1) + 6 <= loads(128));  // of the second and third layer one each, not one for each block of columns
}

TEST_CASE("what does not fit VMEM, and more commands than are ordered, are refused before anything is laid out") {
  const auto& chip = *spec::find_chip("nano");
  for (const uint64_t rows : {uint64_t{100'000}, uint64_t{1} << 30}) {
    Program program;
    program.name = "large";
    DenseStep step;
    step.m = rows, step.k = 8, step.n = 8;
    step.y = {rows == 100'000 ? uint8_t{2} : uint8_t{4}, 0, 64};
    program.steps.emplace_back(step);
    const auto kernel = tiles::compile_resident(chip, program);
    REQUIRE(!kernel.ok());
    CHECK(kernel.error().code == (rows == 100'000 ? WEFT_ERROR_NO_DEVICE_MEMORY : WEFT_ERROR_UNSUPPORTED));
  }
}
