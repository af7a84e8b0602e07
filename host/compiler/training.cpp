// A network as operators of L1, its gradients by the pass, and both as programs on a buffer of all parameters.
#include "host/compiler/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "base/round_up.hpp"
#include "host/compiler/ir/builder.hpp"
#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/ir/region.hpp"
#include "host/compiler/layout.hpp"
#include "host/compiler/lower.hpp"
#include "host/compiler/partition/device_graph.hpp"
#include "host/compiler/passes/gradients.hpp"
#include "host/compiler/passes/pass.hpp"

namespace weft::compiler {
namespace {

constexpr uint64_t kMaxWidth = 65535;

constexpr uint64_t kBlockRows = 64;  // whose gradients are computed together
constexpr auto kF32 = ir::ElementType::kF32;

/// Inputs: weights[k, n] and bias[n] of each layer, x[rows, k]. Output: scores.
ir::Module forward(const ParameterLayout& layout, uint64_t rows, const char* name) {
  ir::Module module;
  module.name = name;
  const auto dim = [](uint64_t d) { return static_cast<int64_t>(d); };
  for (size_t l = 0; l < layout.layers.size(); l++) {
    const auto& layer = layout.layers[l];
    module.add_parameter(fmt::format("layer {} weights", l), {kF32, {dim(layer.k), dim(layer.n)}});
    module.add_parameter(fmt::format("layer {} bias", l), {kF32, {dim(layer.n)}});
  }
  ir::ValueId value = module.add_parameter("x", {kF32, {dim(rows), dim(layout.layers.front().k)}});
  ir::Builder b(module);
  for (size_t l = 0; l < layout.layers.size(); l++) {
    b.origin.node = fmt::format("layer {}", l);
    value = b.plus(b.dot(value, module.inputs[2 * l], {}, {}, {1}, {0}, kF32), module.inputs[2 * l + 1]);
    if (l + 1 < layout.layers.size()) value = b.max(value, b.like(value, 0));
  }
  module.outputs = {{"scores", value}};
  return module;
}

/// Of up to kBlockRows rows. Behind the inputs of forward(): targets. Outputs: gradients of weights and biases, then the
/// loss. The largest score of a row only shifts the others, and its gradient would be zero.
Result<ir::Module> backward_of_block(const ParameterLayout& layout, uint64_t rows, float scale) {
  ir::Module module = forward(layout, rows, "gradient");
  const ir::ValueId scores = module.outputs[0].value, targets = module.add_parameter("targets", module.type(scores));
  ir::Builder b(module);
  b.origin.node = "softmax loss";
  const ir::ValueId largest = b.reduce("maximum", scores, {1}, ir::Builder::Keep::kYes), z = b.minus(scores, largest);
  const ir::ValueId sums = b.reduce("add", b.exp(z), {1}, ir::Builder::Keep::kNo),
                    own = b.reduce("add", b.times(z, targets), {1}, ir::Builder::Keep::kNo);
  const ir::ValueId losses = b.minus(b.log(sums), own);
  module.outputs = {{"loss", b.times(b.reduce("add", losses, {0}, ir::Builder::Keep::kNo), double{scale})}};
  passes::GradientRequest request{0, {}, {largest}};
  for (size_t i = 0; i < 2 * layout.layers.size(); i++) request.inputs.push_back(i);
  auto with = passes::with_gradients(module, request);
  if (with.ok()) std::ranges::rotate(with.value().outputs, with.value().outputs.begin() + 1);
  return with;
}

/// The same of any number of rows, block by block, so that memory does not grow with them.
Result<ir::Module> backward(const ParameterLayout& layout, uint64_t rows, float scale) {
  auto first = backward_of_block(layout, std::min(rows, kBlockRows), scale);
  if (!first.ok() || rows <= kBlockRows) return first;
  const auto last = backward_of_block(layout, rows % kBlockRows == 0 ? kBlockRows : rows % kBlockRows, scale);
  if (!last.ok()) return last.error();
  return ir::guarded([&] {
    ir::Module module = forward(layout, rows, "gradient");
    module.add_parameter("targets", module.type(module.outputs[0].value));
    ir::Builder b(module);
    std::vector<ir::ValueId> sums;
    for (uint64_t row = 0; row < rows; row += kBlockRows) {
      const auto from = static_cast<int64_t>(row), to = static_cast<int64_t>(std::min(rows, row + kBlockRows));
      auto arguments = module.inputs;
      b.origin.node = fmt::format("rows {}..", row);
      for (size_t i = 2 * layout.layers.size(); i < arguments.size(); i++)
        arguments[i] = b.slice_of(arguments[i], 0, from, to);
      const auto of_block = ir::write_out(module, row + kBlockRows < rows ? first.value() : last.value(), arguments);
      for (size_t i = 0; i < of_block.size(); i++)
        if (row == 0)
          sums.push_back(of_block[i]);
        else
          sums[i] = b.plus(sums[i], of_block[i]);
    }
    module.outputs.clear();
    for (size_t i = 0; i < sums.size(); i++) module.outputs.push_back({first.value().outputs[i].name, sums[i]});
    return module;
  });
}

/// All of it as one device program: inputs and outputs that lie one behind the other as `joined` says. Parameters, and their
/// gradients, lie as in a buffer of the layout.
Result<Program> device_program(const spec::Chip& chip, const ParameterLayout& layout, Result<ir::Module> made,
                               const JoinedArguments& joined) {
  if (made.ok()) made = passes::run_all(std::move(made.value()));
  if (!made.ok()) return made.error();
  const ir::Module& module = made.value();
  const size_t parameters = 2 * layout.layers.size();
  LoopState state;
  if (module.outputs.size() > parameters) state.count = parameters;
  for (const auto& layer : layout.layers) state.columns.insert(state.columns.end(), {layer.n, layer.n});
  state.columns.push_back(layout.layers.front().k);
  std::vector<uint32_t> ops;
  std::vector<ir::Output> inputs;
  for (const ir::ValueId input : module.inputs) inputs.push_back({module.input_name(input), input});
  for (uint32_t i = 0; i < module.ops().size(); i++)
    if (module.ops()[i].kind != ir::OpKind::kParameter) ops.push_back(i);
  const auto graph = device_graph(module, ops, inputs, module.outputs, state);
  if (!graph.ok()) return graph.error();
  return lower_joined(chip, graph.value(), joined);
}

Result<ParameterLayout> checked_layout(const spec::Chip& chip, const DenseNetwork& network, uint64_t rows) {
  auto layout = parameter_layout(chip, network);
  if (layout.ok() && (rows == 0 || rows > kMaxWidth))
    return Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("a batch of {} rows: 1 to {} are possible", rows, kMaxWidth)};
  return layout;
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
  const auto take = [&next](uint64_t bytes) { return std::exchange(next, next + bytes); };
  for (size_t l = 0; l + 1 < widths.size(); l++) {
    ParameterLayout::Layer layer;
    layer.k = widths[l], layer.n = widths[l + 1];
    layer.weights_pitch = row_pitch_bytes(layer.n, 4);
    layer.weights_offset = take(layer.k * layer.weights_pitch);
    layer.bias_offset = take(row_pitch_bytes(layer.n, 4));
    layout.layers.push_back(layer);
  }
  layout.parameter_bytes = round_up(next, chip.n * sizeof(float));
  layout.loss_offset = round_up(layout.parameter_bytes, 64);
  layout.bytes = layout.loss_offset + 64;
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
  const auto layout = checked_layout(chip, network, rows);
  if (!layout.ok()) return layout.error();
  return device_program(chip, layout.value(), forward(layout.value(), rows, "scores"),
                        {{2 * layout.value().layers.size(), 1}, {1}});
}

Result<Program> gradient_program(const spec::Chip& chip, const DenseNetwork& network, uint64_t rows, float scale) {
  const auto layout = checked_layout(chip, network, rows);
  if (!layout.ok()) return layout.error();
  const size_t parameters = 2 * layout.value().layers.size();
  return device_program(chip, layout.value(), backward(layout.value(), rows, scale),
                        {{parameters, 1, 1}, {parameters, 1}});
}

/// All elements of the buffers alike, in rows of N.
Result<Program> update_program(const spec::Chip& chip, const DenseNetwork& network, const Sgd& sgd) {
  const auto layout = parameter_layout(chip, network);
  if (!layout.ok()) return layout.error();
  const uint64_t bytes = layout.value().bytes, pitch = chip.n * sizeof(float);
  Program program;
  program.name = "update";
  const auto argument = [&](const char* name, weft_argument_direction direction) {
    program.arguments.push_back(
        {name, WEFT_ARGUMENT_DTYPE_F32, WEFT_ARGUMENT_LAYOUT_ROWS, direction, 1, bytes / 4, bytes, bytes});
    return TensorPlace{static_cast<uint8_t>(2 + program.arguments.size()), 0, pitch};
  };
  const TensorPlace parameters = argument("parameters", WEFT_ARGUMENT_DIRECTION_SCRATCH),
                    momentum = argument("momentum", WEFT_ARGUMENT_DIRECTION_SCRATCH),
                    gradients = argument("gradients", WEFT_ARGUMENT_DIRECTION_INPUT);
  VectorStep step;
  step.rows = layout.value().parameter_bytes / pitch, step.cols = chip.n;
  step.op = WEFT_VPU_OP_AXPY;
  step.dtype = step.y_dtype = WEFT_VPU_DTYPE_F32;
  step.name = "momentum";
  step.a = step.y = momentum;
  step.b = gradients;
  step.scalar2 = std::bit_cast<uint32_t>(sgd.momentum);
  program.steps.emplace_back(step);
  step.name = "parameters";
  step.b = step.y = parameters;
  step.scalar2 = std::bit_cast<uint32_t>(-sgd.rate);
  program.steps.emplace_back(step);
  return program;
}

}  // namespace weft::compiler
