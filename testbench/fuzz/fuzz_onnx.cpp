// ONNX models: any bytes give a graph or an error; a small graph is lowered and compiled, or refused.
#include "host/compiler/import_graph.hpp"
#include "host/compiler/lower.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "testbench/fuzz/fuzz_target.hpp"

using namespace weft;

namespace {

constexpr int64_t kBatch = 3;
constexpr uint64_t kMaxElements = 1u << 14;  // of all tensors of a graph that is compiled

/// Small enough to compile thousands of times a second.
bool small(const compiler::Graph& graph) {
  uint64_t elements = 0;
  for (const auto& tensor : graph.tensors) {
    if (tensor.rows > kMaxElements || tensor.columns > kMaxElements) return false;
    elements += tensor.rows * tensor.columns;
  }
  for (const auto& node : graph.nodes) {
    if (const auto* dense = std::get_if<compiler::DenseNode>(&node)) elements += dense->weights.size();
  }
  return elements <= kMaxElements;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  compiler::frontend::Binding binding;
  binding.first = kBatch;
  const auto graph = compiler::import_graph(std::as_bytes(std::span(data, size)), "", binding);
  if (!graph.ok()) {
    fuzz::require(!graph.error().message.empty(), "an error has a message");
    return 0;
  }
  fuzz::require(compiler::check_graph(graph.value()).ok(), "a graph that was imported keeps the rules of graphs");
  if (!small(graph.value())) return 0;
  const spec::Chip& chip = *spec::find_chip("nano");
  const auto program = compiler::lower(chip, graph.value());
  if (!program.ok()) return 0;
  const auto kernel = compiler::tiles::compile_fitting(chip, program.value());
  fuzz::require(kernel.ok() || !kernel.error().message.empty(), "a refusal to compile has a message");
  return 0;
}
