// Recognises operators of L1 as nodes of a Graph. A constant sum and a relu join the product before them where that
// changes no bit.
#include "host/compiler/partition/device_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>
#include <variant>

#include "host/compiler/reference/evaluate.hpp"

namespace weft::compiler {
namespace {

using ir::Dims;
using ir::Module;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

constexpr uint64_t kMaxRow = 1u << 26;  // columns of a constant that is repeated

/// The constant behind a value, or behind what repeats it; null: it is computed.
const Op* constant_behind(const Module& module, ValueId value) {
  const Op& op = module.op_of(value);
  if (op.kind == OpKind::kConstant) return &op;
  if (op.kind == OpKind::kBroadcast && module.op_of(op.operands[0]).kind == OpKind::kConstant)
    return &module.op_of(op.operands[0]);
  return nullptr;
}

/// One row of a constant that is the same for every row of the tensor that it is added to; a single element if it is
/// the same for every column too. Empty: it is not.
std::vector<float> row_of(const Module& module, ValueId value) {
  const ir::TensorType& type = module.type(value);
  const Op& constant = *constant_behind(module, value);
  if (constant.constant->type.count() == 1) return {constant.constant->as<float>()[0]};
  const auto shape = matrix_shape(type.dims);
  if (shape.columns > kMaxRow) return {};
  const Op& op = module.op_of(value);
  ir::TensorPtr row = constant.constant;
  if (&op != &constant) {
    Op first = op;
    Dims dims = type.dims;
    if (shape.rows != 1) {
      const auto& where = op.list("dimensions");
      for (size_t i = 0; i < where.size(); i++)
        if (where[i] == 0 && constant.constant->type.dims[i] != 1) return {};
      dims[0] = 1;
    }
    first.attributes["dims"] = dims;
    row = reference::evaluate_op(first, {constant.constant}, {{type.element, dims}})[0];
  } else if (shape.rows != 1) {
    return {};
  }
  return {row->as<float>(), row->as<float>() + row->type.count()};
}

bool is_zero(const Module& module, ValueId value) {
  const Op* constant = constant_behind(module, value);
  return constant != nullptr && constant->constant->type.count() == 1 && constant->constant->number(0) == 0;
}

/// What the VPU computes in f32: functions of one operand, and operations of two of which one may be constant.
bool is_function(OpKind kind) {
  switch (kind) {
    case OpKind::kAbs:
    case OpKind::kNegate:
    case OpKind::kExponential:
    case OpKind::kLog:
    case OpKind::kLogistic:
    case OpKind::kSqrt:
    case OpKind::kTanh:
    case OpKind::kErf:
      return true;
    default:
      return false;
  }
}
bool is_operation(OpKind kind) {
  switch (kind) {
    case OpKind::kAdd:
    case OpKind::kSubtract:
    case OpKind::kMultiply:
    case OpKind::kDivide:
    case OpKind::kMaximum:
    case OpKind::kMinimum:
      return true;
    default:
      return false;
  }
}

std::string host_only(const Op& op) { return fmt::format("no command for {}", name_of(op.kind)); }

DeviceVerdict use_of_product(const Module& module, const Op& op) {
  const auto &a = module.type(op.operands[0]), &b = module.type(op.operands[1]);
  if (op.attributes.contains("precision")) return {DeviceUse::kNone, "a product of more than one pass of bf16"};
  if (module.op_of(op.operands[1]).kind != OpKind::kConstant || constant_behind(module, op.operands[0]) != nullptr)
    return {DeviceUse::kNone, "a product of two computed tensors"};
  const bool matrices =
      a.rank() == 2 && b.rank() == 2 && op.list("lhs_contract") == Dims{1} && op.list("rhs_contract") == Dims{0};
  return matrices ? DeviceVerdict{DeviceUse::kProduct, ""}
                  : DeviceVerdict{DeviceUse::kNone, "a product of other than matrices"};
}

DeviceVerdict use_of_vector(const Module& module, const Op& op) {
  if (is_function(op.kind))
    return constant_behind(module, op.operands[0]) == nullptr
               ? DeviceVerdict{DeviceUse::kVector, ""}
               : DeviceVerdict{DeviceUse::kNone, "a function of a constant"};
  const bool constants[2] = {constant_behind(module, op.operands[0]) != nullptr,
                             constant_behind(module, op.operands[1]) != nullptr};
  if (constants[0] && constants[1]) return {DeviceUse::kNone, "an operation on constants"};
  // Broadcast by the model: its own operator says so.
  if (!constants[0] && !constants[1]) return {DeviceUse::kVector, ""};
  const auto row = row_of(module, op.operands[constants[0] ? 0 : 1]);
  if (row.empty()) return {DeviceUse::kNone, "a constant that is not the same for every row"};
  const auto has_no_reciprocal = [](float v) { return v != 0 && std::fpclassify(1 / v) == FP_SUBNORMAL; };
  if (op.kind == OpKind::kDivide && constants[1] && std::ranges::any_of(row, has_no_reciprocal))
    return {DeviceUse::kNone, "a division by a number whose reciprocal is too small"};
  return {DeviceUse::kVector, ""};
}

}  // namespace

DeviceVerdict device_use(const Module& module, const Op& op) {
  if (op.kind == OpKind::kConstant) return {DeviceUse::kOperand, ""};
  if (op.kind == OpKind::kBroadcast && module.op_of(op.operands[0]).kind == OpKind::kConstant)
    return {DeviceUse::kOperand, ""};
  if (op.kind != OpKind::kDotGeneral && op.kind != OpKind::kReshape && !is_function(op.kind) && !is_operation(op.kind))
    return {DeviceUse::kNone, host_only(op)};
  const auto& type = module.type(op.results[0]);
  for (const auto value : op.operands)
    if (module.type(value).element != ir::ElementType::kF32 || type.element != ir::ElementType::kF32)
      return {DeviceUse::kNone, fmt::format("{} of {}", name_of(op.kind), module.type(value).text())};
  if (type.rank() == 0 || type.count() == 0 || module.type(op.operands[0]).rank() == 0 ||
      module.type(op.operands[0]).count() == 0)
    return {DeviceUse::kNone, "a scalar or an empty tensor"};
  if (op.kind == OpKind::kDotGeneral) return use_of_product(module, op);
  if (op.kind != OpKind::kReshape) return use_of_vector(module, op);
  if (constant_behind(module, op.operands[0]) != nullptr) return {DeviceUse::kNone, "a reshape of a constant"};
  const bool same = matrix_shape(type.dims) == matrix_shape(module.type(op.operands[0]).dims);
  return same ? DeviceVerdict{DeviceUse::kView, ""}
              : DeviceVerdict{DeviceUse::kNone, "a reshape that moves elements between rows"};
}

namespace {

class GraphBuilder {
 public:
  GraphBuilder(const Module& module, std::span<const uint32_t> ops) : module_(module), ops_(ops) {}

  Result<Graph> run(const std::vector<ir::Output>& inputs, const std::vector<ir::Output>& outputs) {
    graph_.name = module_.name;
    count_readers(outputs);
    for (const auto& input : inputs) {
      tensors_[input.value] = new_tensor(input.name, input.value);
      graph_.inputs.push_back(tensors_.at(input.value));
    }
    for (const uint32_t index : ops_) add(module_.ops()[index]);
    keep_outputs_apart(outputs);
    settle_types();
    if (auto status = check_graph(graph_); !status.ok()) return status.error();
    return std::move(graph_);
  }

 private:
  /// Views read nothing: their readers read what they view.
  void count_readers(const std::vector<ir::Output>& outputs) {
    std::map<ValueId, ValueId> viewed;
    const auto root = [&](ValueId value) {
      const auto found = viewed.find(value);
      return found == viewed.end() ? value : found->second;
    };
    for (const uint32_t index : ops_) {
      const Op& op = module_.ops()[index];
      if (device_use(module_, op).use == DeviceUse::kView) {
        viewed[op.results[0]] = root(op.operands[0]);
        continue;
      }
      for (const auto operand : op.operands) readers_[root(operand)]++;
    }
    for (const auto& output : outputs) readers_[root(output.value)]++;
  }

  size_t new_tensor(const std::string& name, ValueId value) {
    const auto& dims = module_.type(value).dims;
    const auto shape = matrix_shape(dims);
    graph_.tensors.push_back({name, dims, shape.rows, shape.columns});
    roots_.push_back(value);
    return graph_.tensors.size() - 1;
  }

  void add(const Op& op) {
    switch (device_use(module_, op).use) {
      case DeviceUse::kProduct:
        return add_product(op);
      case DeviceUse::kVector:
        return add_vector(op);
      case DeviceUse::kView:
        tensors_[op.results[0]] = tensors_.at(op.operands[0]);
        return;
      case DeviceUse::kOperand:
      case DeviceUse::kNone:
        return;
    }
  }

  void add_product(const Op& op) {
    const auto& w = *module_.op_of(op.operands[1]).constant;
    DenseNode dense;
    dense.name = op.origin;
    dense.x = tensors_.at(op.operands[0]);
    dense.k = static_cast<uint64_t>(w.type.dims[0]), dense.n = static_cast<uint64_t>(w.type.dims[1]);
    dense.weights.assign(w.as<float>(), w.as<float>() + w.type.count());
    dense.y = tensors_[op.results[0]] = new_tensor(op.origin, op.results[0]);
    producer_[dense.y] = graph_.nodes.size();
    graph_.nodes.emplace_back(std::move(dense));
  }

  /// The product that made a tensor which one operator reads.
  DenseNode* fusable(size_t tensor) {
    const auto made = producer_.find(tensor);
    return made == producer_.end() || readers_[roots_[tensor]] != 1
               ? nullptr
               : std::get_if<DenseNode>(&graph_.nodes[made->second]);
  }
  /// The operator has become part of the product: its result is the same tensor.
  void fuse(const Op& op, size_t tensor) {
    tensors_[op.results[0]] = tensor;
    readers_[roots_[tensor]] = readers_[op.results[0]];
    graph_.tensors[tensor].dims = module_.type(op.results[0]).dims;
  }

  void add_vector(const Op& op) {
    if (is_function(op.kind)) {
      tensors_[op.results[0]] = function(op, tensors_.at(op.operands[0]));
      return;
    }
    const bool first = constant_behind(module_, op.operands[0]) != nullptr;
    if (!first && constant_behind(module_, op.operands[1]) == nullptr) {
      tensors_[op.results[0]] = operation(op, tensors_.at(op.operands[0]), tensors_.at(op.operands[1]), false);
      return;
    }
    const size_t a = tensors_.at(op.operands[first ? 1 : 0]);
    auto* dense = fusable(a);
    if (dense != nullptr && op.kind == OpKind::kMaximum && is_zero(module_, op.operands[first ? 0 : 1])) {
      dense->relu = true;
      return fuse(op, a);
    }
    auto row = row_of(module_, op.operands[first ? 0 : 1]);
    if (dense != nullptr && op.kind == OpKind::kAdd && !dense->bias && !dense->relu) {
      row.resize(dense->n, row.front());
      dense->bias = std::move(row);
      return fuse(op, a);
    }
    const Second b = row.size() == 1 ? Second(row[0]) : Second(std::move(row));
    tensors_[op.results[0]] = operation(op, a, b, first);
  }

  using Second = decltype(VectorNode::b);

  /// A node on f32; its result.
  size_t emit(const Op& op, weft_vpu_op what, size_t a, Second b = std::monostate{}, float c = 0) {
    VectorNode vector{op.origin, what, a, new_tensor(op.origin, op.results[0]), std::move(b), c};
    graph_.nodes.emplace_back(std::move(vector));
    return graph_.tensors.size() - 1;
  }

  size_t function(const Op& op, size_t a) {
    constexpr auto kLog2E = std::numbers::log2e_v<float>;
    switch (op.kind) {
      case OpKind::kAbs:
        return emit(op, WEFT_VPU_OP_MAX, a, emit(op, WEFT_VPU_OP_MUL, a, -1.0f));
      case OpKind::kNegate:
        return emit(op, WEFT_VPU_OP_MUL, a, -1.0f);
      case OpKind::kExponential:
        return emit(op, WEFT_VPU_OP_EXP2, emit(op, WEFT_VPU_OP_MUL, a, kLog2E));
      case OpKind::kLog:
        return emit(op, WEFT_VPU_OP_MUL, emit(op, WEFT_VPU_OP_LOG2, a), std::numbers::ln2_v<float>);
      case OpKind::kLogistic: {  // 1 / (1 + exp(-a)): small results keep their digits
        const size_t power = emit(op, WEFT_VPU_OP_EXP2, emit(op, WEFT_VPU_OP_MUL, a, -kLog2E));
        return emit(op, WEFT_VPU_OP_RCP, emit(op, WEFT_VPU_OP_ADD, power, 1.0f));
      }
      case OpKind::kSqrt:  // of zero and infinity too, which a * rsqrt(a) is not
        return emit(op, WEFT_VPU_OP_RCP, emit(op, WEFT_VPU_OP_RSQRT, a));
      case OpKind::kTanh:
        return emit(op, WEFT_VPU_OP_TANH, a);
      default:
        return emit(op, WEFT_VPU_OP_ERF, a);
    }
  }

  /// a op b; `reversed`: b op a, where b is constant.
  size_t operation(const Op& op, size_t a, Second b, bool reversed) {
    switch (op.kind) {
      case OpKind::kAdd:
        return emit(op, WEFT_VPU_OP_ADD, a, std::move(b));
      case OpKind::kMultiply:
        return emit(op, WEFT_VPU_OP_MUL, a, std::move(b));
      case OpKind::kMaximum:
        return emit(op, WEFT_VPU_OP_MAX, a, std::move(b));
      case OpKind::kMinimum:
        return emit(op, WEFT_VPU_OP_MIN, a, std::move(b));
      case OpKind::kSubtract:
        return reversed ? emit(op, WEFT_VPU_OP_AXPY, a, std::move(b), -1.0f)
                        : emit(op, WEFT_VPU_OP_SUB, a, std::move(b));
      default:
        if (reversed) return emit(op, WEFT_VPU_OP_MUL, emit(op, WEFT_VPU_OP_RCP, a), std::move(b));
        return emit(op, WEFT_VPU_OP_MUL, a, reciprocal(op, std::move(b)));
    }
  }
  Second reciprocal(const Op& op, Second b) {
    if (const auto* tensor = std::get_if<size_t>(&b)) return emit(op, WEFT_VPU_OP_RCP, *tensor);
    if (const auto* scalar = std::get_if<float>(&b)) return 1 / *scalar;
    auto row = std::get<std::vector<float>>(std::move(b));
    for (float& value : row) value = 1 / value;
    return row;
  }

  /// What only products read is bf16, rounded by what computes it. Anything else is f32; a product reads a rounded
  /// copy.
  void settle_types() {
    std::vector<bool> by_product(graph_.tensors.size()), by_other(graph_.tensors.size());
    for (const auto& node : graph_.nodes) {
      if (const auto* dense = std::get_if<DenseNode>(&node)) by_product[dense->x] = true;
      if (const auto* copy = std::get_if<CopyNode>(&node)) by_other[copy->a] = true;
      if (const auto* vector = std::get_if<VectorNode>(&node)) {
        by_other[vector->a] = true;
        if (const auto* b = std::get_if<size_t>(&vector->b)) by_other[*b] = true;
      }
    }
    for (size_t t = 0; t < by_other.size(); t++)
      if (by_other[t]) graph_.tensors[t].dtype = WEFT_VPU_DTYPE_F32;
    std::map<size_t, size_t> rounded;
    std::vector<Node> nodes;
    for (auto& node : graph_.nodes) {
      if (auto* dense = std::get_if<DenseNode>(&node); dense != nullptr && by_other[dense->x]) {
        const auto [found, first] = rounded.emplace(dense->x, graph_.tensors.size());
        if (first) {
          Tensor tensor = graph_.tensors[dense->x];
          tensor.dtype = WEFT_VPU_DTYPE_BF16;
          graph_.tensors.push_back(std::move(tensor));
          nodes.emplace_back(CopyNode{dense->name, found->first, found->second});
        }
        dense->x = found->second;
      }
      nodes.push_back(std::move(node));
    }
    graph_.nodes = std::move(nodes);
  }

  /// An output that nodes read too, that is an input, or that is two outputs at once gets a copy of its own.
  void keep_outputs_apart(const std::vector<ir::Output>& outputs) {
    std::set<size_t> taken(graph_.inputs.begin(), graph_.inputs.end());
    for (const auto& node : graph_.nodes) {
      if (const auto* dense = std::get_if<DenseNode>(&node)) taken.insert(dense->x);
      if (const auto* vector = std::get_if<VectorNode>(&node)) {
        taken.insert(vector->a);
        if (const auto* b = std::get_if<size_t>(&vector->b)) taken.insert(*b);
      }
    }
    for (const auto& output : outputs) {
      const size_t tensor = tensors_.at(output.value);
      Tensor named = graph_.tensors[tensor];
      named.name = output.name;
      named.dims = module_.type(output.value).dims;
      if (taken.insert(tensor).second) {
        graph_.tensors[tensor] = std::move(named);
        graph_.outputs.push_back(tensor);
        continue;
      }
      graph_.nodes.emplace_back(CopyNode{named.name, tensor, graph_.tensors.size()});
      graph_.outputs.push_back(graph_.tensors.size());
      graph_.tensors.push_back(std::move(named));
    }
  }

  const Module& module_;
  std::span<const uint32_t> ops_;
  Graph graph_;
  std::map<ValueId, size_t> tensors_;
  std::vector<ValueId> roots_;         ///< by tensor: the value that it was made for
  std::map<ValueId, int> readers_;     ///< operators that compute, and outputs
  std::map<size_t, size_t> producer_;  ///< tensor -> node, products only
};

}  // namespace

Result<Graph> device_graph(const Module& module, std::span<const uint32_t> ops, const std::vector<ir::Output>& inputs,
                           const std::vector<ir::Output>& outputs) {
  return GraphBuilder(module, ops).run(inputs, outputs);
}

Result<Graph> whole_device_graph(const Module& module) {
  std::vector<uint32_t> ops;
  std::vector<ir::Output> inputs;
  for (const ValueId input : module.inputs) {
    const auto& type = module.type(input);
    const auto& name = module.input_name(input);
    if (type.element != ir::ElementType::kF32 || type.rank() == 0 || type.count() == 0)
      return Error{WEFT_ERROR_UNSUPPORTED,
                   fmt::format("input '{}' is {}; the device takes f32 of one dimension and more", name, type.text())};
    inputs.push_back({name, input});
  }
  for (uint32_t i = 0; i < module.ops().size(); i++) {
    const Op& op = module.ops()[i];
    if (op.kind == OpKind::kParameter) continue;
    const auto verdict = device_use(module, op);
    if (verdict.use == DeviceUse::kNone)
      return Error{WEFT_ERROR_UNSUPPORTED,
                   fmt::format("'{}' ({}) is for the host: {}", op.origin, name_of(op.kind), verdict.reason)};
    ops.push_back(i);
  }
  for (const auto& output : module.outputs)
    if (device_use(module, module.op_of(output.value)).use == DeviceUse::kOperand)
      return Error{WEFT_ERROR_UNSUPPORTED,
                   fmt::format("output '{}' is a constant: it is computed by no node from an input", output.name)};
  return device_graph(module, ops, inputs, module.outputs);
}

}  // namespace weft::compiler
