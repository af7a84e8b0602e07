// Recognises operators of L1 as nodes of a Graph. A constant sum and a relu join the product before them where that
// changes no bit.
#include "host/compiler/partition/device_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

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

DeviceVerdict use_of_sum(const Module& module, const Op& op) {
  const bool constants[2] = {constant_behind(module, op.operands[0]) != nullptr,
                             constant_behind(module, op.operands[1]) != nullptr};
  if (!constants[0] && !constants[1]) {
    // Broadcast by the model: its own operator says so.
    return {DeviceUse::kVector, ""};
  }
  if (constants[0] && constants[1]) return {DeviceUse::kNone, "a sum of constants"};
  if (row_of(module, op.operands[constants[0] ? 0 : 1]).empty())
    return {DeviceUse::kNone, "a constant that is not the same for every row"};
  return {DeviceUse::kVector, ""};
}

}  // namespace

DeviceVerdict device_use(const Module& module, const Op& op) {
  if (op.kind == OpKind::kConstant) return {DeviceUse::kOperand, ""};
  if (op.kind == OpKind::kBroadcast && module.op_of(op.operands[0]).kind == OpKind::kConstant)
    return {DeviceUse::kOperand, ""};
  if (op.kind != OpKind::kDotGeneral && op.kind != OpKind::kAdd && op.kind != OpKind::kMaximum &&
      op.kind != OpKind::kReshape)
    return {DeviceUse::kNone, host_only(op)};
  const auto& type = module.type(op.results[0]);
  for (const auto value : op.operands)
    if (module.type(value).element != ir::ElementType::kF32 || type.element != ir::ElementType::kF32)
      return {DeviceUse::kNone, fmt::format("{} of {}", name_of(op.kind), module.type(value).text())};
  if (type.rank() == 0 || type.count() == 0 || module.type(op.operands[0]).rank() == 0 ||
      module.type(op.operands[0]).count() == 0)
    return {DeviceUse::kNone, "a scalar or an empty tensor"};
  if (op.kind == OpKind::kDotGeneral) return use_of_product(module, op);
  if (op.kind == OpKind::kAdd) return use_of_sum(module, op);
  if (op.kind == OpKind::kMaximum) {
    const bool relu = (is_zero(module, op.operands[0]) && constant_behind(module, op.operands[1]) == nullptr) ||
                      (is_zero(module, op.operands[1]) && constant_behind(module, op.operands[0]) == nullptr);
    return relu ? DeviceVerdict{DeviceUse::kVector, ""}
                : DeviceVerdict{DeviceUse::kNone, "a maximum of other than zero"};
  }
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
    const bool first_constant = constant_behind(module_, op.operands[0]) != nullptr;
    const bool constant = first_constant || constant_behind(module_, op.operands[1]) != nullptr;
    const size_t a = tensors_.at(op.operands[first_constant ? 1 : 0]);
    VectorNode vector;
    vector.name = op.origin;
    vector.a = a;
    if (op.kind == OpKind::kMaximum) {
      if (auto* dense = fusable(a)) {
        dense->relu = true;
        return fuse(op, a);
      }
      vector.op = WEFT_VPU_OP_MAX;
      vector.b = 0.0f;
    } else if (constant) {
      auto row = row_of(module_, op.operands[first_constant ? 0 : 1]);
      if (auto* dense = fusable(a); dense && !dense->bias && !dense->relu) {
        row.resize(dense->n, row.front());
        dense->bias = std::move(row);
        return fuse(op, a);
      }
      if (row.size() == 1)
        vector.b = row[0];
      else
        vector.b = std::move(row);
    } else {
      vector.b = tensors_.at(op.operands[1]);
    }
    vector.y = tensors_[op.results[0]] = new_tensor(op.origin, op.results[0]);
    graph_.nodes.emplace_back(std::move(vector));
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
