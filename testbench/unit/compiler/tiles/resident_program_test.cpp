// Networks with their values in VMEM, and where they fit: their bits are those of the golden arithmetic, in any order of
// execution.
#include "host/compiler/tiles/resident_program.hpp"

#include <array>
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

TEST_CASE("what does not fit VMEM and more commands than are ordered are refused with the step that is to blame") {
  const auto& chip = *spec::find_chip("nano");
  Program program;
  program.name = "large";
  const auto dense = [](const char* name, uint64_t rows, TensorPlace y) {
    DenseStep step;
    step.name = name, step.m = rows, step.k = 8, step.n = 8, step.y = y;
    return step;
  };
  const auto refused = [&](weft_error code, const std::string& why) {
    const auto kernel = tiles::compile_resident(chip, program);
    REQUIRE(!kernel.ok());
    CHECK(kernel.error().code == code);
    CHECK(kernel.error().message == why);
  };
  program.steps = {dense("first", 8, {2, 0, 64}), dense("second", 100'000, {2, 512, 64})};
  refused(WEFT_ERROR_NO_DEVICE_MEMORY,
          "large: the result of step 2 of 2, a product by constants ('second') is larger than VMEM, which is 262144 "
          "bytes");
  program.steps = {dense("first", 8, {2, 0, 64}), dense("second", uint64_t{1} << 30, {4, 0, 64})};
  refused(WEFT_ERROR_UNSUPPORTED,
          "large: 134217729 commands or more, and at most 100000 are ordered; 134217728 of them are of step 2 of 2, a "
          "product by constants ('second')");
  program.steps = {dense("first", 8, {4, 0, uint64_t{1} << 31}), dense("second", 8, {5, 0, 64})};
  refused(WEFT_ERROR_UNSUPPORTED,
          "large: step 1 of 2, a product by constants ('first') has a row of 2147483648 bytes, and a command's stride "
          "is 2147483647 at most");
}

TEST_CASE("more commands than were thought of and values that do not fit together are refused with their step") {
  const auto& chip = *spec::find_chip("nano");
  // Each element is moved alone, from a place that has nothing to do with its neighbours'.
  constexpr uint64_t kRows = 400, kColumns = 300;
  auto from = std::make_shared<std::vector<uint32_t>>(kRows * kColumns);
  std::iota(from->begin(), from->end(), 0u);
  std::ranges::shuffle(*from, std::mt19937(1));
  const auto turned = std::make_shared<const std::vector<uint32_t>>(std::vector<uint32_t>{7, 6, 5, 4, 3, 2, 1, 0});
  Program program;
  program.name = "large";
  program.steps = {RearrangeStep{"turn", 1, 8, {{{3, 0, 1200}, 1, 8}}, turned, {5, 0, 32}},
                   RearrangeStep{"shuffle", kRows, kColumns, {{{3, 0, 1200}, kRows, kColumns}}, from, {4, 0, 1200}}};
  auto kernel = tiles::compile_resident(chip, program);
  REQUIRE(!kernel.ok());
  CHECK(kernel.error().code == WEFT_ERROR_UNSUPPORTED);
  const std::string wanted = "of them are of step 2 of 2, a movement of elements ('shuffle')";
  CHECK(kernel.error().message.ends_with(wanted));
  CHECK(kernel.error().message.starts_with("large: 10"));  // it ends soon behind the 100000th
  // Three values of 100 KiB at a time, in VMEM of 256.
  const auto sum = [](const char* name, TensorPlace a, TensorPlace b, TensorPlace y) {
    return VectorStep{.name = name,
                      .rows = 1600,
                      .cols = 16,
                      .dtype = WEFT_VPU_DTYPE_F32,
                      .a = a,
                      .b = b,
                      .y = y,
                      .y_dtype = WEFT_VPU_DTYPE_F32};
  };
  const TensorPlace x{2, 0, 64}, y{2, 102400, 64}, z{2, 204800, 64}, w{2, 307200, 64};
  program.steps = {sum("x", {3, 0, 64}, {3, 0, 64}, x), sum("y", x, x, y), sum("z", x, y, z), sum("w", x, y, w),
                   sum("last", z, w, {4, 0, 64})};
  kernel = tiles::compile_resident(chip, program);
  REQUIRE(!kernel.ok());
  CHECK(kernel.error().code == WEFT_ERROR_NO_DEVICE_MEMORY);
  CHECK(
      kernel.error().message ==
      "large: its values need more than the 262144 bytes of VMEM at a time; most of all, 307712 bytes, step 4 of 5, a "
      "vector operation add ('w')");
}

TEST_CASE("weights that several products have come anew where they do not fit beside each other") {
  const auto& chip = *spec::find_chip("nano");
  constexpr uint64_t kWidth = 255;  // two matrices of weights are all of VMEM
  Graph graph;
  graph.name = "weights";
  std::mt19937_64 random(1);
  std::array<std::vector<float>, 3> weights;
  for (auto& values : weights)
    for (uint64_t i = 0; i < kWidth * kWidth; i++) values.push_back(static_cast<float>(random() % 512) / 1024.0f);
  for (uint64_t i = 0; i < 7; i++)
    graph.tensors.push_back({"t" + std::to_string(i), {1, static_cast<int64_t>(kWidth)}, 1, kWidth});
  for (uint64_t i = 0; i < 6; i++)
    graph.nodes.emplace_back(
        DenseNode{"layer" + std::to_string(i), i, i + 1, kWidth, kWidth, weights[i % 3], {}, false});
  graph.inputs = {0}, graph.outputs = {6};
  const auto program = lower(chip, graph);
  REQUIRE(program.ok());
  CHECK(!tiles::compile_resident(chip, program.value()).ok());
  const auto kernel = tiles::compile_spilled(chip, program.value());
  if (!kernel.ok()) FAIL(kernel.error().message);
  CHECK(differing(chip, graph, kernel.value(), 1) == 0);
}
