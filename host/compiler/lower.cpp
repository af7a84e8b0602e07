// Graph -> Program.
#include "host/compiler/lower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "host/compiler/layout.hpp"
#include "host/compiler/program_constants.hpp"

namespace weft::compiler {
namespace {

/// As much of a node's name as tags of commands have room for.
std::string step_name(const std::string& node) { return node.substr(0, 32); }

class Lowering {
 public:
  /// `joined`: without numbers each input and output is an argument.
  Lowering(const spec::Chip& chip, const Graph& graph, JoinedArguments joined)
      : graph_(graph),
        one_(!joined.inputs.empty() || !joined.outputs.empty()),
        joined_(std::move(joined)),
        places_(graph.tensors.size()),
        output_(graph.tensors.size()),
        constants_(chip) {}

  Result<Program> run() {
    program_.name = graph_.name;
    if (!one_ && graph_.inputs.size() + graph_.outputs.size() >= WEFT_LIMIT_ARGUMENTS)
      return Error{WEFT_ERROR_UNSUPPORTED,
                   fmt::format("{} inputs and {} outputs; a kernel has room for {}", graph_.inputs.size(),
                               graph_.outputs.size(), WEFT_LIMIT_ARGUMENTS - 1)};
    for (const size_t t : graph_.outputs) output_[t] = true;
    add_arguments(graph_.inputs, joined_.inputs, WEFT_ARGUMENT_DIRECTION_INPUT);
    add_arguments(graph_.outputs, joined_.outputs, WEFT_ARGUMENT_DIRECTION_OUTPUT);
    for (const auto& node : graph_.nodes) std::visit([this](const auto& n) { add(n), name_node(n.name); }, node);
    program_.constants = constants_.take();
    return std::move(program_);
  }

 private:
  [[nodiscard]] uint64_t columns(size_t t) const { return graph_.tensors[t].columns; }
  [[nodiscard]] uint64_t rows(size_t t) const { return graph_.tensors[t].rows; }

  /// Names that are cut may be those of several nodes.
  void name_node(const std::string& name) {
    const auto [at, added] = program_.nodes.try_emplace(step_name(name), ModelNode{name, {}});
    ModelNode& known = at->second;
    if (!added && known.name != name) known.name = at->first + "..";
    if (const auto op_type = graph_.op_types.find(name); op_type != graph_.op_types.end())
      known.op_types.insert(op_type->second);
  }

  void add_arguments(const std::vector<size_t>& tensors, const std::vector<size_t>& joined,
                     weft_argument_direction direction) {
    const bool input = direction == WEFT_ARGUMENT_DIRECTION_INPUT;
    size_t added = 0, number = 0;
    const auto add = [&](size_t count) {
      for (const size_t end = added + count; added < end; added++) add_argument(tensors[added], direction);
    };
    for (const size_t count : joined) {
      add(count);
      join_arguments(fmt::format("{}puts {}", input ? "in" : "out", number++), direction);
    }
    add(tensors.size() - added);
  }

  void add_argument(size_t t, weft_argument_direction direction) {
    const Tensor& tensor = graph_.tensors[t];
    const auto lies = dtype_of(t);
    const auto dtype = lies == WEFT_VPU_DTYPE_I32   ? WEFT_ARGUMENT_DTYPE_I32
                       : lies == WEFT_VPU_DTYPE_F32 ? WEFT_ARGUMENT_DTYPE_F32
                                                    : WEFT_ARGUMENT_DTYPE_BF16;
    const uint64_t count = rows(t), pitch = row_pitch_bytes(columns(t), element_bytes(dtype));
    places_[t] = {static_cast<uint8_t>(3 + program_.arguments.size()), one_ ? joined_bytes_ : 0, pitch};
    program_.places.push_back({program_.arguments.size(), places_[t].offset_bytes, count * pitch});
    joined_bytes_ += count * pitch;
    if (one_) return;
    program_.arguments.push_back(
        {tensor.name, dtype, WEFT_ARGUMENT_LAYOUT_ROWS, direction, count, columns(t), pitch, count * pitch});
  }

  /// What has been added since the last call, as one argument; nothing, if it has no bytes.
  void join_arguments(const std::string& name, weft_argument_direction direction) {
    if (const uint64_t bytes = std::exchange(joined_bytes_, 0); bytes != 0)
      program_.arguments.push_back(
          {name, WEFT_ARGUMENT_DTYPE_F32, WEFT_ARGUMENT_LAYOUT_ROWS, direction, 1, bytes / 4, bytes, bytes});
  }

  TensorPlace scratch(uint64_t count, uint64_t row_columns, uint64_t element) {
    const TensorPlace place{2, program_.scratch_bytes, row_pitch_bytes(row_columns, element)};
    program_.scratch_bytes += count * place.pitch_bytes;
    return place;
  }

  /// An output has its argument; any other result gets a place in scratch.
  void make_place(size_t t) {
    if (!output_[t]) places_[t] = scratch(rows(t), columns(t), element_bytes_of(t));
  }

  /// How the tensor lies.
  [[nodiscard]] weft_vpu_dtype dtype_of(size_t t) const {
    const auto dtype = graph_.tensors[t].dtype;
    return output_[t] && dtype == WEFT_VPU_DTYPE_BF16 ? WEFT_VPU_DTYPE_F32 : dtype;
  }
  [[nodiscard]] uint64_t element_bytes_of(size_t t) const {
    return dtype_of(t) == WEFT_VPU_DTYPE_I8 ? 1 : dtype_of(t) == WEFT_VPU_DTYPE_BF16 ? 2 : 4;
  }

  template <typename Product>
  static weft_vpu_activation activation(const Product& node) {
    return node.relu ? WEFT_VPU_ACTIVATION_RELU : WEFT_VPU_ACTIVATION_NONE;
  }

  void add(const DenseNode& node) {
    make_place(node.y);
    DenseStep step;
    step.name = step_name(node.name);
    step.m = rows(node.x), step.k = node.k, step.n = node.n;
    step.x = places_[node.x];
    const bool int8 = dtype_of(node.x) == WEFT_VPU_DTYPE_I8;
    if (int8) step.dtype = WEFT_MXU_DTYPE_INT8;
    step.weights = int8 ? constants_.int8_weights(node, node.k) : constants_.weights(node, node.k);
    step.bias = constants_.bias(node);
    step.activation = activation(node);
    step.y = places_[node.y];
    step.y_dtype = dtype_of(node.y);
    step.of_model = node.of_model;
    program_.steps.emplace_back(std::move(step));
  }

  /// Where rows of an input stay together, what is read is the input's.
  [[nodiscard]] std::optional<TensorPlace> rows_of_input(const RearrangeNode& node) const {
    const size_t a = node.sources[0];
    const auto& from = *node.from;
    if (node.sources.size() != 1 || std::ranges::find(graph_.inputs, a) == graph_.inputs.end() || output_[node.y] ||
        dtype_of(a) != dtype_of(node.y) || columns(a) != columns(node.y) || from[0] % columns(a) != 0 ||
        std::ranges::adjacent_find(from, [](uint32_t i, uint32_t next) { return next != i + 1; }) != from.end())
      return std::nullopt;
    TensorPlace place = places_[a];
    place.offset_bytes += from[0] / columns(a) * place.pitch_bytes;
    return place;
  }

  void add(const RearrangeNode& node) {
    if (const auto place = rows_of_input(node)) return void(places_[node.y] = *place);
    make_place(node.y);
    RearrangeStep step{step_name(node.name),      rows(node.y),    columns(node.y), {}, node.from, places_[node.y],
                       dtype_of(node.sources[0]), dtype_of(node.y)};
    for (const size_t t : node.sources) step.sources.push_back({places_[t], rows(t), columns(t)});
    program_.steps.emplace_back(std::move(step));
  }
  void add(const ReduceNode& node) {
    make_place(node.y);
    program_.steps.emplace_back(ReduceStep{step_name(node.name), rows(node.a), columns(node.a), node.op,
                                           dtype_of(node.a), places_[node.a], places_[node.y]});
  }
  void add(const PairProductNode& node) {
    make_place(node.y);
    program_.steps.emplace_back(PairProductStep{step_name(node.name), node.batch, rows(node.x) / node.batch,
                                                columns(node.x), columns(node.y), places_[node.x], places_[node.w],
                                                places_[node.y], dtype_of(node.y), dtype_of(node.w)});
  }
  void add(const ConvolutionNode& node) {
    make_place(node.y);
    ConvolutionStep step;
    step.name = step_name(node.name);
    step.windows = node.windows;
    step.by_lines = node.order == ConvolutionNode::Order::kLines;
    step.spread = node.spread;
    for (const size_t t : node.sources) step.sources.push_back({places_[t], rows(t), columns(t), dtype_of(t)});
    step.k = node.k, step.n = node.n;
    step.int8 = node.int8, step.padding = node.padding, step.bytes = node.bytes;
    // One source of several would have taps of its own length.
    step.weights = node.int8 ? constants_.int8_weights(node, node.k / node.windows.tap_count())
                             : constants_.weights(node, node.spread[0] * node.spread[1] * node.k);
    step.bias = constants_.bias(node);
    step.activation = activation(node);
    step.y = places_[node.y];
    step.y_dtype = dtype_of(node.y);
    program_.steps.emplace_back(std::move(step));
  }
  void add(const CollectiveNode& node) {
    make_place(node.y);
    CollectiveStep step;
    step.name = step_name(node.name);
    step.what = node.what, step.group = node.group;
    step.rows = rows(node.x), step.cols = columns(node.x);
    step.dtype = dtype_of(node.x);
    step.x = places_[node.x], step.y = places_[node.y];
    if (node.what != Exchange::kSideBySide)
      step.landing = scratch((node.group.ranks() - 1) * rows(node.x), columns(node.y), element_bytes_of(node.x));
    program_.steps.emplace_back(std::move(step));
  }
  void add(const WindowNode& node) {
    make_place(node.y);
    WindowStep step{step_name(node.name), node.windows, node.op,         node.padding,    columns(node.x),
                    places_[node.x],      {},           places_[node.y], dtype_of(node.y)};
    if (!node.weights.empty()) {
      const auto packed = pack_rows_as(node.weights, node.windows.tap_count(), columns(node.x), WEFT_VPU_DTYPE_F32);
      step.weights = constants_.constant(packed.data(), packed.size(), row_pitch_bytes(columns(node.x), 4));
    }
    program_.steps.emplace_back(std::move(step));
  }
  void add(const RowsNode& node) {
    make_place(node.y);
    program_.steps.emplace_back(RowsStep{step_name(node.name), rows(node.y), columns(node.y), rows(node.table),
                                         dtype_of(node.table), places_[node.table], places_[node.indices],
                                         places_[node.y]});
  }
  void add(const ConstantNode& node) {
    const auto packed = node.integers.empty()
                            ? pack_rows_as(node.values, rows(node.y), columns(node.y), dtype_of(node.y))
                            : pack_rows(std::as_bytes(std::span(node.integers)), rows(node.y), columns(node.y), 4);
    places_[node.y] =
        constants_.constant(packed.data(), packed.size(), row_pitch_bytes(columns(node.y), element_bytes_of(node.y)));
  }

  /// The bits of an output, bf16 as f32, or another type: a multiplication by one in the type in which `a` lies.
  void add(const CopyNode& node) {
    make_place(node.y);
    VectorStep step = vector_step(node.name, node.a, node.y);
    step.op = WEFT_VPU_OP_MUL;
    step.b_mode = WEFT_VPU_B_MODE_SCALAR;
    step.scalar = bits_of(1.0f, step.dtype);
    step.bits = node.bits;
    if (step.y_dtype == WEFT_VPU_DTYPE_I8) {
      step.scalar = static_cast<uint32_t>(node.bytes.zero_point);
      step.scalar2 = std::bit_cast<uint32_t>(node.bytes.scale);
    }
    program_.steps.emplace_back(std::move(step));
  }

  VectorStep vector_step(const std::string& name, size_t a, size_t y) const {
    VectorStep step;
    step.name = step_name(name);
    step.rows = rows(a), step.cols = columns(y);
    step.dtype = dtype_of(a), step.y_dtype = dtype_of(y);
    step.a = places_[a], step.y = places_[y];
    step.uniform = graph_.tensors[y].uniform;
    return step;
  }
  static uint32_t bits_of(float value, weft_vpu_dtype dtype) {
    if (dtype == WEFT_VPU_DTYPE_I32) return static_cast<uint32_t>(static_cast<int32_t>(value));
    return dtype == WEFT_VPU_DTYPE_F32 ? std::bit_cast<uint32_t>(value) : bf16_from_f32(value);
  }

  void add(const VectorNode& node) {
    make_place(node.y);
    VectorStep step = vector_step(node.name, node.a, node.y);
    step.op = node.op;
    if (const auto* tensor = std::get_if<size_t>(&node.b)) {
      step.b_mode = WEFT_VPU_B_MODE_TENSOR;
      step.b = places_[*tensor];
    } else if (const auto* row = std::get_if<std::vector<float>>(&node.b)) {
      step.b_mode = WEFT_VPU_B_MODE_ROW;
      const auto packed = pack_rows_as(*row, 1, row->size(), step.dtype);
      step.b = constants_.constant(packed.data(), packed.size(), packed.size());
    } else if (const auto* scalar = std::get_if<float>(&node.b)) {
      step.b_mode = WEFT_VPU_B_MODE_SCALAR;
      step.scalar = bits_of(*scalar, step.dtype);
    } else if (const auto* integer = std::get_if<int32_t>(&node.b)) {
      step.b_mode = WEFT_VPU_B_MODE_SCALAR;
      step.scalar = static_cast<uint32_t>(*integer);
    } else {
      step.b_mode = WEFT_VPU_B_MODE_NONE;
    }
    if (node.op == WEFT_VPU_OP_FMA || node.op == WEFT_VPU_OP_AXPY || node.op == WEFT_VPU_OP_SELECT)
      step.scalar2 = bits_of(node.c, step.dtype);
    program_.steps.emplace_back(std::move(step));
  }

  const Graph& graph_;
  const bool one_;
  const JoinedArguments joined_;
  uint64_t joined_bytes_ = 0;
  std::vector<TensorPlace> places_;
  std::vector<bool> output_;
  ProgramConstants constants_;
  Program program_;
};

}  // namespace

Result<Program> lower(const spec::Chip& chip, const Graph& graph, Arguments arguments) {
  if (arguments == Arguments::kOne) return lower_joined(chip, graph, {{graph.inputs.size()}, {graph.outputs.size()}});
  return lower_joined(chip, graph, {});
}

Result<Program> lower_joined(const spec::Chip& chip, const Graph& graph, const JoinedArguments& joined) {
  if (auto status = check_graph(graph); !status.ok()) return status.error();
  return Lowering(chip, graph, joined).run();
}

}  // namespace weft::compiler
