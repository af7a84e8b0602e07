// Networks with their values in VMEM, and where they fit: their bits are those of the golden arithmetic, in any order of
// execution.
#include "host/compiler/tiles/resident_program.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "host/compiler/layout.hpp"
#include "host/compiler/lower.hpp"
#include "host/reference/graph_reference.hpp"
#include "model/golden/rows.hpp"
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

/// Elements of the network's output that differ from the golden arithmetic.
int64_t differing(const spec::Chip& chip, const Graph& graph, const Kernel& kernel, uint64_t seed) {
  const Tensor &in = graph.tensors[graph.inputs[0]], &out = graph.tensors[graph.outputs[0]];
  std::mt19937_64 random(seed);
  std::vector<float> values(in.rows * in.columns);
  for (auto& v : values)
    v = std::bit_cast<float>(static_cast<uint32_t>(0x3c00 + random() % 0x0400 + (random() % 2 << 15)) << 16);
  const uint64_t bytes = kernel.arguments[1].size_bytes;
  test::ProgramExecutor executor(
      chip, kernel, {pack_rows_as(values, in.rows, in.columns, WEFT_VPU_DTYPE_BF16), std::vector<std::byte>(bytes)},
      seed);
  const auto error = executor.run();
  INFO(error << ", seed " << seed);
  REQUIRE(error.empty());
  const auto got = unpack_rows(executor.argument(1, bytes), out.rows, out.columns, 4);
  const auto expected = tools::evaluate_golden(graph, {values});
  REQUIRE(got.size() == 4 * expected[0].size());
  REQUIRE(!got.empty());
  int64_t count = 0;
  for (size_t i = 0; i < expected[0].size(); i++) count += std::memcmp(&got[4 * i], &expected[0][i], 4) != 0;
  return count;
}

}  // namespace

TEST_CASE("a network whose values stay in VMEM has the bits of the golden arithmetic") {
  for (uint64_t seed = 1; seed <= 40; seed++) {
    std::mt19937_64 random(seed);
    const auto& chip = *spec::find_chip(seed % 2 == 0 ? "nano" : "nano-4mxu");
    const auto graph = random_network(random, 1 + random() % 60);
    REQUIRE(check_graph(graph).ok());
    const auto program = lower(chip, graph);
    REQUIRE(program.ok());
    const auto resident = tiles::compile_resident(chip, program.value());
    if (!resident.ok()) FAIL(resident.error().message << ", seed " << seed);
    for (uint64_t order = 0; order < 3; order++)
      CHECK(differing(chip, graph, resident.value(), seed * 100 + order) == 0);
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
    const auto spilled = tiles::compile_spilled(chip, program.value());
    if (!spilled.ok()) FAIL(spilled.error().message << ", seed " << seed);
    spilled_networks += spilled.value().scratch_bytes != 0;
    CHECK(differing(chip, graph, spilled.value(), seed) == 0);
  }
  CHECK(spilled_networks != 0);
}

TEST_CASE("products whose weights do not fit VMEM are streamed, beside steps that stay in it, with the same bits") {
  for (uint64_t seed = 1; seed <= 24; seed++) {
    std::mt19937_64 random(seed);
    spec::Chip chip = *spec::find_chip(seed % 2 == 0 ? "nano" : "nano-4mxu");
    chip.vmem_words = 2048, chip.vmem_bytes = chip.vmem_words * chip.word_bytes;  // what a layer of 64 x 64 takes twice
    const auto graph = random_network(random, 20 + random() % 100);
    const auto program = lower(chip, graph);
    REQUIRE(program.ok());
    const auto kernel = tiles::compile_fitting(chip, program.value());
    if (!kernel.ok()) FAIL(kernel.error().message << ", seed " << seed);
    INFO("seed " << seed);
    for (uint64_t order = 0; order < 3; order++) CHECK(differing(chip, graph, kernel.value(), seed * 100 + order) == 0);
  }
}

TEST_CASE("an elementwise step on rows longer than VMEM has room for as chunks goes through it row by row") {
  spec::Chip chip = *spec::find_chip("nano");
  chip.vmem_words = 2048, chip.vmem_bytes = chip.vmem_words * chip.word_bytes;
  const uint64_t rows = 40, columns = 2000, pitch = row_pitch_bytes(columns, 2);  // N rows take 2,000 words
  Program program;
  program.name = "sum";
  for (const char* name : {"a", "b", "y"})
    program.arguments.push_back(
        {name, WEFT_ARGUMENT_DTYPE_BF16, WEFT_ARGUMENT_LAYOUT_ROWS,
         program.arguments.size() < 2 ? WEFT_ARGUMENT_DIRECTION_INPUT : WEFT_ARGUMENT_DIRECTION_OUTPUT, rows, columns,
         pitch, rows * pitch});
  VectorStep step;
  step.name = "sum";
  step.rows = rows, step.cols = columns;
  step.a = {3, 0, pitch}, step.b = {4, 0, pitch}, step.y = {5, 0, pitch};
  program.steps.emplace_back(step);
  const auto kernel = tiles::compile_fitting(chip, program);
  if (!kernel.ok()) FAIL(kernel.error().message);
  std::mt19937_64 random(1);
  std::vector<uint16_t> a(rows * columns), b(rows * columns), sum(rows * columns);
  for (auto* values : {&a, &b})
    for (auto& v : *values) v = static_cast<uint16_t>(0x3c00 + random() % 0x0400);
  golden::elementwise_bf16(WEFT_VPU_OP_ADD, a, b, sum);
  for (uint64_t seed = 1; seed <= 5; seed++) {
    test::ProgramExecutor executor(
        chip, kernel.value(),
        {pack_rows(std::as_bytes(std::span(a)), rows, columns, 2),
         pack_rows(std::as_bytes(std::span(b)), rows, columns, 2), std::vector<std::byte>(rows * pitch)},
        seed);
    CHECK(executor.run() == "");
    const auto y = unpack_rows(executor.argument(2, rows * pitch), rows, columns, 2);
    REQUIRE(y.size() == 2 * sum.size());
    CHECK(std::memcmp(y.data(), sum.data(), y.size()) == 0);
  }
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
    CHECK(differing(chip, graph, kernel.value(), rows) == 0);
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
