// Which operators of L1 a device program may have, and why it may not have the others.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/compiler/partition/device_graph.hpp"
#include "host/compiler/partition/integer_products.hpp"
#include "host/compiler/partition/patterns.hpp"
#include "host/compiler/partition/value_views.hpp"

namespace weft::compiler {
namespace {

using ir::Dims;
using ir::ElementType;
using ir::Module;
using ir::Op;
using ir::OpKind;

constexpr uint64_t kMaxMoved = 1u << 22;  // elements of a tensor whose elements are moved one by one
constexpr uint64_t kMaxTaps = 1024;       // of a window, and factors of a product of elements

DeviceVerdict host(std::string reason) { return {DeviceUse::kNone, std::move(reason)}; }

/// f32, pred, which is 0 or 1 in f32, i32 and u32; `narrow`: shorter integers too.
bool has_type(ElementType type, bool narrow) {
  return type == ElementType::kF32 || type == ElementType::kPred || is_word(type) || (narrow && is_narrow(type));
}

/// What the vector unit does with i32 and u32.
bool on_integers(OpKind kind) {
  switch (kind) {
    case OpKind::kAbs:
    case OpKind::kNegate:
    case OpKind::kAdd:
    case OpKind::kSubtract:
    case OpKind::kMultiply:
    case OpKind::kMaximum:
    case OpKind::kMinimum:
    case OpKind::kCompare:
    case OpKind::kSelect:
    case OpKind::kConvert:
    case OpKind::kDivide:
    case OpKind::kRemainder:
    case OpKind::kNot:
    case OpKind::kAnd:
    case OpKind::kOr:
    case OpKind::kXor:
    case OpKind::kShiftLeft:
    case OpKind::kShiftRight:
    case OpKind::kShiftRightArithmetic:
    case OpKind::kBitcastConvert:
      return true;
    default:
      return false;
  }
}

bool no_small_reciprocal(const Module& module, ir::ValueId value) {
  const auto values = constant_values(module, value);
  return std::ranges::none_of(values, [](float v) { return v != 0 && std::fpclassify(1 / v) == FP_SUBNORMAL; });
}

DeviceVerdict use_of_product(const Module& module, const Op& op, DeviceScope scope) {
  const auto &a = module.type(op.operands[0]), &b = module.type(op.operands[1]);
  if (op.attributes.contains("precision")) return host("a product of more than one pass of bf16");
  const bool constants[2] = {constant_behind(module, op.operands[0]) != nullptr,
                             constant_behind(module, op.operands[1]) != nullptr};
  if (constants[0] && constants[1]) return host("a product of constants");
  if (scope == DeviceScope::kAll) return {DeviceUse::kProduct, ""};
  if (module.op_of(op.operands[1]).kind != OpKind::kConstant || constants[0])
    return host("a product of two computed tensors");
  const bool matrices =
      a.rank() == 2 && b.rank() == 2 && op.list("lhs_contract") == Dims{1} && op.list("rhs_contract") == Dims{0};
  return matrices ? DeviceVerdict{DeviceUse::kProduct, ""} : host("a product of other than matrices");
}

DeviceVerdict use_of_convolution(const Module& module, const Op& op) {
  const auto &w = module.type(op.operands[1]), &y = module.type(op.results[0]);
  const uint64_t patches = y.count() / static_cast<uint64_t>(w.dims[0]) * static_cast<uint64_t>(op.integer("groups")) *
                           (w.count() / static_cast<uint64_t>(w.dims[0]));
  if (op.attributes.contains("precision") && !is_depthwise(module, op))
    return host("a convolution of more than one pass of bf16");
  if (constant_behind(module, op.operands[0]) != nullptr) return host("a convolution of a constant");
  const bool images = is_windows_product(module, op) &&
                      (!lies_as_i32(module.type(op.results[0]).element) || is_product_of_bytes(module, op));
  if (!images && !is_depthwise(module, op) && patches > kMaxMoved)
    return host(fmt::format("a convolution with {} elements under its windows", patches));
  return {DeviceUse::kProduct, ""};
}

DeviceVerdict use_of_elementwise(const Module& module, const Op& op, DeviceScope scope) {
  const auto constant = [&](size_t i) { return constant_behind(module, op.operands[i]) != nullptr; };
  bool all = true;
  for (size_t i = 0; i < op.operands.size(); i++) all = all && constant(i);
  if (all) return host(op.operands.size() == 1 ? "a function of a constant" : "an operation on constants");
  if (op.kind == OpKind::kReducePrecision && (op.integer("exponent_bits") != 8 || op.integer("mantissa_bits") != 7))
    return host("a reduce_precision to another type than bf16");
  if (op.kind == OpKind::kDivide && constant(1) && !is_word(module.type(op.operands[1]).element) &&
      !no_small_reciprocal(module, op.operands[1]))
    return host("a division by a number whose reciprocal is too small");
  if (scope == DeviceScope::kMatrices)
    for (const auto value : op.operands)
      if (constant_behind(module, value) != nullptr && !same_in_rows(module, value))
        return host("a constant that is not the same for every row");
  return {DeviceUse::kVector, ""};
}

DeviceVerdict use_of_movement(const Module& module, const Op& op) {
  const size_t data = data_operands(op);
  bool all = true;
  for (size_t i = 0; i < data; i++) all = all && constant_behind(module, op.operands[i]) != nullptr;
  if (!moves_to_known_places(module, op)) {
    const std::string reason = refusal_of_places(module, op, kMaxMoved);
    return reason.empty() ? DeviceVerdict{DeviceUse::kVector, ""} : host(reason);
  }
  if (all) return host(fmt::format("a {} of a constant", name_of(op.kind)));
  uint64_t elements = module.type(op.results[0]).count();
  for (size_t i = 0; i < data && op.kind != OpKind::kSlice; i++)  // what a slice leaves out costs nothing
    elements = std::max(elements, module.type(op.operands[i]).count());
  if (op.kind != OpKind::kReshape && elements > kMaxMoved)
    return host(fmt::format("{} of {} elements", name_of(op.kind), elements));
  return {DeviceUse::kView, ""};
}

DeviceVerdict use_of_reduction(const Module& module, const Op& op) {
  const auto &in = module.type(op.operands[0]), &out = module.type(op.results[0]);
  if (constant_behind(module, op.operands[0]) != nullptr)
    return host(fmt::format("a {} of a constant", name_of(op.kind)));
  if (const auto& kind = op.word("kind"); lies_as_i32(in.element) && (kind == "and" || kind == "or"))
    return host(fmt::format("{} by {} of integers", name_of(op.kind), kind));
  const bool windows = op.kind == OpKind::kReduceWindow && is_window_fold(module, op);
  if (!windows && in.count() > kMaxMoved) return host(fmt::format("{} of {} elements", name_of(op.kind), in.count()));
  const uint64_t taps = op.kind == OpKind::kReduceWindow ? ir::count_of(op.list("window")) : in.count() / out.count();
  if ((op.kind == OpKind::kReduceWindow || op.word("kind") == "multiply") && taps > kMaxTaps)
    return host(fmt::format("{} of {} elements each", name_of(op.kind), taps));
  return {DeviceUse::kVector, ""};
}

DeviceVerdict use_of_search(const Module& module, const Op& op) {
  if (!search_of(module, op)) return host("a reduce_by that is no argmax and no argmin");
  if (constant_behind(module, op.operands[0]) != nullptr) return host("a reduce_by of a constant");
  if (const auto& in = module.type(op.operands[0]); in.count() > kMaxMoved)
    return host(fmt::format("reduce_by of {} elements", in.count()));
  return {DeviceUse::kVector, ""};
}

/// The gradient of a largest or smallest value of windows: each source goes to the first such element of its window.
DeviceVerdict use_of_window_scatter(const Module& module, const Op& op) {
  if (!window_scatter_of(module, op)) return host("a select_and_scatter that is not of a largest or smallest value");
  for (size_t i = 0; i < 2; i++)
    if (constant_behind(module, op.operands[i]) != nullptr) return host("a select_and_scatter of a constant");
  const uint64_t taps = ir::count_of(op.list("window")), elements = module.type(op.operands[0]).count();
  if (taps > kMaxTaps) return host(fmt::format("select_and_scatter of {} elements each", taps));
  if (elements > kMaxMoved) return host(fmt::format("select_and_scatter of {} elements", elements));
  return {DeviceUse::kVector, ""};
}

DeviceVerdict use_of_matrices(const Module& module, const Op& op) {
  if (op.kind != OpKind::kReshape) return host(fmt::format("no command for {}", name_of(op.kind)));
  const bool same = matrix_shape(module.type(op.results[0]).dims) == matrix_shape(module.type(op.operands[0]).dims);
  return same ? DeviceVerdict{DeviceUse::kView, ""} : host("a reshape that moves elements between rows");
}

bool is_matrix_kind(const Module& module, const Op& op) {
  if (module.type(op.results[0]).element != ElementType::kF32) return false;
  return op.kind == OpKind::kDotGeneral || (is_elementwise_kind(op.kind) && op.kind != OpKind::kSelect &&
                                            op.kind != OpKind::kConvert && op.kind != OpKind::kBitcastConvert);
}

}  // namespace

DeviceVerdict device_use(const Module& module, const Op& op, DeviceScope scope) {
  if (op.kind == OpKind::kConstant || op.kind == OpKind::kIota) return {DeviceUse::kOperand, ""};
  if (data_operands(op) == 1 && constant_behind(module, op.results[0]) != nullptr) return {DeviceUse::kOperand, ""};
  const bool moves = data_operands(op) != 0;
  const bool known = is_elementwise_kind(op.kind) || moves || op.kind == OpKind::kDotGeneral ||
                     op.kind == OpKind::kConvolution || op.kind == OpKind::kReduce ||
                     op.kind == OpKind::kReduceWindow || op.kind == OpKind::kReduceBy || op.kind == OpKind::kScatter ||
                     op.kind == OpKind::kSelectAndScatter;
  if (!known) return host(fmt::format("no command for {}", name_of(op.kind)));
  const auto& type = module.type(op.results[0]);
  const bool product = op.kind == OpKind::kDotGeneral || op.kind == OpKind::kConvolution;
  const bool narrow = moves || product || op.kind == OpKind::kConvert;
  if (!has_type(type.element, narrow)) return host(fmt::format("{} to {}", name_of(op.kind), type.text()));
  bool integers = lies_as_i32(type.element);
  const size_t read = moves ? data_operands(op) : op.operands.size();
  for (size_t i = 0; i < read; i++) {
    const auto& in = module.type(op.operands[i]);
    if (!has_type(in.element, narrow)) return host(fmt::format("{} of {}", name_of(op.kind), in.text()));
    integers = integers || lies_as_i32(in.element);
  }
  if (integers && scope == DeviceScope::kMatrices) return host(fmt::format("{} of integers", name_of(op.kind)));
  if (integers && is_elementwise_kind(op.kind) && !on_integers(op.kind))
    return host(fmt::format("{} of integers", name_of(op.kind)));
  if (!integers && op.kind == OpKind::kRemainder) return host("no command for remainder");
  if (integers && (op.kind == OpKind::kReduceWindow || op.kind == OpKind::kSelectAndScatter))
    return host(fmt::format("{} of integers", name_of(op.kind)));
  for (const auto value : op.operands)
    if (module.type(value).count() == 0) return host("an empty tensor");
  if (type.count() == 0) return host("an empty tensor");
  if (scope == DeviceScope::kMatrices && !is_matrix_kind(module, op)) return use_of_matrices(module, op);
  if (scope == DeviceScope::kMatrices && (type.rank() == 0 || module.type(op.operands[0]).rank() == 0))
    return host("a scalar");
  if (product && integers)
    if (const std::string reason = refusal_of_integer_product(module, op); !reason.empty()) return host(reason);
  if (op.kind == OpKind::kDotGeneral) return use_of_product(module, op, scope);
  if (op.kind == OpKind::kConvolution) return use_of_convolution(module, op);
  if (op.kind == OpKind::kReduce || op.kind == OpKind::kReduceWindow) return use_of_reduction(module, op);
  if (op.kind == OpKind::kReduceBy) return use_of_search(module, op);
  if (op.kind == OpKind::kSelectAndScatter) return use_of_window_scatter(module, op);
  if (op.kind == OpKind::kScatter) {
    const std::string reason = refusal_of_places(module, op, kMaxMoved);
    return reason.empty() ? DeviceVerdict{DeviceUse::kVector, ""} : host(reason);
  }
  return moves ? use_of_movement(module, op) : use_of_elementwise(module, op, scope);
}

}  // namespace weft::compiler
