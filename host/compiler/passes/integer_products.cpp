// Products of what has been dequantised: of (a - zero) scale and (b - zero) scale the integers are multiplied, and their
// sums by both scales. Where a result is quantised again, three scales are one, and a bias and a relu stand before it, as
// in ONNX's QLinearMatMul and QLinearConv.
#include "host/compiler/partition/integer_products.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "host/compiler/ir/builder.hpp"
#include "host/compiler/partition/value_views.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/compiler/passes/rewriter.hpp"
#include "host/compiler/reference/evaluate.hpp"

namespace weft::compiler::passes {
namespace {

using ir::Dims;
using ir::ElementType;
using ir::Op;
using ir::OpKind;
using ir::TensorPtr;
using ir::ValueId;

constexpr uint64_t kMostElements = 1 << 26;  // of a constant that is looked at
constexpr double kHalfUnit = 0x1p-23;        // of f32, relative

/// integers x scale, where a scale belongs to all elements, or to an index of dimension `dimension` each.
struct Dequantized {
  ValueId integers;
  std::vector<float> scales;
  size_t dimension = 0;
};

bool moves_alone(const Op& op) { return op.kind == OpKind::kReshape || op.kind == OpKind::kTranspose; }

class IntegerProducts {
 public:
  enum class Sweep : uint8_t { kProducts, kRest };
  IntegerProducts(const ir::Module& module, Sweep sweep)
      : module_(module), sweep_(sweep), rewriter_(module), b_(rewriter_.to()) {}

  ir::Module run() {
    for (const Op& op : module_.ops()) {
      auto mapped = rewriter_.mapped(op);
      b_.origin = op.origin;
      std::optional<ValueId> value;
      if (op.results.empty() || module_.type(op.results[0]).count() == 0) {
        rewriter_.add(op, std::move(mapped));
        continue;
      }
      const auto element = module_.type(op.results[0]).element;
      const bool products = sweep_ == Sweep::kProducts, convert = op.kind == OpKind::kConvert;
      if (products && (op.kind == OpKind::kDotGeneral || op.kind == OpKind::kConvolution)) value = product(mapped);
      if (convert) value = products ? quantized_product(mapped, element) : rounded_only(mapped, element);
      if (value)
        rewriter_.replace(op, *value);
      else
        rewriter_.add(op, std::move(mapped));
    }
    return rewriter_.finish();
  }

 private:
  [[nodiscard]] const ir::Module& to() { return rewriter_.to(); }

  /// What is computed from constants alone, by few operators; null: it is not.
  TensorPtr constant_of(ValueId value, int depth = 8) {
    const Op& op = to().op_of(value);
    if (op.kind == OpKind::kConstant) return op.constant;
    if (depth == 0 || to().type(value).count() == 0 || to().type(value).count() > kMostElements ||
        op.results.size() != 1 || !op.regions.empty() || op.operands.empty())
      return nullptr;
    if (data_operands(op) == 0 && !is_elementwise_kind(op.kind)) return nullptr;
    std::vector<TensorPtr> operands;
    for (const ValueId operand : op.operands) {
      operands.push_back(constant_of(operand, depth - 1));
      if (!operands.back()) return nullptr;
    }
    return reference::evaluate_op(op, operands, {to().type(value)})[0];
  }

  /// The one dimension along which the elements of a constant differ, and its element for each index of it; dimension 0
  /// and one element where all are equal. Nothing: they differ along several, or there are none.
  static std::optional<std::pair<size_t, std::vector<float>>> along_one(const ir::Tensor& tensor) {
    const float* values = tensor.as<float>();
    const uint64_t count = tensor.type.count();
    if (count == 0) return std::nullopt;
    if (std::all_of(values, values + count, [&](float v) { return v == values[0]; }))
      return std::pair(size_t{0}, std::vector<float>{values[0]});
    const Dims strides = ir::strides_of(tensor.type.dims);
    for (size_t d = 0; d < strides.size(); d++) {
      const auto size = static_cast<size_t>(tensor.type.dims[d]), stride = static_cast<size_t>(strides[d]);
      std::vector<float> row(size);
      for (size_t i = 0; i < size; i++) row[i] = values[i * stride];
      bool same = true;
      for (uint64_t i = 0; same && i < count; i++) same = values[i] == row[i / stride % size];
      if (same) return std::pair(d, std::move(row));
    }
    return std::nullopt;
  }

  std::optional<Dequantized> dequantized(ValueId value) {
    if (to().type(value).element != ElementType::kF32 || to().type(value).count() == 0) return std::nullopt;
    std::vector<Op> moves;
    const Op* op = &to().op_of(value);
    for (; moves_alone(*op); op = &to().op_of(op->operands[0])) moves.push_back(*op);
    if (op->kind != OpKind::kMultiply) return std::nullopt;
    for (const size_t i : {0u, 1u}) {
      const Op& convert = to().op_of(op->operands[i]);
      if (convert.kind != OpKind::kConvert || to().type(convert.operands[0]).element != ElementType::kI32) continue;
      const auto range = integer_range_of(to(), convert.operands[0]);
      if (!range || !range->within(-255, 255)) return std::nullopt;
      TensorPtr scale = constant_of(op->operands[1 - i]);
      if (!scale) continue;
      ValueId integers = convert.operands[0];
      for (size_t m = moves.size(); m-- > 0;) {
        scale = reference::evaluate_op(moves[m], {scale}, {to().type(moves[m].results[0])})[0];
        integers = moves[m].kind == OpKind::kReshape ? b_.reshape(integers, moves[m].list("dims"))
                                                     : b_.transpose(integers, moves[m].list("permutation"));
      }
      auto along = along_one(*scale);
      if (!along || std::ranges::any_of(along->second, [](float s) { return !(s > 0) || !std::isnormal(s); }))
        return std::nullopt;
      return Dequantized{integers, std::move(along->second), along->first};
    }
    return std::nullopt;
  }

  /// Which dimension of a product's result the second operand's dimension d is; nothing: it is summed, or side by side.
  [[nodiscard]] std::optional<size_t> result_dimension(const Op& op, size_t d) const {
    if (op.kind == OpKind::kConvolution) return d == 0 ? std::optional<size_t>(1) : std::nullopt;
    const auto holds = [](const Dims& list, size_t dim) {
      return std::ranges::find(list, static_cast<int64_t>(dim)) != list.end();
    };
    const size_t left = b_.rank(op.operands[0]) - op.list("lhs_contract").size();  // side by side, and its own
    size_t own = 0;
    for (size_t i = 0; i <= d; i++) {
      const bool free = !holds(op.list("rhs_batch"), i) && !holds(op.list("rhs_contract"), i);
      if (i == d) return free ? std::optional(left + own) : std::nullopt;
      own += free ? 1 : 0;
    }
    return std::nullopt;
  }

  /// A product of numbers of 9 bits by constants as two of 8 bits.
  std::optional<ValueId> wide_product(const Op& op) {
    const auto range = integer_range_of(to(), op.operands[0]), w = integer_range_of(to(), op.operands[1]);
    if (!range || !w || range->to_bytes() || !range->within(-255, 255) || !constant_of(op.operands[1]))
      return std::nullopt;
    const ValueId x = op.operands[0];
    const auto number = [&](double value) { return b_.broadcast_to(b_.like(x, value), b_.dims(x)); };
    const ValueId zero = number(0);
    const ValueId inside = b_.min(b_.max(x, number(-128)), number(127)),
                  beyond = b_.plus(b_.max(b_.minus(x, number(127)), zero), b_.min(b_.plus(x, number(128)), zero));
    std::optional<ValueId> sums;
    for (const ValueId part : {inside, beyond}) {
      Op one = op;
      one.operands[0] = part;
      const ValueId made = rewriter_.to().add(std::move(one));
      sums = sums ? b_.plus(*sums, made) : made;
    }
    return sums;
  }

  std::optional<ValueId> product(const Op& op) {
    if (const auto sums = wide_product(op)) return sums;
    if (to().type(op.operands[0]).element != ElementType::kF32 || op.attributes.contains("element"))
      return std::nullopt;
    const auto x = dequantized(op.operands[0]), w = x ? dequantized(op.operands[1]) : std::nullopt;
    if (!x || !w || x->scales.size() != 1) return std::nullopt;
    const auto at = result_dimension(op, w->dimension);
    if (w->scales.size() != 1 && !at) return std::nullopt;
    Op integers = op;
    integers.operands = {x->integers, w->integers};
    integers.attributes.erase("precision");
    const ValueId sums = rewriter_.to().add(std::move(integers));
    std::vector<float> scales = w->scales;
    for (float& scale : scales) scale *= x->scales[0];
    if (!std::ranges::all_of(scales, [](float s) { return std::isnormal(s); })) return std::nullopt;
    return scaled(sums, scales, at.value_or(0));
  }

  /// f32(sums) times a scale, or one for each index of a dimension.
  ValueId scaled(ValueId sums, const std::vector<float>& scales, size_t dimension) {
    const ValueId wide = b_.convert(sums, ElementType::kF32);
    auto tensor =
        std::make_shared<ir::Tensor>(ir::TensorType{ElementType::kF32, {static_cast<int64_t>(scales.size())}});
    std::ranges::copy(scales, tensor->as<float>());
    const ValueId row = b_.constant(tensor);
    if (scales.size() == 1) return b_.times(wide, b_.broadcast_to(b_.reshape(row, {}), b_.dims(wide)));
    return b_.times(wide, b_.broadcast_in(row, b_.dims(wide), {static_cast<int64_t>(dimension)}));
  }

  /// A conversion that quantises what a product of integers comes to.
  std::optional<ValueId> quantized_product(const Op& op, ElementType element) {
    if (!is_narrow(element) || to().type(op.operands[0]).element != ElementType::kF32) return std::nullopt;
    std::vector<Op> outer;  // from the conversion to the rounding
    const Op* inner = &op;
    while (inner->kind != OpKind::kRoundNearestEven) {
      const bool limits = inner->kind == OpKind::kMinimum || inner->kind == OpKind::kMaximum;
      if (outer.size() > 3 || (!limits && inner->kind != OpKind::kAdd && inner != &op)) return std::nullopt;
      outer.push_back(*inner);
      inner = &to().op_of(inner->operands[0]);
    }
    outer.push_back(*inner);
    const Op& quotient = to().op_of(inner->operands[0]);
    if (quotient.kind != OpKind::kDivide) return std::nullopt;
    const TensorPtr divisor = constant_of(quotient.operands[1]);
    const auto by = divisor ? along_one(*divisor) : std::nullopt;
    if (!by || by->second.size() != 1 || !(by->second[0] > 0)) return std::nullopt;
    auto value = requantized(quotient.operands[0], by->second[0]);
    if (!value) return std::nullopt;
    for (size_t i = outer.size(); i-- > 0;) {
      Op next = outer[i];
      next.results.clear();
      next.operands[0] = *value;
      value = rewriter_.to().add(std::move(next));
    }
    return value;
  }

  /// f32 of what has been quantised, less its zero point: it is rounded and limited, and has always been f32.
  std::optional<ValueId> rounded_only(const Op& op, ElementType element) {
    const Op& less = to().op_of(op.operands[0]);
    if (element != ElementType::kF32 || less.kind != OpKind::kSubtract) return std::nullopt;
    const Op& wide = to().op_of(less.operands[0]);
    const TensorPtr zero = constant_of(less.operands[1]);
    if (!zero || wide.kind != OpKind::kConvert || zero->type.element != ElementType::kI32) return std::nullopt;
    const Op& narrow = to().op_of(wide.operands[0]);
    if (narrow.kind != OpKind::kConvert || !is_narrow(to().type(wide.operands[0]).element)) return std::nullopt;
    const Op& limit = to().op_of(narrow.operands[0]);
    const auto quantizer = quantizer_of(to(), limit);
    if (!quantizer) return std::nullopt;
    const Op& least = to().op_of(limit.operands[0]);
    const Op& moved = to().op_of(least.operands[0]);
    const TensorPtr by = moved.kind == OpKind::kAdd ? constant_of(moved.operands[1]) : nullptr;
    const TensorPtr first = constant_of(least.operands[1]), last = constant_of(limit.operands[1]);
    if ((moved.kind == OpKind::kAdd && !by) || !first || !last) return std::nullopt;
    const auto number = [](const ir::Tensor& tensor) {  // that all elements are
      const double value = tensor.number(0);
      for (uint64_t i = 1; i < tensor.type.count(); i++)
        if (tensor.number(i) != value) return std::optional<double>();
      return std::optional(value);
    };
    const auto taken = number(*zero), added = by ? number(*by) : 0.0;
    if (!taken || !added || *taken != *added) return std::nullopt;
    const double low = first->number(0) - *added, high = last->number(0) - *added;
    const ValueId rounded = quantizer->rounded;
    const auto all = [&](double value) { return b_.broadcast_to(b_.like(rounded, value), b_.dims(rounded)); };
    return b_.min(b_.max(rounded, all(low)), all(high));
  }

  /// value / by, where it is f32(sums) times constants, perhaps plus a constant, perhaps not below zero.
  std::optional<ValueId> requantized(ValueId value, float by) {
    bool relu = false;
    const Op* op = &to().op_of(value);
    if (op->kind == OpKind::kMaximum) {
      const TensorPtr least = constant_of(op->operands[1]);
      const auto zero = least ? along_one(*least) : std::nullopt;
      if (!zero || zero->second != std::vector<float>{0}) return std::nullopt;
      relu = true;
      op = &to().op_of(op->operands[0]);
    }
    TensorPtr bias;
    if (op->kind == OpKind::kAdd) {
      const size_t i = constant_of(op->operands[0]) ? 1 : 0;
      bias = constant_of(op->operands[1 - i]);
      if (!bias) return std::nullopt;
      op = &to().op_of(op->operands[i]);
    }
    // A product of more dimensions than two is reshaped behind.
    const Dims dims = to().type(op->results[0]).dims;
    while (op->kind == OpKind::kReshape) op = &to().op_of(op->operands[0]);
    if (op->kind != OpKind::kMultiply) return std::nullopt;
    const Op& wide = to().op_of(op->operands[0]);
    const TensorPtr scale = constant_of(op->operands[1]);
    if (!scale || wide.kind != OpKind::kConvert) return std::nullopt;
    ValueId sums = wide.operands[0];
    const auto kind = to().op_of(sums).kind;
    if ((kind != OpKind::kDotGeneral && kind != OpKind::kConvolution) || to().type(sums).element != ElementType::kI32)
      return std::nullopt;
    auto along = along_one(*scale);
    if (!along) return std::nullopt;
    auto& [dimension, scales] = *along;
    // The last dimension stays the last one, and that of channels where it is.
    if (scales.size() != 1) dimension += dims.size() - scale->type.dims.size();
    if (scales.size() != 1 && (dimension >= dims.size() || dims[dimension] != static_cast<int64_t>(scales.size())))
      return std::nullopt;
    std::vector<float> factors = scales;
    for (float& s : factors) s /= by;
    if (!std::ranges::all_of(factors, [](float s) { return std::isnormal(s); })) return std::nullopt;
    std::optional<std::pair<size_t, TensorPtr>> integers;
    if (bias) {
      integers = in_units(*bias, scales, dimension);
      if (!integers) return std::nullopt;
    }
    sums = b_.reshape(sums, dims);
    if (integers) {
      const bool row = integers->second->type.count() != 1;
      const ValueId units = b_.constant(integers->second);
      sums = b_.plus(sums, row ? b_.broadcast_in(units, dims, {static_cast<int64_t>(integers->first)})
                               : b_.broadcast_to(b_.reshape(units, {}), dims));
    }
    if (relu) sums = b_.max(sums, b_.broadcast_to(b_.like(sums, 0), dims));
    return scaled(sums, factors, dimension);
  }

  /// A bias as whole numbers of scales, as quantised models have it, and the dimension along which they are; nothing: it is
  /// not.
  static std::optional<std::pair<size_t, TensorPtr>> in_units(const ir::Tensor& bias, const std::vector<float>& scales,
                                                              size_t dimension) {
    if (bias.type.element != ElementType::kF32) return std::nullopt;
    const auto along = along_one(bias);
    if (!along) return std::nullopt;
    const auto& [own, row] = *along;
    if (row.size() != 1 && scales.size() != 1 && (own != dimension || row.size() != scales.size())) return std::nullopt;
    const size_t count = std::max(row.size(), scales.size());
    auto integers = std::make_shared<ir::Tensor>(ir::TensorType{ElementType::kI32, {static_cast<int64_t>(count)}});
    for (size_t i = 0; i < count; i++) {
      const double b = static_cast<double>(row[i % row.size()]), unit = static_cast<double>(scales[i % scales.size()]);
      const double units = std::nearbyint(b / unit);
      if (!(std::abs(units) < INT32_MAX) || std::abs(units * unit - b) > 2 * kHalfUnit * std::abs(b))
        return std::nullopt;
      integers->as<int32_t>()[i] = static_cast<int32_t>(units);
    }
    return std::pair(row.size() == 1 ? dimension : own, TensorPtr(integers));
  }

  const ir::Module& module_;
  const Sweep sweep_;
  Rewriter rewriter_;
  ir::Builder b_;
};

}  // namespace

/// Products read what has been quantised as integers; what else reads it, reads it as f32.
ir::Module integer_products(const ir::Module& module) {
  const auto products = IntegerProducts(module, IntegerProducts::Sweep::kProducts).run();
  return IntegerProducts(products, IntegerProducts::Sweep::kRest).run();
}

}  // namespace weft::compiler::passes
