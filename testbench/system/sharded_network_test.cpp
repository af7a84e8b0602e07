// Networks spread over slices as one launch: every bit of the result, and the device cycles.
#include "host/runtime/sharded_network.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <random>

#include "host/compiler/partition/device_graph.hpp"
#include "host/reference/comparison.hpp"
#include "host/reference/graph_reference.hpp"
#include "testbench/unit/compiler/sharded/random_network.hpp"

using namespace weft;
using compiler::MeshAxes;
using compiler::Sharding;
using compiler::ir::ElementType;
using compiler::ir::Module;
using compiler::ir::ValueId;

namespace {

constexpr MeshAxes kX{true, false, false}, kY{false, true, false}, kXY{true, true, false};

/// d = (a tanh(a)) V + x with a = x W; the outputs are d and d times a row.
Module gated_network(int64_t rows, int64_t width, int64_t inner) {
  std::mt19937 random(3);
  Module module;
  const ValueId x = module.add_parameter("x", {ElementType::kF32, {rows, width}});
  module.inputs = {x};
  compiler::ir::Builder b(module);
  const auto dense = [&](ValueId from, int64_t in, int64_t out) {
    return b.dot(from, b.constant(test::random_tensor({in, out}, random)), {}, {}, {1}, {0}, ElementType::kF32);
  };
  const ValueId a = dense(x, width, inner);
  const ValueId d = b.plus(dense(b.times(a, b.unary(compiler::ir::OpKind::kTanh, a)), inner, width), x);
  module.outputs.push_back({"y", d});
  const ValueId row = b.broadcast_in(b.constant(test::random_tensor({width}, random)), {rows, width}, {1});
  module.outputs.push_back({"z", b.times(d, row)});
  return test::simplified(std::move(module));
}

struct Outcome {
  Status verdict = Ok{};
  uint64_t cycles = 0;
};

/// The network on all chips of the slice against the documented order of additions.
Outcome run(const std::string& slice, const Module& module, const Sharding& sharding) {
  auto session = runtime::SliceSession::open(slice);
  REQUIRE(session.ok());
  const auto programs = compiler::compile_sharded(session.value().chip(), module, session.value().shape(), sharding);
  if (!programs.ok()) FAIL(programs.error().message);
  std::mt19937 random(2);
  const auto x = test::random_tensor(module.type(module.inputs[0]).dims, random);
  const auto result = runtime::run_sharded(session.value(), programs.value(), {x});
  if (!result.ok()) FAIL(result.error().message);
  const auto graph = compiler::whole_device_graph(module);
  REQUIRE(graph.ok());
  const auto expected =
      tools::evaluate_golden_in_parts(graph.value(), {{x->as<float>(), x->as<float>() + x->type.count()}},
                                      compiler::mesh_ranks(session.value().shape(), sharding.k));
  REQUIRE(result.value().outputs.size() == expected.size());
  tools::Comparison comparison;
  for (size_t i = 0; i < expected.size(); i++) {
    const auto& made = *result.value().outputs[i];
    const std::vector<float> values(made.as<float>(), made.as<float>() + made.type.count());
    comparison.add(module.outputs[i].name, std::vector<uint64_t>(made.type.dims.begin(), made.type.dims.end()),
                   expected[i], values);
  }
  Outcome outcome{comparison.verdict("the documented order"), 0};
  outcome.cycles =
      *std::ranges::max_element(result.value().end_cycle) - *std::ranges::min_element(result.value().start_cycle);
  return outcome;
}

void check(const std::string& slice, const Module& module, const Sharding& sharding) {
  INFO(slice);
  const auto outcome = run(slice, module, sharding);
  if (!outcome.verdict.ok()) FAIL_CHECK(outcome.verdict.error().message);
}

}  // namespace

TEST_CASE("a batch over chips gives what one chip gives") {
  check("sim:nano-2x2", test::random_network(38, {24, 40, 10}), {.batch = kX});
  check("sim:nano-4x4", test::random_network(48, {24, 40, 10}), {.batch = kXY});
}

TEST_CASE("weights over n give what one chip gives, those that chips do not share evenly too") {
  check("sim:nano-2x2", test::random_network(37, {24, 64, 48, 10}), {.n = kX});
  check("sim:nano-2x2", test::random_network(50, {20, 64, 32, 10}), {.n = kXY});
  check("sim:nano-4x4", test::random_network(20, {24, 32, 10}), {.n = kY});
}

TEST_CASE("weights over k give the sum of parts in the order of ranks") {
  check("sim:nano-2x2", test::random_network(37, {24, 64, 48, 16}), {.k = kY});
  check("sim:nano-4x4", test::random_network(50, {52, 64, 32, 32}), {.k = kX});
}

TEST_CASE("sums of few columns are whole on every chip") {
  check("sim:nano-2x2", test::random_network(37, {24, 64, 48, 10}), {.k = kY});
  check("sim:nano-2x2", test::random_network(20, {24, 64, 6}), {.k = kX, .n = kY});
  check("sim:nano-4x4", test::random_network(20, {32, 64, 12}), {.k = kX});
}

TEST_CASE("random networks in random shardings have the documented bits") {
  constexpr std::array kShardings{Sharding{.batch = kX},
                                  Sharding{.n = kXY},
                                  Sharding{.k = kXY},
                                  Sharding{.n = kX},
                                  Sharding{.k = kY},
                                  Sharding{.batch = kX, .n = kY},
                                  Sharding{.batch = kY, .k = kX},
                                  Sharding{.k = kX, .n = kY}};
  for (uint32_t seed = 0; seed < 24; seed++) {
    std::mt19937 random(seed);
    const auto draw = [&](int64_t least, int64_t most) {
      return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
    };
    std::vector<int64_t> widths{4 * draw(1, 20)};
    for (int64_t i = draw(1, 3); i > 0; i--) widths.push_back(32 * draw(1, 4));
    widths.push_back(draw(1, 40));
    INFO("seed " << seed);
    check("sim:nano-2x2", test::random_network(2 * draw(1, 60), widths), kShardings[seed % kShardings.size()]);
  }
}

TEST_CASE("a sharded network on RTL cores, beside fast ones") {
  check("sim:nano-2x2?core=rtl", test::random_network(20, {24, 32, 16}), {.k = kY});
  check("sim:nano-2x2?core=fast,rtl,lockstep,fast", test::random_network(20, {24, 48, 10}), {.batch = kX, .n = kY});
}

TEST_CASE("batch, k and n together") {
  check("sim:nano-2x2", test::random_network(38, {24, 64, 48, 10}), {.batch = kX, .n = kY});
  check("sim:nano-2x2", test::random_network(38, {24, 64, 48, 16}), {.batch = kY, .k = kX});
  check("sim:nano-4x4", test::random_network(37, {64, 128, 64, 10}), {.k = kX, .n = kY});
}

TEST_CASE("values between operators are f32 on every chip, and rounded before they are multiplied") {
  for (const Sharding& sharding : {Sharding{.batch = kY}, Sharding{.n = kXY}, Sharding{.k = kX}})
    check("sim:nano-2x2", gated_network(38, 64, 32), sharding);
}

TEST_CASE("a result that travels while the next chunk multiplies takes few device cycles more than its products") {
  struct Case {
    const char* slice;
    Sharding sharding;
    uint64_t products, cycles;
  };
  const Module module = test::random_network(128, {256, 256, 256, 256});
  for (const auto& [slice, sharding, products, cycles] :
       {Case{"sim:nano-2x2", {.n = kX}, 196608, 197663}, Case{"sim:nano-2x2", {.k = kX}, 196608, 207841},
        Case{"sim:nano-2x2", {.batch = kY, .n = kX}, 98304, 101152},
        Case{"sim:nano-4x4", {.batch = kY, .n = kX}, 24576, 28478},
        Case{"sim:nano-4x4", {.k = kX, .n = kY}, 24576, 72751}}) {
    const Outcome outcome = run(slice, module, sharding);
    if (!outcome.verdict.ok()) FAIL_CHECK(outcome.verdict.error().message);
    INFO(slice << " " << outcome.cycles << " device cycles, and products need " << products);
    CHECK(outcome.cycles >= products);
    CHECK(outcome.cycles <= cycles);
  }
}
