// What device programs compute of L1: close to the reference, and bit by bit what the golden arithmetic gives.
#include "host/compiler/partition/device_graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "host/compiler/ir/text.hpp"
#include "host/compiler/layout.hpp"
#include "host/compiler/lower.hpp"
#include "host/compiler/reference/evaluate.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "host/reference/graph_reference.hpp"
#include "testbench/unit/compiler/program_executor.hpp"

using namespace weft;
using namespace weft::compiler;

namespace {

constexpr uint64_t kRows = 5, kColumns = 19;
constexpr const char* kType = " : f32[5, 19]\n";

/// %0 and %1 are inputs, %3 a row that is the same for every row, %5 one number everywhere, %6 a weight.
std::string prologue() {
  std::vector<float> row, weight;
  for (uint64_t i = 0; i < kColumns; i++) row.push_back(0.25f * static_cast<float>(i) - 2.1f);
  for (uint64_t i = 0; i < kColumns * kColumns; i++) weight.push_back(static_cast<float>(i % 13) / 32.0f - 0.2f);
  return fmt::format(
      "%0 = parameter() {{dims = [5, 19], element = f32, name = \"x\"}} : f32[5, 19]\n"
      "%1 = parameter() {{dims = [5, 19], element = f32, name = \"y\"}} : f32[5, 19]\n"
      "%2 = constant() [{}] : f32[19]\n"
      "%3 = broadcast_in_dim(%2) {{dimensions = [1], dims = [5, 19]}} : f32[5, 19]\n"
      "%4 = constant() [0.7] : f32[1]\n"
      "%5 = broadcast_in_dim(%4) {{dimensions = [1], dims = [5, 19]}} : f32[5, 19]\n"
      "%6 = constant() [{}] : f32[19, 19]\n",
      fmt::join(row, ", "), fmt::join(weight, ", "));
}
std::string dot(int result, int operand) {
  return fmt::format(
      "%{} = dot_general(%{}, %6) {{lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]}}{}", result,
      operand, kType);
}

std::vector<std::vector<float>> inputs_of(uint64_t seed) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::mt19937_64 random(seed);
  std::vector<std::vector<float>> inputs(2, std::vector<float>(kRows * kColumns));
  for (auto& input : inputs)
    for (float& v : input) v = static_cast<float>(random() % 6001) / 1000.0f - 3.0f;
  const float special[] = {0.0f, -0.0f, kInfinity, -kInfinity, std::nanf(""), 40.0f, -40.0f, 1e-20f};
  for (size_t i = 0; i < std::size(special); i++) inputs[0][i] = special[i], inputs[1][i * 3] = special[i];
  return inputs;
}

struct Case {
  ir::Module module;
  Graph graph;
  std::vector<std::vector<float>> golden;
};

/// The operators behind the prologue; the last is the output.
Case make(const std::string& text, int last, const std::vector<std::vector<float>>& inputs) {
  auto module = ir::parse(prologue() + text + fmt::format("return \"z\" = %{}\n", last));
  if (!module.ok()) FAIL(module.error().message << "\n" << text);
  auto graph = whole_device_graph(module.value());
  if (!graph.ok()) FAIL(graph.error().message << "\n" << text);
  auto golden = tools::evaluate_golden(graph.value(), inputs);
  return {std::move(module.value()), std::move(graph.value()), std::move(golden)};
}

/// Elements that are further from the reference than `bound` of their size.
uint64_t far_from_reference(const Case& c, const std::vector<std::vector<float>>& inputs, float bound) {
  std::vector<ir::TensorPtr> tensors;
  for (size_t i = 0; i < inputs.size(); i++) {
    auto tensor = std::make_shared<ir::Tensor>(c.module.type(c.module.inputs[i]));
    std::memcpy(tensor->data.data(), inputs[i].data(), tensor->data.size());
    tensors.push_back(tensor);
  }
  const auto expected = reference::evaluate(c.module, tensors);
  REQUIRE(expected.ok());
  REQUIRE(expected.value().size() == 1);
  REQUIRE(c.golden.size() == 1);
  REQUIRE(c.golden[0].size() == kRows * kColumns);
  uint64_t count = 0;
  for (size_t i = 0; i < c.golden[0].size(); i++) {
    const float want = expected.value()[0]->as<float>()[i], got = c.golden[0][i];
    const bool same = std::isfinite(want) ? std::abs(got - want) <= bound * std::abs(want) + 1e-30f
                                          : (std::isnan(want) ? std::isnan(got) : want == got);
    if (!same) UNSCOPED_INFO("element " << i << ": " << got << " instead of " << want);
    count += !same;
  }
  return count;
}

/// Elements that differ from the golden arithmetic, in the program that stays in VMEM and the one that need not.
uint64_t differing(const Case& c, const std::vector<std::vector<float>>& inputs, uint64_t seed) {
  const auto& chip = *spec::find_chip("nano");
  const auto program = lower(chip, c.graph);
  REQUIRE(program.ok());
  uint64_t count = 0;
  for (const auto& kernel :
       {tiles::compile_resident(chip, program.value()), tiles::compile_spilled(chip, program.value())}) {
    if (!kernel.ok()) FAIL(kernel.error().message);
    std::vector<std::vector<std::byte>> arguments;
    for (const size_t t : c.graph.inputs) {
      const auto& values = inputs[c.graph.tensors[t].name == "x" ? 0 : 1];
      arguments.push_back(pack_rows_as(values, kRows, kColumns, c.graph.tensors[t].dtype));
      REQUIRE(arguments.back().size() == kernel.value().arguments[arguments.size() - 1].size_bytes);
    }
    const uint64_t bytes = kernel.value().arguments.back().size_bytes;
    arguments.emplace_back(bytes);
    test::ProgramExecutor executor(chip, kernel.value(), arguments, seed);
    REQUIRE(executor.run() == "");
    const auto got = unpack_rows(executor.argument(arguments.size() - 1, bytes), kRows, kColumns, 4);
    REQUIRE(got.size() == c.golden[0].size() * 4);
    for (size_t i = 0; i < c.golden[0].size(); i++) count += std::memcmp(&got[i * 4], &c.golden[0][i], 4) != 0;
  }
  return count;
}

}  // namespace

TEST_CASE("functions of the vector unit are close to the reference, and a program has their bits") {
  for (const char* name : {"abs", "negate", "exponential", "log", "logistic", "sqrt", "tanh", "erf"})
    for (uint64_t seed = 1; seed <= 3; seed++) {
      INFO(name << ", seed " << seed);
      const auto inputs = inputs_of(seed);
      const auto c = make(fmt::format("%7 = {}(%0){}", name, kType), 7, inputs);
      CHECK(far_from_reference(c, inputs, 4e-6f) == 0);
      CHECK(differing(c, inputs, seed) == 0);
    }
}

TEST_CASE("operations on tensors, rows and numbers, either one first") {
  for (const char* name : {"add", "subtract", "multiply", "divide", "maximum", "minimum"})
    for (const auto& [a, b] : {std::pair{0, 1}, {0, 3}, {3, 0}, {0, 5}, {5, 0}}) {
      INFO(name << " of " << a << " and " << b);
      const auto inputs = inputs_of(static_cast<uint64_t>(a * 10 + b));
      const auto c = make(fmt::format("%7 = {}(%{}, %{}){}", name, a, b, kType), 7, inputs);
      CHECK(far_from_reference(c, inputs, 4e-7f) == 0);
      CHECK(differing(c, inputs, 7) == 0);
    }
}

TEST_CASE("values between operators stay f32, and what a product reads is rounded once") {
  auto inputs = inputs_of(3);
  for (auto& input : inputs)
    for (float& v : input) v = std::isfinite(v) && std::abs(v) < 10 ? v : 0.5f;
  // z = x W + x; t = z sigmoid(z); then t W + t.
  const std::string text = dot(7, 0) + "%8 = add(%7, %0)" + kType + "%9 = logistic(%8)" + kType +
                           "%10 = multiply(%8, %9)" + kType + dot(11, 10) + "%12 = add(%11, %10)" + kType;
  const auto c = make(text, 12, inputs);
  CHECK(differing(c, inputs, 3) == 0);
  CHECK(far_from_reference(c, inputs, 0.2f) <= 5);  // where terms cancel
  const auto copies = std::ranges::count_if(c.graph.nodes, [](const Node& n) { return n.index() == 2; });
  CHECK(copies == 2);  // of x and t, rounded
  for (const auto& node : c.graph.nodes)
    if (const auto* vector = std::get_if<VectorNode>(&node))
      CHECK(c.graph.tensors[vector->a].dtype == WEFT_VPU_DTYPE_F32);
}

TEST_CASE("a chain of products has no value in f32 between them") {
  const auto inputs = inputs_of(4);
  const auto c = make(dot(7, 0) + dot(8, 7), 8, inputs);
  CHECK(c.graph.nodes.size() == 2);
  CHECK(std::ranges::count(c.graph.tensors, WEFT_VPU_DTYPE_F32, &Tensor::dtype) == 0);
}

TEST_CASE("a division by a number whose reciprocal is no normal number is the host's") {
  const auto module = ir::parse(
      "%0 = parameter() {dims = [5], element = f32, name = \"x\"} : f32[5]\n%1 = constant() [1e38] : f32[1]\n"
      "%2 = broadcast_in_dim(%1) {dimensions = [0], dims = [5]} : f32[5]\n%3 = divide(%0, %2) : f32[5]\n"
      "return \"z\" = %3\n");
  if (!module.ok()) FAIL(module.error().message);
  CHECK(!whole_device_graph(module.value()).ok());
}
