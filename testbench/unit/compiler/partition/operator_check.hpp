/// Modules in text as device programs: close to the reference, and bit by bit what the golden arithmetic gives.
#pragma once
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "host/compiler/ir/text.hpp"
#include "host/compiler/layout.hpp"
#include "host/compiler/lower.hpp"
#include "host/compiler/partition/device_graph.hpp"
#include "host/compiler/reference/evaluate.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "host/reference/graph_reference.hpp"
#include "testbench/unit/compiler/program_executor.hpp"

namespace weft::test {

using namespace weft::compiler;

inline constexpr float kExact = 0, kF32 = 1e-5f, kBf16 = 0.02f;

inline std::vector<float> draw(std::mt19937_64& random, uint64_t count) {
  std::vector<float> values(count);
  for (float& v : values) v = static_cast<float>(random() % 4001) / 1000.0f - 2.0f;
  return values;
}

/// The program's results, of the graph's only output.
inline std::vector<float> run(const spec::Chip& chip, const Graph& graph, const std::vector<std::vector<float>>& inputs,
                              uint64_t seed) {
  const auto program = lower(chip, graph);
  REQUIRE(program.ok());
  const auto kernel = tiles::compile_resident(chip, program.value());
  if (!kernel.ok()) FAIL(kernel.error().message);
  std::vector<std::vector<std::byte>> arguments;
  for (size_t i = 0; i < inputs.size(); i++) {
    const auto& tensor = graph.tensors[graph.inputs[i]];
    arguments.push_back(pack_rows_as(inputs[i], tensor.rows, tensor.columns, tensor.dtype));
  }
  const uint64_t bytes = kernel.value().arguments.back().size_bytes;
  arguments.emplace_back(bytes);
  test::ProgramExecutor executor(chip, kernel.value(), arguments, seed);
  REQUIRE(executor.run() == "");
  const auto& y = graph.tensors[graph.outputs[0]];
  const auto dense = unpack_rows(executor.argument(inputs.size(), bytes), y.rows, y.columns, 4);
  std::vector<float> values(dense.size() / 4);
  std::memcpy(values.data(), dense.data(), dense.size());
  return values;
}

inline uint64_t differing(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  uint64_t count = 0;
  for (size_t i = 0; i < a.size(); i++) count += std::memcmp(&a[i], &b[i], 4) != 0;
  return count;
}

/// A module with one output, as one program of `chip`: within `bound` of the largest value from the reference of `like`,
/// which has the same inputs, and without a differing bit from the golden arithmetic.
inline void check_like(const ir::Module& module, const ir::Module& like, float bound, const char* chip_name,
                       uint64_t seed) {
  const auto graph = whole_device_graph(module);
  if (!graph.ok()) FAIL(graph.error().message);
  std::mt19937_64 random(seed);
  std::vector<std::vector<float>> inputs;
  std::vector<ir::TensorPtr> tensors;
  for (const auto input : module.inputs) {
    auto tensor = std::make_shared<ir::Tensor>(module.type(input));
    inputs.push_back(draw(random, tensor->type.count()));
    std::memcpy(tensor->data.data(), inputs.back().data(), tensor->data.size());
    tensors.push_back(tensor);
  }
  const auto golden = tools::evaluate_golden(graph.value(), inputs);
  REQUIRE(golden.size() == 1);
  const auto expected = reference::evaluate(like, tensors);
  if (!expected.ok()) FAIL(expected.error().message);
  const float* wanted = expected.value()[0]->as<float>();
  REQUIRE(golden[0].size() == expected.value()[0]->type.count());
  float largest = 0;
  for (size_t i = 0; i < golden[0].size(); i++) largest = std::max(largest, std::abs(wanted[i]));
  uint64_t far = 0;
  for (size_t i = 0; i < golden[0].size(); i++) far += !(std::abs(golden[0][i] - wanted[i]) <= bound * largest);
  CHECK(far == 0);
  CHECK(differing(run(*spec::find_chip(chip_name), graph.value(), inputs, seed), golden[0]) == 0);
}

/// A module in text whose last value is the output.
inline void check(const std::string& text, float bound, const char* chip_name, uint64_t seed) {
  INFO(text << chip_name << ", seed " << seed);
  const auto module = ir::parse(text);
  if (!module.ok()) FAIL(module.error().message);
  check_like(module.value(), module.value(), bound, chip_name, seed);
}

inline void check(const std::string& text, float bound, uint64_t seed = 1) {
  check(text, bound, "nano", seed);
  check(text, bound, "nano-4mxu", seed + 1);
}

inline std::string parameter(int number, const std::string& dims) {
  return fmt::format("%{} = parameter() {{dims = {}, element = f32, name = \"x{}\"}} : f32{}\n", number, dims, number,
                     dims);
}
inline std::string constant(int number, const std::string& dims, uint64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  return fmt::format("%{} = constant() [{}] : f32{}\n", number, fmt::join(draw(random, count), ", "), dims);
}
inline std::string returned(int number) { return fmt::format("return \"y\" = %{}\n", number); }

}  // namespace weft::test
