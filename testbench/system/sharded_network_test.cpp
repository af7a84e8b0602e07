// Networks spread over slices: every bit of the result, and the device cycles that overlap saves.
#include "host/runtime/sharded_network.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <variant>

#include "host/reference/comparison.hpp"
#include "host/reference/graph_reference.hpp"
#include "testbench/system/random_network.hpp"

using namespace weft;
using compiler::Graph;
using compiler::MeshAxes;
using compiler::Sharding;

namespace {

constexpr MeshAxes kX{true, false, false}, kY{false, true, false}, kXY{true, true, false};

struct Outcome {
  Status verdict = Ok{};
  uint64_t cycles = 0;
};

/// The network on all chips of the slice against the documented order of additions.
Outcome run(const std::string& slice, const Graph& graph, const Sharding& sharding) {
  auto session = runtime::SliceSession::open(slice);
  REQUIRE(session.ok());
  const auto kernels = compiler::compile_sharded(session.value().chip(), graph, session.value().shape(), sharding);
  if (!kernels.ok()) FAIL(kernels.error().message);
  const auto inputs = test::random_inputs(graph, 2);
  const auto result = runtime::run_sharded(session.value(), graph, kernels.value(), inputs);
  if (!result.ok()) FAIL(result.error().message);
  const auto expected = tools::evaluate_golden_in_parts(
      graph, inputs, compiler::mesh_ranks(session.value().shape(), sharding.k), session.value().chip().n);
  REQUIRE(expected.size() == graph.outputs.size());
  REQUIRE(result.value().outputs.size() == expected.size());
  tools::Comparison comparison;
  for (size_t i = 0; i < expected.size(); i++) {
    const auto& tensor = graph.tensors[graph.outputs[i]];
    comparison.add(tensor.name, std::array{tensor.rows, tensor.columns}, expected[i], result.value().outputs[i]);
  }
  Outcome outcome{comparison.verdict("the documented order"), 0};
  outcome.cycles =
      *std::ranges::max_element(result.value().end_cycle) - *std::ranges::min_element(result.value().start_cycle);
  return outcome;
}

void check_verdict(const Outcome& outcome) {
  if (!outcome.verdict.ok()) FAIL_CHECK(outcome.verdict.error().message);
}

/// 0 elements differ, whether results travel row chunk by row chunk or at once.
void check(const std::string& slice, const Graph& graph, Sharding sharding) {
  INFO(slice);
  for (const bool overlap : {true, false}) {
    sharding.overlap = overlap;
    check_verdict(run(slice, graph, sharding));
  }
}

/// d = (a tanh(a)) V + x with a = x W; the outputs are d and d times a row. All but what products read is f32.
Graph f32_network() {
  Graph graph = test::random_network(37, {40, 24, 40}, 3);
  const auto tensor = [&](const char* name, int64_t columns, weft_vpu_dtype dtype) {
    graph.tensors.push_back({name, {37, columns}, 37, static_cast<uint64_t>(columns), dtype});
    return graph.tensors.size() - 1;
  };
  auto first = std::get<compiler::DenseNode>(graph.nodes[0]), second = std::get<compiler::DenseNode>(graph.nodes[1]);
  first.relu = false;
  graph.tensors.clear(), graph.nodes.clear();
  const size_t x = tensor("x", 40, WEFT_VPU_DTYPE_F32), rounded = tensor("rounded", 40, WEFT_VPU_DTYPE_BF16);
  const size_t a = tensor("a", 24, WEFT_VPU_DTYPE_F32), t = tensor("t", 24, WEFT_VPU_DTYPE_F32);
  const size_t m = tensor("m", 24, WEFT_VPU_DTYPE_BF16), c = tensor("c", 40, WEFT_VPU_DTYPE_F32);
  const size_t d = tensor("d", 40, WEFT_VPU_DTYPE_F32);
  const size_t y = tensor("y", 40, WEFT_VPU_DTYPE_F32), z = tensor("z", 40, WEFT_VPU_DTYPE_F32);
  first.x = rounded, first.y = a, second.x = m, second.y = c;
  graph.nodes = {compiler::CopyNode{"round", x, rounded},
                 first,
                 compiler::VectorNode{"tanh", WEFT_VPU_OP_TANH, a, t, std::monostate{}},
                 compiler::VectorNode{"gate", WEFT_VPU_OP_MUL, a, m, t},
                 second,
                 compiler::VectorNode{"residual", WEFT_VPU_OP_ADD, c, d, x},
                 compiler::CopyNode{"copy", d, y},
                 compiler::VectorNode{"scale", WEFT_VPU_OP_MUL, d, z, *second.bias}};
  graph.inputs = {x}, graph.outputs = {y, z};
  return graph;
}

}  // namespace

TEST_CASE("a batch over chips gives what one chip gives, uneven shares of rows too") {
  check("sim:nano-2x2", test::random_network(37, {24, 40, 10}, 1), {.batch = kX});
  check("sim:nano-4x4", test::random_network(37, {24, 40, 10}, 1), {.batch = kXY});
}

TEST_CASE("weights over n give what one chip gives, uneven blocks and empty ones too") {
  check("sim:nano-2x2", test::random_network(37, {24, 64, 40, 10}, 1), {.n = kX});
  check("sim:nano-2x2", test::random_network(50, {20, 52, 36, 10}, 1, true), {.n = kXY});
  check("sim:nano-4x4", test::random_network(20, {24, 20, 10}, 1), {.n = kY});
}

TEST_CASE("weights over k give the sum of parts in the order of ranks") {
  check("sim:nano-2x2", test::random_network(37, {24, 64, 40, 10}, 1), {.k = kY});
  check("sim:nano-4x4", test::random_network(50, {50, 52, 36, 10}, 1, true), {.k = kX});
}

TEST_CASE("a sharded network on RTL cores, beside fast ones") {
  check("sim:nano-2x2?core=rtl", test::random_network(20, {24, 40, 10}, 1), {.k = kY, .n = kX});
  check("sim:nano-2x2?core=fast,rtl,lockstep,fast", test::random_network(20, {24, 40, 10}, 1), {.batch = kX, .n = kY});
}

TEST_CASE("batch, k and n together") {
  check("sim:nano-2x2", test::random_network(37, {24, 64, 40, 10}, 1), {.batch = kX, .n = kY});
  check("sim:nano-2x2", test::random_network(37, {24, 64, 40, 10}, 1, true), {.batch = kY, .k = kX});
  check("sim:nano-4x4", test::random_network(37, {40, 72, 40, 10}, 1, true), {.k = kX, .n = kY});
}

TEST_CASE("values between operators are f32 on every chip, and rounded before they are multiplied") {
  for (const Sharding& sharding :
       {Sharding{.batch = kXY}, Sharding{.n = kXY}, Sharding{.k = kX}, Sharding{.k = kX, .n = kY}})
    check("sim:nano-2x2", f32_network(), sharding);
}

TEST_CASE("a result that travels while the next chunk multiplies saves device cycles") {
  struct Case {
    const char* slice;
    std::vector<uint64_t> widths;
    Sharding sharding;
  };
  for (const auto& [slice, widths, sharding] :
       {Case{"sim:nano-2x2", {256, 256, 256, 256}, {.n = kX}}, Case{"sim:nano-2x2", {256, 256, 256, 256}, {.k = kX}},
        Case{"sim:nano-2x2", {256, 256, 256, 256}, {.batch = kY, .n = kX}},
        Case{"sim:nano-4x4", {256, 256, 256, 256}, {.batch = kY, .n = kX}}}) {
    const Graph graph = test::random_network(128, widths, 1);
    auto at_once = sharding;
    at_once.overlap = false;
    const Outcome overlapped = run(slice, graph, sharding), apart = run(slice, graph, at_once);
    check_verdict(overlapped);
    check_verdict(apart);
    INFO(overlapped.cycles << " device cycles, and " << apart.cycles << " without overlap");
    CHECK(overlapped.cycles < apart.cycles);
  }
}
