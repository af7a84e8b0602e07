// Graph -> Program.
#include "host/compiler/lower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "host/compiler/layout.hpp"

namespace weft::compiler {
namespace {

class Lowering {
 public:
  Lowering(const spec::Chip& chip, const Graph& graph)
      : chip_(chip), graph_(graph), places_(graph.tensors.size()), output_(graph.tensors.size()) {}

  Result<Program> run() {
    program_.name = graph_.name;
    if (graph_.inputs.size() + graph_.outputs.size() >= WEFT_LIMIT_ARGUMENTS)
      return Error{WEFT_ERROR_UNSUPPORTED,
                   fmt::format("{} inputs and {} outputs; a kernel has room for {}", graph_.inputs.size(),
                               graph_.outputs.size(), WEFT_LIMIT_ARGUMENTS - 1)};
    for (const size_t t : graph_.inputs) add_argument(t, WEFT_ARGUMENT_DTYPE_BF16, WEFT_ARGUMENT_DIRECTION_INPUT);
    for (const size_t t : graph_.outputs) {
      output_[t] = true;
      add_argument(t, WEFT_ARGUMENT_DTYPE_F32, WEFT_ARGUMENT_DIRECTION_OUTPUT);
    }
    for (const auto& node : graph_.nodes) std::visit([this](const auto& n) { add(n); }, node);
    return std::move(program_);
  }

 private:
  void add_argument(size_t t, weft_argument_dtype dtype, weft_argument_direction direction) {
    const Tensor& tensor = graph_.tensors[t];
    const uint64_t pitch = row_pitch_bytes(tensor.columns, element_bytes(dtype));
    places_[t] = {static_cast<uint8_t>(3 + program_.arguments.size()), 0, pitch};
    program_.arguments.push_back({tensor.name, dtype, WEFT_ARGUMENT_LAYOUT_ROWS, direction, tensor.rows, tensor.columns,
                                  pitch, tensor.rows * pitch});
  }

  /// Where a node writes tensor `t`: an output's argument, or a new place in scratch.
  TensorPlace destination(size_t t) {
    if (!output_[t]) {
      const Tensor& tensor = graph_.tensors[t];
      places_[t] = {2, program_.scratch_bytes, row_pitch_bytes(tensor.columns, 2)};
      program_.scratch_bytes += tensor.rows * places_[t].pitch_bytes;
    }
    return places_[t];
  }

  TensorPlace constant(const void* data, uint64_t bytes, uint64_t pitch) {
    const uint64_t offset = program_.constants.size();
    program_.constants.resize(offset + (bytes + 63) / 64 * 64);
    std::memcpy(&program_.constants[offset], data, bytes);
    return {1, offset, pitch};
  }

  weft_vpu_dtype result_dtype(size_t t) const { return output_[t] ? WEFT_VPU_DTYPE_F32 : WEFT_VPU_DTYPE_BF16; }

  void add(const DenseNode& node) {
    DenseStep step;
    step.name = node.name.substr(0, 32);
    step.m = graph_.tensors[node.x].rows, step.k = node.k, step.n = node.n;
    step.x = places_[node.x];
    std::vector<uint16_t> weights(node.weights.size());
    std::transform(node.weights.begin(), node.weights.end(), weights.begin(), bf16_from_f32);
    const auto packed = pack_weights_bf16(chip_, weights, node.k, node.n);
    step.weights = constant(packed.data(), packed.size(), 0);
    if (node.bias) {
      std::vector<float> bias((node.n + chip_.n - 1) / chip_.n * chip_.n);
      std::copy(node.bias->begin(), node.bias->end(), bias.begin());
      step.bias = constant(bias.data(), bias.size() * 4, 0);
    }
    step.activation = node.relu ? WEFT_VPU_ACTIVATION_RELU : WEFT_VPU_ACTIVATION_NONE;
    step.y = destination(node.y);
    step.y_dtype = result_dtype(node.y);
    program_.steps.push_back(step);
  }

  void add(const VectorNode& node) {
    VectorStep step;
    step.name = node.name.substr(0, 32);
    step.rows = graph_.tensors[node.a].rows, step.cols = graph_.tensors[node.a].columns;
    step.op = node.op;
    step.a = places_[node.a];
    if (const auto* tensor = std::get_if<size_t>(&node.b)) {
      step.b_mode = WEFT_VPU_B_MODE_TENSOR;
      step.b = places_[*tensor];
    } else if (const auto* row = std::get_if<std::vector<float>>(&node.b)) {
      step.b_mode = WEFT_VPU_B_MODE_ROW;
      std::vector<uint16_t> bits(row_pitch_bytes(row->size(), 2) / 2);
      std::transform(row->begin(), row->end(), bits.begin(), bf16_from_f32);
      step.b = constant(bits.data(), bits.size() * 2, bits.size() * 2);
    } else {
      step.b_mode = WEFT_VPU_B_MODE_SCALAR;
      step.scalar = bf16_from_f32(std::get<float>(node.b));
    }
    step.y = destination(node.y);
    step.y_dtype = result_dtype(node.y);
    program_.steps.push_back(step);
  }

  const spec::Chip& chip_;
  const Graph& graph_;
  std::vector<TensorPlace> places_;
  std::vector<bool> output_;
  Program program_;
};

}  // namespace

Result<Program> lower(const spec::Chip& chip, const Graph& graph) { return Lowering(chip, graph).run(); }

}  // namespace weft::compiler
