// Steps of training. Weights are rounded to bf16 and packed on the chip, from the fp32 masters, wherever a product
// needs them; all that lies between two steps is in scratch.
#include "host/compiler/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>

#include "base/round_up.hpp"
#include "host/compiler/layout.hpp"

namespace weft::compiler {
namespace {

constexpr uint64_t kMaxWidth = 65535;
constexpr uint64_t kUpdateColumns = 16;  // an update sees its buffers as rows of 64 bytes

class TrainingProgram {
 public:
  TrainingProgram(const spec::Chip& chip, ParameterLayout layout, uint64_t rows, std::string name)
      : chip_(chip), layout_(std::move(layout)), rows_(rows) {
    program_.name = std::move(name);
  }

  uint8_t argument(const std::string& name, weft_argument_dtype dtype, weft_argument_direction direction, uint64_t rows,
                   uint64_t columns) {
    const uint64_t pitch = row_pitch_bytes(columns, element_bytes(dtype));
    program_.arguments.push_back(
        {name, dtype, WEFT_ARGUMENT_LAYOUT_ROWS, direction, rows, columns, pitch, rows * pitch});
    return static_cast<uint8_t>(2 + program_.arguments.size());
  }
  TensorPlace rows_argument(const std::string& name, weft_argument_dtype dtype, weft_argument_direction direction,
                            uint64_t columns) {
    const uint8_t segment = argument(name, dtype, direction, rows_, columns);
    return {segment, 0, program_.arguments.back().pitch_bytes};
  }
  /// A buffer of the layout, one row of f32.
  uint8_t parameters_argument(const std::string& name, weft_argument_direction direction) {
    return argument(name, WEFT_ARGUMENT_DTYPE_F32, direction, 1, layout_.bytes / 4);
  }

  void forward(const TensorPlace& x, uint8_t parameters, const TensorPlace& scores) {
    values_ = {x};
    for (size_t l = 0; l < layout_.layers.size(); l++) {
      const auto& layer = layout_.layers[l];
      const bool last = l + 1 == layout_.layers.size();
      DenseStep step;
      step.name = fmt::format("layer {} forward", l);
      step.m = rows_, step.k = layer.k, step.n = layer.n;
      step.x = values_[l];
      step.weights = packed(fmt::format("layer {} weights", l), weights(parameters, l), layer.k, layer.n, false,
                            WEFT_VPU_DTYPE_F32);
      step.bias = TensorPlace{parameters, layer.bias_offset, 0};
      step.activation = last ? WEFT_VPU_ACTIVATION_NONE : WEFT_VPU_ACTIVATION_RELU;
      step.y_dtype = last ? WEFT_VPU_DTYPE_F32 : WEFT_VPU_DTYPE_BF16;
      step.y = last ? scores : scratch(rows_, layer.n, 2);
      values_.push_back(step.y);
      program_.steps.emplace_back(step);
    }
  }

  /// Of `scores`, which forward() has computed.
  void backward(const TensorPlace& targets, uint8_t parameters, uint8_t gradients, float scale) {
    const uint64_t classes = layout_.layers.back().n;
    TensorPlace dy = scratch(rows_, classes, 2);
    program_.steps.emplace_back(SoftmaxLossStep{
        "softmax loss", rows_, classes, values_.back(), targets, dy, {gradients, layout_.loss_offset, 64}, scale});
    for (size_t l = layout_.layers.size(); l-- > 0;) {
      weight_gradient(l, dy, gradients);
      if (l > 0) dy = value_gradient(l, dy, parameters);
    }
  }

  void update(uint8_t parameters, uint8_t momentum, uint8_t gradients, const Sgd& sgd) {
    const uint64_t pitch = kUpdateColumns * 4;
    VectorStep step;
    step.rows = layout_.parameter_bytes / pitch, step.cols = kUpdateColumns;
    step.op = WEFT_VPU_OP_AXPY;
    step.dtype = step.y_dtype = WEFT_VPU_DTYPE_F32;
    step.name = "momentum";
    step.a = step.y = {momentum, 0, pitch};
    step.b = {gradients, 0, pitch};
    step.scalar2 = std::bit_cast<uint32_t>(sgd.momentum);
    program_.steps.emplace_back(step);
    step.name = "parameters";
    step.b = step.y = {parameters, 0, pitch};
    step.scalar2 = std::bit_cast<uint32_t>(-sgd.rate);
    program_.steps.emplace_back(step);
  }

  TensorPlace scratch(uint64_t rows, uint64_t columns, uint64_t element) {
    const uint64_t pitch = row_pitch_bytes(columns, element);
    return {2, take(rows * pitch), pitch};
  }
  Program done() { return std::move(program_); }
  [[nodiscard]] const ParameterLayout& layout() const { return layout_; }

 private:
  uint64_t take(uint64_t bytes) {
    program_.scratch_bytes += round_up(bytes, 64);
    return program_.scratch_bytes - round_up(bytes, 64);
  }
  [[nodiscard]] TensorPlace weights(uint8_t segment, size_t layer) const {
    return {segment, layout_.layers[layer].weights_offset, layout_.layers[layer].weights_pitch};
  }

  /// A computed matrix, or its transpose, as weights of a product.
  TensorPlace packed(const std::string& name, const TensorPlace& a, uint64_t rows, uint64_t cols, bool transpose,
                     weft_vpu_dtype dtype) {
    RelayoutStep step;
    step.name = name;
    step.rows = rows, step.cols = cols;
    step.transpose = transpose;
    step.a_dtype = dtype;
    step.a = a;
    step.y = {
        2, take(packed_weight_bytes(chip_, WEFT_MXU_DTYPE_BF16, transpose ? cols : rows, transpose ? rows : cols)), 0};
    program_.steps.emplace_back(step);
    return step.y;
  }

  /// dW = x^T dy and db = sum of dy's rows, to their places among the gradients.
  void weight_gradient(size_t l, const TensorPlace& dy, uint8_t gradients) {
    const auto& layer = layout_.layers[l];
    const TensorPlace bias{gradients, layer.bias_offset, round_up(layer.n * 4, 64)};
    program_.steps.emplace_back(ColumnSumStep{fmt::format("layer {} bias gradient", l), rows_, layer.n, dy, bias});
    RelayoutStep turn;
    turn.name = fmt::format("layer {} input transposed", l);
    turn.rows = rows_, turn.cols = layer.k;
    turn.transpose = true;
    turn.a_dtype = WEFT_VPU_DTYPE_BF16;
    turn.a = values_[l];
    turn.y = scratch(layer.k, rows_, 2);
    turn.y_layout = WEFT_ARGUMENT_LAYOUT_ROWS;
    program_.steps.emplace_back(turn);
    DenseStep step;
    step.name = fmt::format("layer {} weight gradient", l);
    step.m = layer.k, step.k = rows_, step.n = layer.n;
    step.x = turn.y;
    step.weights = packed(fmt::format("layer {} gradient packed", l), dy, rows_, layer.n, false, WEFT_VPU_DTYPE_BF16);
    step.y = weights(gradients, l);
    program_.steps.emplace_back(step);
  }

  /// dx = dy W^T where the layer's input, a relu's output, is not zero; else 0.
  TensorPlace value_gradient(size_t l, const TensorPlace& dy, uint8_t parameters) {
    const auto& layer = layout_.layers[l];
    DenseStep step;
    step.name = fmt::format("layer {} backward", l);
    step.m = rows_, step.k = layer.n, step.n = layer.k;
    step.x = dy;
    step.weights = packed(fmt::format("layer {} weights transposed", l), weights(parameters, l), layer.k, layer.n, true,
                          WEFT_VPU_DTYPE_F32);
    step.y = scratch(rows_, layer.k, 2);
    step.y_dtype = WEFT_VPU_DTYPE_BF16;
    program_.steps.emplace_back(step);
    VectorStep relu;
    relu.name = fmt::format("layer {} relu gradient", l - 1);
    relu.rows = rows_, relu.cols = layer.k;
    relu.op = WEFT_VPU_OP_SELECT;
    relu.a = values_[l];
    relu.b = relu.y = step.y;
    program_.steps.emplace_back(relu);
    return relu.y;
  }

  const spec::Chip& chip_;
  const ParameterLayout layout_;
  const uint64_t rows_;
  Program program_;
  std::vector<TensorPlace> values_;  ///< input of each layer, then the scores
};

Result<TrainingProgram> begin(const spec::Chip& chip, const DenseNetwork& network, uint64_t rows, const char* name) {
  auto layout = parameter_layout(chip, network);
  if (!layout.ok()) return layout.error();
  if (rows == 0 || rows > kMaxWidth)
    return Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("a batch of {} rows: 1 to {} are possible", rows, kMaxWidth)};
  return TrainingProgram(chip, std::move(layout.value()), rows, name);
}

/// Calls visit(offset in bytes, elements) for each row of weights and each bias, in the order of a dense array.
template <typename Visit>
void for_each_row(const ParameterLayout& layout, Visit visit) {
  for (const auto& layer : layout.layers) {
    for (uint64_t k = 0; k < layer.k; k++) visit(layer.weights_offset + k * layer.weights_pitch, layer.n);
    visit(layer.bias_offset, layer.n);
  }
}

}  // namespace

Result<ParameterLayout> parameter_layout(const spec::Chip& chip, const DenseNetwork& network) {
  const auto& widths = network.widths;
  if (widths.size() < 2)
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("{} widths: a network has inputs and classes", widths.size())};
  for (const uint64_t width : widths)
    if (width == 0 || width > kMaxWidth)
      return Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("a width of {}: 1 to {} are possible", width, kMaxWidth)};
  ParameterLayout layout;
  uint64_t next = 0;
  const auto take = [&next](uint64_t bytes) {
    next += round_up(bytes, 64);
    return next - round_up(bytes, 64);
  };
  for (size_t l = 0; l + 1 < widths.size(); l++) {
    ParameterLayout::Layer layer;
    layer.k = widths[l], layer.n = widths[l + 1];
    layer.weights_pitch = row_pitch_bytes(layer.n, 4);
    layer.weights_offset = take(layer.k * layer.weights_pitch);
    layer.bias_offset = take(round_up(layer.n, chip.n) * 4);
    layout.layers.push_back(layer);
  }
  layout.parameter_bytes = layout.loss_offset = next;
  layout.bytes = next + 64;
  return layout;
}

uint64_t parameter_count(const DenseNetwork& network) {
  uint64_t count = 0;
  for (size_t l = 0; l + 1 < network.widths.size(); l++) count += (network.widths[l] + 1) * network.widths[l + 1];
  return count;
}

std::vector<float> pack_parameters(const ParameterLayout& layout, const std::vector<float>& dense) {
  std::vector<float> buffer(layout.bytes / 4);
  auto from = dense.begin();
  for_each_row(layout, [&](uint64_t offset, uint64_t n) {
    assert(static_cast<uint64_t>(dense.end() - from) >= n);
    std::copy_n(from, n, buffer.begin() + static_cast<ptrdiff_t>(offset / 4));
    from += static_cast<ptrdiff_t>(n);
  });
  return buffer;
}

std::vector<float> unpack_parameters(const ParameterLayout& layout, const std::vector<float>& buffer) {
  std::vector<float> dense;
  for_each_row(layout, [&](uint64_t offset, uint64_t n) {
    const auto first = buffer.begin() + static_cast<ptrdiff_t>(offset / 4);
    dense.insert(dense.end(), first, first + static_cast<ptrdiff_t>(n));
  });
  return dense;
}

Result<Program> scores_program(const spec::Chip& chip, const DenseNetwork& network, uint64_t rows) {
  auto begun = begin(chip, network, rows, "scores");
  if (!begun.ok()) return begun.error();
  auto& program = begun.value();
  const auto x = program.rows_argument("x", WEFT_ARGUMENT_DTYPE_BF16, WEFT_ARGUMENT_DIRECTION_INPUT, network.widths[0]);
  const auto parameters = program.parameters_argument("parameters", WEFT_ARGUMENT_DIRECTION_INPUT);
  const auto scores =
      program.rows_argument("scores", WEFT_ARGUMENT_DTYPE_F32, WEFT_ARGUMENT_DIRECTION_OUTPUT, network.widths.back());
  program.forward(x, parameters, scores);
  return program.done();
}

Result<Program> gradient_program(const spec::Chip& chip, const DenseNetwork& network, uint64_t rows, float scale) {
  auto begun = begin(chip, network, rows, "gradient");
  if (!begun.ok()) return begun.error();
  auto& program = begun.value();
  const uint64_t classes = network.widths.back();
  const auto x = program.rows_argument("x", WEFT_ARGUMENT_DTYPE_BF16, WEFT_ARGUMENT_DIRECTION_INPUT, network.widths[0]);
  const auto targets =
      program.rows_argument("targets", WEFT_ARGUMENT_DTYPE_F32, WEFT_ARGUMENT_DIRECTION_INPUT, classes);
  const auto parameters = program.parameters_argument("parameters", WEFT_ARGUMENT_DIRECTION_INPUT);
  const auto gradients = program.parameters_argument("gradients", WEFT_ARGUMENT_DIRECTION_OUTPUT);
  program.forward(x, parameters, program.scratch(rows, classes, 4));
  program.backward(targets, parameters, gradients, scale);
  return program.done();
}

Result<Program> update_program(const spec::Chip& chip, const DenseNetwork& network, const Sgd& sgd) {
  auto begun = begin(chip, network, 1, "update");
  if (!begun.ok()) return begun.error();
  auto& program = begun.value();
  const auto parameters = program.parameters_argument("parameters", WEFT_ARGUMENT_DIRECTION_SCRATCH);
  const auto momentum = program.parameters_argument("momentum", WEFT_ARGUMENT_DIRECTION_SCRATCH);
  const auto gradients = program.parameters_argument("gradients", WEFT_ARGUMENT_DIRECTION_INPUT);
  program.update(parameters, momentum, gradients, sgd);
  return program.done();
}

}  // namespace weft::compiler
