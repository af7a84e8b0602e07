#include "testbench/unit/compiler/onnx_model.hpp"

#include <catch2/catch.hpp>

#include "host/compiler/layout.hpp"
#include "host/compiler/lower.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "host/reference/graph_reference.hpp"
#include "testbench/unit/compiler/program_executor.hpp"

namespace weft::test {

Result<compiler::Graph> import_bytes(std::span<const std::byte> bytes, uint64_t batch) {
  compiler::frontend::Binding binding;
  binding.first = static_cast<int64_t>(batch);
  return compiler::import_graph(bytes, "", binding);
}

void check_runs(const OnnxModel& model, uint64_t batch, uint64_t seed) {
  const auto& chip = *spec::find_chip("nano");
  const auto graph = model.import(batch);
  if (!graph.ok()) FAIL(graph.error().message);
  const auto program = compiler::lower(chip, graph.value());
  REQUIRE(program.ok());
  const auto kernel = compiler::tiles::compile_fitting(chip, program.value());
  if (!kernel.ok()) FAIL(kernel.error().message);
  std::mt19937_64 random(seed);
  std::vector<std::vector<float>> inputs;
  std::vector<std::vector<std::byte>> arguments;
  for (const size_t t : graph.value().inputs) {
    const auto& tensor = graph.value().tensors[t];
    std::vector<float> values(tensor.rows * tensor.columns);
    for (auto& v : values) v = static_cast<float>(random() % 4001) / 1000.0f - 2.0f;
    arguments.push_back(compiler::pack_rows_as(values, tensor.rows, tensor.columns, tensor.dtype));
    inputs.push_back(values);
  }
  for (size_t i = inputs.size(); i < program.value().arguments.size(); i++)
    arguments.emplace_back(program.value().arguments[i].size_bytes, std::byte{0x33});
  ProgramExecutor executor(chip, kernel.value(), arguments, seed);
  INFO("seed " << seed);
  REQUIRE(executor.run() == "");
  const auto expected = tools::evaluate_golden(graph.value(), inputs);
  REQUIRE((!expected.empty() && expected.size() == graph.value().outputs.size()));
  for (size_t o = 0; o < expected.size(); o++) {
    const auto& tensor = graph.value().tensors[graph.value().outputs[o]];
    const auto got = compiler::unpack_rows(executor.argument(inputs.size() + o, arguments[inputs.size() + o].size()),
                                           tensor.rows, tensor.columns, 4);
    REQUIRE((!got.empty() && got.size() == expected[o].size() * 4));
    CHECK(std::memcmp(got.data(), expected[o].data(), got.size()) == 0);
  }
}

std::string refusal(const OnnxModel& model, uint64_t batch) {
  const auto graph = model.import(batch);
  REQUIRE(!graph.ok());
  return graph.error().message;
}

}  // namespace weft::test
