// Random convolutions and windows, programs of one node: the golden arithmetic's bits, in any order of execution over
// VMEM full of NaN.
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "host/compiler/layout.hpp"
#include "host/compiler/lower.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "host/reference/graph_reference.hpp"
#include "testbench/unit/compiler/program_executor.hpp"

using namespace weft;
using namespace weft::compiler;

namespace {

std::vector<float> draw(std::mt19937_64& random, uint64_t count) {
  std::vector<float> values(count);
  for (float& v : values) v = static_cast<float>(random() % 4001) / 1000.0f - 2.0f;
  return values;
}

/// Any that leave a place at least.
Windows draw_windows(std::mt19937_64& random, bool lines) {
  Windows w;
  w.images = 1 + random() % 3;
  for (size_t d = 0; d < 2; d++) {
    w.size[d] = 1 + random() % 14;
    w.taps[d] = 1 + random() % 4;
    w.stride[d] = 1 + random() % 3;
    w.dilation[d] = lines && d == 0 ? 1 : 1 + random() % 2;
    w.low[d] = static_cast<int64_t>(random() % 4) - (lines ? 0 : 1);
    const int64_t reach = static_cast<int64_t>((w.taps[d] - 1) * w.dilation[d]) + 1, high = random() % 3;
    const int64_t room = static_cast<int64_t>(w.size[d]) + w.low[d] + high - reach;
    if (room < 0) w.low[d] -= room;
    w.places[d] = static_cast<uint64_t>(std::max<int64_t>(room, 0)) / w.stride[d] + 1;
  }
  return w;
}

size_t add_tensor(Graph& graph, uint64_t rows, uint64_t columns, weft_vpu_dtype dtype) {
  graph.tensors.push_back({"t" + std::to_string(graph.tensors.size()),
                           {static_cast<int64_t>(rows), static_cast<int64_t>(columns)},
                           rows,
                           columns,
                           dtype});
  return graph.tensors.size() - 1;
}

void check(const Graph& graph, std::mt19937_64& random, uint64_t seed) {
  INFO("seed " << seed);
  if (const auto status = check_graph(graph); !status.ok()) FAIL(status.error().message);
  const auto& chip = *spec::find_chip(seed % 2 == 0 ? "nano" : "nano-4mxu");
  const auto program = lower(chip, graph);
  REQUIRE(program.ok());
  const auto kernel = tiles::compile_resident(chip, program.value());
  if (!kernel.ok()) FAIL(kernel.error().message);
  std::vector<std::vector<float>> inputs;
  std::vector<std::vector<std::byte>> arguments;
  for (const size_t t : graph.inputs) {
    const auto& tensor = graph.tensors[t];
    inputs.push_back(draw(random, tensor.rows * tensor.columns));
    arguments.push_back(pack_rows_as(inputs.back(), tensor.rows, tensor.columns, tensor.dtype));
  }
  const auto golden = tools::evaluate_golden(graph, inputs);
  const auto& y = graph.tensors[graph.outputs[0]];
  REQUIRE(golden[0].size() == y.rows * y.columns);
  const uint64_t bytes = kernel.value().arguments.back().size_bytes;
  arguments.emplace_back(bytes);
  for (uint64_t order = 0; order < 2; order++) {
    test::ProgramExecutor executor(chip, kernel.value(), arguments, seed * 100 + order);
    REQUIRE(executor.run() == "");
    const auto found = unpack_rows(executor.argument(inputs.size(), bytes), y.rows, y.columns, 4);
    REQUIRE(found.size() == golden[0].size() * 4);
    CHECK(std::memcmp(found.data(), golden[0].data(), found.size()) == 0);
  }
}

}  // namespace

TEST_CASE("sums of products under windows, of pixels and of lines, with any padding, strides, dilation and spread") {
  for (uint64_t seed = 1; seed <= 100; seed++) {
    std::mt19937_64 random(seed);
    const bool lines = seed % 3 == 0, narrow = seed % 5 == 1;  // narrow: several taps share a word
    Graph graph;
    graph.name = "convolution";
    ConvolutionNode node;
    node.name = "sum";
    node.windows = draw_windows(random, lines);
    const auto& w = node.windows;
    uint64_t channels = 0;
    if (lines) {
      node.order = ConvolutionNode::Order::kLines;
      channels = 1 + random() % 4;
      node.sources = {add_tensor(graph, w.images * channels * w.size[0], w.size[1], WEFT_VPU_DTYPE_F32)};
    } else {
      for (uint64_t i = 0, count = narrow ? 1 : 1 + random() % 2; i < count; i++) {
        const uint64_t columns = 1 + random() % (narrow ? 4 : 20);
        channels += columns;
        node.sources.push_back(
            add_tensor(graph, w.pixels(), columns, random() % 2 == 0 ? WEFT_VPU_DTYPE_F32 : WEFT_VPU_DTYPE_BF16));
      }
    }
    graph.inputs = node.sources;
    node.k = w.tap_count() * channels, node.n = (narrow ? 30 : 1) + random() % 20;
    if (!lines && seed % 4 == 0) node.spread = {1 + random() % 3, 1 + random() % 3};
    const uint64_t residues = node.spread[0] * node.spread[1];
    node.weights = draw(random, residues * node.k * node.n);
    if (random() % 2 == 0) node.bias = draw(random, node.n);
    node.relu = random() % 2 == 0;
    node.y = add_tensor(graph, w.results() * residues, node.n, WEFT_VPU_DTYPE_F32);
    graph.outputs = {node.y};
    graph.nodes.emplace_back(node);
    if (seed % 7 < 3) {  // a residual, which the EPILOGUE adds where no relu comes before
      const size_t residual = add_tensor(graph, w.results() * residues, node.n, WEFT_VPU_DTYPE_F32);
      graph.inputs.push_back(residual);
      graph.outputs = {add_tensor(graph, w.results() * residues, node.n, WEFT_VPU_DTYPE_F32)};
      graph.nodes.emplace_back(VectorNode{"residual", WEFT_VPU_OP_ADD, node.y, graph.outputs[0], residual});
    }
    check(graph, random, seed);
  }
}

TEST_CASE("operations on what lies under windows, with weights and without") {
  constexpr weft_vpu_op kOperations[] = {WEFT_VPU_OP_ADD, WEFT_VPU_OP_MAX, WEFT_VPU_OP_MIN, WEFT_VPU_OP_MUL};
  for (uint64_t seed = 1; seed <= 60; seed++) {
    std::mt19937_64 random(seed);
    Graph graph;
    graph.name = "windows";
    WindowNode node;
    node.name = "fold";
    node.windows = draw_windows(random, false);
    if (seed % 5 == 0) {  // whole images
      node.windows = {};
      node.windows.images = 1 + random() % 20;
      node.windows.size = node.windows.taps = {1, 1 + random() % 30};
    }
    const uint64_t columns = 1 + random() % 20;
    node.x = add_tensor(graph, node.windows.pixels(), columns, WEFT_VPU_DTYPE_F32);
    graph.inputs = {node.x};
    node.op = kOperations[random() % 4];
    node.padding = static_cast<float>(random() % 3) - 1.0f;
    if (seed % 5 != 0 && random() % 2 == 0) node.weights = draw(random, node.windows.tap_count() * columns);
    node.y = add_tensor(graph, node.windows.results(), columns, WEFT_VPU_DTYPE_F32);
    graph.outputs = {node.y};
    graph.nodes.emplace_back(node);
    check(graph, random, seed);
  }
}

TEST_CASE("a convolution whose sizes do not fit is an INTERNAL error of the graph") {
  Graph graph;
  graph.name = "wrong";
  ConvolutionNode node;
  node.name = "sum";
  node.windows.size = node.windows.places = {3, 3};
  node.sources = {add_tensor(graph, 8, 2, WEFT_VPU_DTYPE_F32)};  // of nine pixels
  graph.inputs = node.sources;
  node.k = 2, node.n = 1;
  node.weights = {1, 1};
  node.y = add_tensor(graph, 9, 1, WEFT_VPU_DTYPE_F32);
  graph.outputs = {node.y};
  graph.nodes.emplace_back(node);
  const auto status = check_graph(graph);
  REQUIRE(!status.ok());
  CHECK(status.error().code == WEFT_ERROR_INTERNAL);
  CHECK(status.error().message.find("convolution sum") != std::string::npos);
}
