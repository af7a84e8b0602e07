// Where elements come from is found by moving their numbers with the reference.
#include "host/compiler/partition/value_views.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

#include "host/compiler/graph.hpp"
#include "host/compiler/reference/evaluate.hpp"

namespace weft::compiler {

using ir::Module;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

const Op* constant_behind(const Module& module, ValueId value) {
  const Op* op = &module.op_of(value);
  while (data_operands(*op) == 1 && op->operands.size() == 1) op = &module.op_of(op->operands[0]);
  return op->kind == OpKind::kConstant || op->kind == OpKind::kIota ? op : nullptr;
}

ir::TensorPtr constant_tensor_of(const Module& module, ValueId value) {
  const Op& op = module.op_of(value);
  if (op.kind == OpKind::kConstant) return op.constant;
  if (op.kind == OpKind::kIota) return reference::evaluate_op(op, {}, {module.type(value)})[0];
  return reference::evaluate_op(op, {constant_tensor_of(module, op.operands[0])}, {module.type(value)})[0];
}

std::vector<float> constant_values(const Module& module, ValueId value) {
  if (const auto& constant = constant_behind(module, value)->constant; constant && constant->type.count() == 1)
    return std::vector<float>(module.type(value).count(), static_cast<float>(constant->number(0)));
  const auto tensor = constant_tensor_of(module, value);
  if (tensor->type.element == ir::ElementType::kF32)
    return {tensor->as<float>(), tensor->as<float>() + tensor->type.count()};
  std::vector<float> values(tensor->type.count());
  for (uint64_t i = 0; i < values.size(); i++) values[i] = static_cast<float>(tensor->number(i));
  return values;
}

std::vector<int32_t> constant_integers(const Module& module, ValueId value) {
  const auto tensor = constant_tensor_of(module, value);
  std::vector<int32_t> values(tensor->type.count());
  for (uint64_t i = 0; i < values.size(); i++) values[i] = static_cast<int32_t>(tensor->integer(i));
  return values;
}

bool same_in_rows(const Module& module, ValueId value) {
  if (const auto& constant = constant_behind(module, value)->constant; constant && constant->type.count() == 1)
    return true;
  const auto columns = static_cast<ptrdiff_t>(matrix_shape(module.type(value).dims).columns);
  const auto values = constant_values(module, value);
  const auto bits = [](float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); };
  return std::equal(values.begin() + columns, values.end(), values.begin(), bits);
}

std::optional<std::vector<float>> repeated_row(const Module& module, ValueId value) {
  const Op& op = module.op_of(value);
  const auto& dims = module.type(value).dims;
  if (op.kind != OpKind::kBroadcast || op.list("dimensions") != ir::Dims{static_cast<int64_t>(dims.size()) - 1} ||
      module.type(op.operands[0]).dims != ir::Dims{dims.back()} || constant_behind(module, op.operands[0]) == nullptr)
    return std::nullopt;
  return constant_values(module, op.operands[0]);
}

bool is_elementwise_kind(OpKind kind) {
  switch (kind) {
    case OpKind::kAbs:
    case OpKind::kNegate:
    case OpKind::kSign:
    case OpKind::kNot:
    case OpKind::kCeil:
    case OpKind::kFloor:
    case OpKind::kRoundNearestEven:
    case OpKind::kExponential:
    case OpKind::kLog:
    case OpKind::kLogPlusOne:
    case OpKind::kLogistic:
    case OpKind::kSqrt:
    case OpKind::kRsqrt:
    case OpKind::kTanh:
    case OpKind::kErf:
    case OpKind::kReducePrecision:
    case OpKind::kAdd:
    case OpKind::kSubtract:
    case OpKind::kMultiply:
    case OpKind::kDivide:
    case OpKind::kRemainder:
    case OpKind::kPower:
    case OpKind::kMaximum:
    case OpKind::kMinimum:
    case OpKind::kAnd:
    case OpKind::kOr:
    case OpKind::kXor:
    case OpKind::kShiftLeft:
    case OpKind::kShiftRight:
    case OpKind::kShiftRightArithmetic:
    case OpKind::kBitcastConvert:
    case OpKind::kCompare:
    case OpKind::kSelect:
    case OpKind::kConvert:
      return true;
    default:
      return false;
  }
}

size_t data_operands(const Op& op) {
  switch (op.kind) {
    case OpKind::kBroadcast:
    case OpKind::kReshape:
    case OpKind::kTranspose:
    case OpKind::kSlice:
    case OpKind::kReverse:
    case OpKind::kGather:
    case OpKind::kDynamicSlice:
      return 1;
    case OpKind::kPad:
    case OpKind::kDynamicUpdateSlice:
      return 2;
    case OpKind::kConcatenate:
      return op.operands.size();
    default:
      return 0;
  }
}

uint64_t last_columns(const ir::Dims& dims) {
  uint64_t columns = 1;
  for (size_t d = dims.size(); d-- > 0 && columns == 1;) columns = static_cast<uint64_t>(dims[d]);
  return columns;
}

bool moves_to_known_places(const Module& module, const Op& op) {
  const size_t data = data_operands(op);
  for (size_t i = data; i < op.operands.size(); i++)
    if (constant_behind(module, op.operands[i]) == nullptr) return false;
  return data != 0;
}

namespace {

/// Element numbers that lie `strides` apart in each dimension.
std::vector<uint32_t> strided(const ir::Dims& sizes, const ir::Dims& strides, int64_t first) {
  std::vector<uint32_t> from{static_cast<uint32_t>(first)};
  for (size_t d = 0; d < sizes.size(); d++) {
    std::vector<uint32_t> wider;
    wider.reserve(from.size() * static_cast<size_t>(sizes[d]));
    for (const uint32_t at : from)
      for (int64_t i = 0; i < sizes[d]; i++) wider.push_back(at + static_cast<uint32_t>(i * strides[d]));
    from = std::move(wider);
  }
  return from;
}

/// Of a slice, a transposition or a repetition: as many steps as the result has elements, however large the operand is.
std::optional<std::vector<uint32_t>> strided_from(const Module& module, const Op& op) {
  const ir::Dims& sizes = module.type(op.results[0]).dims;
  const ir::Dims own = ir::strides_of(module.type(op.operands[0]).dims);
  ir::Dims strides(sizes.size());
  int64_t first = 0;
  if (op.kind == OpKind::kSlice) {
    for (size_t d = 0; d < sizes.size(); d++) {
      first += op.list("start")[d] * own[d];
      strides[d] = op.list("stride")[d] * own[d];
    }
  } else if (op.kind == OpKind::kTranspose) {
    for (size_t d = 0; d < sizes.size(); d++) strides[d] = own[static_cast<size_t>(op.list("permutation")[d])];
  } else if (op.kind == OpKind::kBroadcast) {
    const ir::Dims& to = op.list("dimensions");
    for (size_t d = 0; d < to.size(); d++)
      if (module.type(op.operands[0]).dims[d] != 1) strides[static_cast<size_t>(to[d])] = own[d];
  } else {
    return std::nullopt;
  }
  return strided(sizes, strides, first);
}

}  // namespace

std::vector<uint32_t> moved_from(const Module& module, const Op& op) {
  if (auto from = strided_from(module, op)) return std::move(*from);
  std::vector<ir::TensorPtr> operands;
  int32_t next = 0;
  for (size_t i = 0; i < op.operands.size(); i++) {
    if (i >= data_operands(op)) {
      operands.push_back(constant_tensor_of(module, op.operands[i]));
      continue;
    }
    auto numbers =
        std::make_shared<ir::Tensor>(ir::TensorType{ir::ElementType::kI32, module.type(op.operands[i]).dims});
    const uint64_t count = numbers->type.count();
    std::iota(numbers->as<int32_t>(), numbers->as<int32_t>() + count, next);
    next += static_cast<int32_t>(count);
    operands.push_back(std::move(numbers));
  }
  const auto moved =
      reference::evaluate_op(op, operands, {{ir::ElementType::kI32, module.type(op.results[0]).dims}})[0];
  return {moved->as<int32_t>(), moved->as<int32_t>() + moved->type.count()};
}

std::vector<uint32_t> permuted(const ir::Dims& sizes, const std::vector<size_t>& dims) {
  const ir::Dims own = ir::strides_of(sizes);
  ir::Dims ordered, strides;
  for (const size_t d : dims) ordered.push_back(sizes[d]), strides.push_back(own[d]);
  return strided(ordered, strides, 0);
}

}  // namespace weft::compiler
