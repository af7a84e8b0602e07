// Elementwise operators, operators that make or move elements, products; and the table of all rules.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/stablehlo/node.hpp"
#include "host/compiler/stablehlo/vhlo_types.hpp"

namespace weft::compiler::stablehlo {
namespace {

using ir::ElementType;

void need_operands(const Node& node, size_t count) {
  if (node.in.size() != count) ir::invalid("{} operands; it takes {}", node.in.size(), count);
}

template <OpKind kKind>
Values elementwise(Node& node) {
  need_operands(node, static_cast<size_t>(ir::operands_of(kKind)));
  return {node.b.add(kKind, node.in, {})};
}

/// Of pred the sum is or, the product and.
template <OpKind kKind, OpKind kOfPred>
Values arithmetic(Node& node) {
  need_operands(node, 2);
  return {node.b.add(node.b.element(node.in[0]) == ElementType::kPred ? kOfPred : kKind, node.in, {})};
}

Values same(Node& node) { return node.in; }

Values constant(Node& node) {
  const auto* value = node.find("value");
  if (value == nullptr) ir::invalid("there is no value");
  const ValueId made = node.b.constant(tensor_of(node.program, *value));
  const Dims dims = node.result_type().dims;
  return {node.b.dims(made) == dims ? made : node.b.broadcast_in(made, dims, {})};
}

Values iota(Node& node) {
  const auto type = node.result_type();
  return {node.b.iota(type.element, type.dims, static_cast<size_t>(node.integer("iota_dimension")))};
}

Values convert(Node& node) {
  need_operands(node, 1);
  return {node.b.convert(node.in[0], node.result_type().element)};
}

Values bitcast_convert(Node& node) {
  need_operands(node, 1);
  return {
      node.b.add(OpKind::kBitcastConvert, node.in, {{"element", std::string(name_of(node.result_type().element))}})};
}

Values reduce_precision(Node& node) {
  need_operands(node, 1);
  return {
      node.b.add(OpKind::kReducePrecision, node.in,
                 {{"exponent_bits", node.integer("exponent_bits")}, {"mantissa_bits", node.integer("mantissa_bits")}})};
}

Values is_finite(Node& node) {
  need_operands(node, 1);
  const ValueId size = node.b.unary(OpKind::kAbs, node.in[0]);
  return {node.b.compare("lt", size, node.b.like(size, std::numeric_limits<double>::infinity()))};
}

Values clamp(Node& node) {
  need_operands(node, 3);
  return {node.b.min(node.b.max(node.in[1], node.in[0]), node.in[2])};
}

Values select(Node& node) {
  need_operands(node, 3);
  return {node.b.select(node.in[0], node.in[1], node.in[2])};
}

/// Integers in the order of the floats: -NaN, -inf, ..., -0, 0, ..., inf, NaN.
ValueId total_order(ir::Builder& b, ValueId x) {
  const ElementType element = b.element(x);
  const ElementType bits = element == ElementType::kF64   ? ElementType::kI64
                           : element == ElementType::kF32 ? ElementType::kI32
                                                          : ElementType::kI16;
  const ValueId number = b.add(OpKind::kBitcastConvert, {x}, {{"element", std::string(name_of(bits))}});
  // Of a negative number all bits but the sign are turned over.
  const auto width = static_cast<double>(8 * ir::bytes_of(bits));
  const ValueId sign = b.binary(OpKind::kShiftRightArithmetic, number, b.like(number, width - 1));
  return b.binary(OpKind::kXor, number, b.binary(OpKind::kShiftRight, sign, b.like(sign, 1)));
}

Values compare(Node& node) {
  static constexpr const char* kDirections[] = {"eq", "ne", "ge", "gt", "le", "lt"};
  constexpr int64_t kTotalOrder = 2;
  need_operands(node, 2);
  const int64_t direction = node.integer("comparison_direction");
  if (direction < 0 || direction >= static_cast<int64_t>(std::size(kDirections)))
    ir::invalid("comparison direction {}", direction);
  Values in = node.in;
  if (node.integer("compare_type") == kTotalOrder && ir::is_float(node.b.element(in[0])))
    for (auto& x : in) x = total_order(node.b, x);
  return {node.b.add(OpKind::kCompare, in, {{"direction", std::string(kDirections[direction])}})};
}

Values reshape(Node& node) {
  need_operands(node, 1);
  return {node.b.reshape(node.in[0], node.result_type().dims)};
}

Values broadcast_in_dim(Node& node) {
  need_operands(node, 1);
  return {node.b.broadcast_in(node.in[0], node.result_type().dims, node.integers("broadcast_dimensions"))};
}

Values transpose(Node& node) {
  need_operands(node, 1);
  return {node.b.transpose(node.in[0], node.integers("permutation"))};
}

Values slice(Node& node) {
  need_operands(node, 1);
  return {node.b.slice(node.in[0], node.integers("start_indices"), node.integers("limit_indices"),
                       node.integers("strides"))};
}

Values pad(Node& node) {
  need_operands(node, 2);
  return {node.b.pad(node.in[0], node.in[1], node.integers("edge_padding_low"), node.integers("edge_padding_high"),
                     node.integers("interior_padding"))};
}

Values concatenate(Node& node) {
  if (node.in.empty()) ir::invalid("no operands");
  return {node.b.concatenate(node.in, static_cast<size_t>(node.integer("dimension")))};
}

Values reverse(Node& node) {
  need_operands(node, 1);
  return {node.b.reverse(node.in[0], node.integers("dimensions"))};
}

Values get_dimension_size(Node& node) {
  need_operands(node, 1);
  const int64_t d = node.integer("dimension");
  if (d < 0 || static_cast<size_t>(d) >= node.b.rank(node.in[0])) ir::invalid("dimension {}", d);
  return {node.b.scalar(ElementType::kI32, static_cast<double>(node.b.dim(node.in[0], static_cast<size_t>(d))))};
}

/// "high" or "highest" if an operand asks for more than the device's one pass of bf16.
void add_precision(const Node& node, ir::Attributes& attributes) {
  const auto* config = node.find("precision_config");
  if (config == nullptr || config->kind != Attribute::Kind::kArray) return;
  int64_t most = 0;
  for (const AttributeIndex element : config->elements) most = std::max(most, node.program.attributes[element].integer);
  if (most != 0) attributes["precision"] = std::string(most == 1 ? "high" : "highest");
}

Values product(Node& node, ir::Attributes attributes) {
  need_operands(node, 2);
  add_precision(node, attributes);
  const ElementType sums = node.result_type().element;
  Values in = node.in;
  // A product of truth values counts; that is done in i32.
  const bool pred = sums == ElementType::kPred;
  if (pred)
    for (auto& x : in) x = node.b.convert(x, ElementType::kI32);
  const ElementType summed = pred ? ElementType::kI32 : sums;
  if (node.b.element(in[0]) != summed || node.b.element(in[1]) != summed)
    attributes["element"] = std::string(name_of(summed));
  return {node.b.convert(node.b.add(OpKind::kDotGeneral, in, std::move(attributes)), sums)};
}

Values dot_general(Node& node) {
  return product(node, {{"lhs_batch", node.integers("lhs_batching_dimensions")},
                        {"rhs_batch", node.integers("rhs_batching_dimensions")},
                        {"lhs_contract", node.integers("lhs_contracting_dimensions")},
                        {"rhs_contract", node.integers("rhs_contracting_dimensions")}});
}

Values dot(Node& node) {
  need_operands(node, 2);
  const auto rank = static_cast<int64_t>(node.b.rank(node.in[0]));
  return product(
      node,
      {{"lhs_batch", Dims{}}, {"rhs_batch", Dims{}}, {"lhs_contract", Dims{rank - 1}}, {"rhs_contract", Dims{0}}});
}

/// The places of the dimensions of [first, second, spatial...].
Dims dimension_order(const Node& node, const char* first, const char* second, const char* spatial) {
  Dims order{node.integer(first), node.integer(second)};
  const Dims rest = node.integers(spatial);
  order.insert(order.end(), rest.begin(), rest.end());
  return order;
}

/// The other way round: what a result in that order must go through.
Dims inverse(const Dims& order) {
  Dims back(order.size());
  for (size_t i = 0; i < order.size(); i++) {
    if (order[i] < 0 || static_cast<size_t>(order[i]) >= order.size()) ir::invalid("dimension {}", order[i]);
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  return back;
}

Values convolution(Node& node) {
  need_operands(node, 2);
  ir::Builder& b = node.b;
  ValueId x = b.transpose(node.in[0], dimension_order(node, "input_batch_dimension", "input_feature_dimension",
                                                      "input_spatial_dimensions"));
  ValueId w = b.transpose(node.in[1], dimension_order(node, "kernel_output_feature_dimension",
                                                      "kernel_input_feature_dimension", "kernel_spatial_dimensions"));
  if (b.rank(x) < 2 || b.rank(x) != b.rank(w)) ir::invalid("{} by {}", b.type(x).text(), b.type(w).text());
  const size_t spatial = b.rank(x) - 2;
  const auto list = [&](const char* name, int64_t otherwise) {
    Dims values = node.integers_or_none(name);
    if (values.empty()) values.assign(spatial, otherwise);
    if (values.size() != spatial) ir::invalid("attribute '{}' has {} entries", name, values.size());
    return values;
  };
  ir::Builder::Convolution by;
  by.strides = list("window_strides", 1);
  by.lhs_dilation = list("lhs_dilation", 1);
  by.rhs_dilation = list("rhs_dilation", 1);
  Dims padding = node.integers_or_none("padding");
  if (padding.empty()) padding.assign(2 * spatial, 0);
  if (padding.size() != 2 * spatial) ir::invalid("attribute 'padding' has {} entries", padding.size());
  for (size_t d = 0; d < spatial; d++) by.low.push_back(padding[2 * d]), by.high.push_back(padding[2 * d + 1]);
  by.groups = node.integer("feature_group_count");
  if (const auto* reversal = node.find("window_reversal"); reversal != nullptr) {
    const Dims turned = node.integers_or_none("window_reversal");
    Dims dims;
    for (size_t d = 0; d < turned.size() && d < spatial; d++)
      if (turned[d] != 0) dims.push_back(static_cast<int64_t>(d + 2));
    if (!dims.empty()) w = b.reverse(w, dims);
  }
  if (const int64_t parts = node.integer("batch_group_count"); parts != 1) {
    // Part g of the batch meets part g of the kernels: the parts become groups of channels.
    if (by.groups != 1 || parts < 1 || b.dim(x, 0) % parts != 0)
      ir::invalid("{} groups of a batch of {}", parts, b.dim(x, 0));
    Dims split = b.dims(x), order = ir::counting(b.rank(x) + 1), joined = b.dims(x);
    split[0] /= parts;
    split.insert(split.begin(), parts);
    std::swap(order[0], order[1]);
    joined[0] /= parts, joined[1] *= parts;
    x = b.reshape(b.transpose(b.reshape(x, split), order), joined);
    by.groups = parts;
  }
  const ElementType sums = node.result_type().element;
  ir::Attributes attributes{
      {"strides", by.strides},           {"low", by.low},      {"high", by.high}, {"lhs_dilation", by.lhs_dilation},
      {"rhs_dilation", by.rhs_dilation}, {"groups", by.groups}};
  if (b.element(x) != sums || b.element(w) != sums) attributes["element"] = std::string(name_of(sums));
  add_precision(node, attributes);
  const ValueId y = b.add(OpKind::kConvolution, {x, w}, std::move(attributes));
  return {b.transpose(y, inverse(dimension_order(node, "output_batch_dimension", "output_feature_dimension",
                                                 "output_spatial_dimensions")))};
}

Values cholesky(Node& node) {
  need_operands(node, 1);
  return {node.b.add(OpKind::kCholesky, node.in, {{"lower", node.integer("lower")}})};
}

Values triangular_solve(Node& node) {
  need_operands(node, 2);
  // NO_TRANSPOSE, TRANSPOSE, ADJOINT: the same for real numbers. 0 is an invalid enumerator.
  return {node.b.add(OpKind::kTriangularSolve, node.in,
                     {{"left_side", node.integer("left_side")},
                      {"lower", node.integer("lower")},
                      {"transpose", int64_t{node.integer("transpose_a") > 1}},
                      {"unit_diagonal", node.integer("unit_diagonal")}})};
}

Values decomposition(Node& node, OpKind kind, size_t operands, ir::Attributes attributes = {}) {
  need_operands(node, operands);
  return node.b.module().op_of(node.b.add(kind, node.in, std::move(attributes))).results;
}

Values call(Node& node) { return node.around.call(node.text("callee"), node.in); }
Values composite(Node& node) { return node.around.call(node.text("decomposition"), node.in); }

Values custom_call(Node& node) {
  const std::string target = node.text("call_target_name");
  // Sharding of a program for one device says nothing.
  if (target == "Sharding" || target == "SPMDFullToShardShape" || target == "SPMDShardToFullShape" ||
      target == "annotate_device_placement")
    return node.in;
  if (target == kCallbackTarget) return callback(node);
  if (target == "mhlo.erf") return elementwise<OpKind::kErf>(node);
  if (target == "LuDecomposition") return decomposition(node, OpKind::kLu, 1);
  if (target == "Qr") return decomposition(node, OpKind::kQr, 1);
  if (target == "ProductOfElementaryHouseholderReflectors") return decomposition(node, OpKind::kHouseholderProduct, 2);
  if (target == "weft.eigh_lower") return decomposition(node, OpKind::kEigh, 1, {{"lower", int64_t{1}}});
  if (target == "weft.eigh_upper") return decomposition(node, OpKind::kEigh, 1, {{"lower", int64_t{0}}});
  ir::unsupported("custom_call @{} is not built", target);
}

const std::map<std::string_view, Rule>& rules() {
  static const std::map<std::string_view, Rule> table{
      {"abs", elementwise<OpKind::kAbs>},
      {"add", arithmetic<OpKind::kAdd, OpKind::kOr>},
      {"after_all", create_token},
      {"all_gather", all_gather},
      {"all_reduce", all_reduce},
      {"all_to_all", all_to_all},
      {"and", elementwise<OpKind::kAnd>},
      {"atan2", elementwise<OpKind::kAtan2>},
      {"bitcast_convert", bitcast_convert},
      {"broadcast_in_dim", broadcast_in_dim},
      {"call", call},
      {"case", case_of},
      {"cbrt", elementwise<OpKind::kCbrt>},
      {"ceil", elementwise<OpKind::kCeil>},
      {"cholesky", cholesky},
      {"clamp", clamp},
      {"compare", compare},
      {"collective_broadcast", collective_broadcast},
      {"collective_permute", collective_permute},
      {"composite", composite},
      {"concatenate", concatenate},
      {"constant", constant},
      {"convert", convert},
      {"convolution", convolution},
      {"cosine", elementwise<OpKind::kCosine>},
      {"count_leading_zeros", elementwise<OpKind::kCountLeadingZeros>},
      {"create_token", create_token},
      {"custom_call", custom_call},
      {"divide", elementwise<OpKind::kDivide>},
      {"dot", dot},
      {"dot_general", dot_general},
      {"dynamic_slice", dynamic_slice},
      {"dynamic_update_slice", dynamic_update_slice},
      {"exponential", elementwise<OpKind::kExponential>},
      {"exponential_minus_one", elementwise<OpKind::kExponentialMinusOne>},
      {"floor", elementwise<OpKind::kFloor>},
      {"gather", gather},
      {"get_dimension_size", get_dimension_size},
      {"if", if_of},
      {"iota", iota},
      {"is_finite", is_finite},
      {"log", elementwise<OpKind::kLog>},
      {"log_plus_one", elementwise<OpKind::kLogPlusOne>},
      {"logistic", elementwise<OpKind::kLogistic>},
      {"maximum", elementwise<OpKind::kMaximum>},
      {"minimum", elementwise<OpKind::kMinimum>},
      {"multiply", arithmetic<OpKind::kMultiply, OpKind::kAnd>},
      {"negate", elementwise<OpKind::kNegate>},
      {"not", elementwise<OpKind::kNot>},
      {"optimization_barrier", same},
      {"or", elementwise<OpKind::kOr>},
      {"pad", pad},
      {"partition_id", partition_id},
      {"popcnt", elementwise<OpKind::kPopulationCount>},
      {"power", elementwise<OpKind::kPower>},
      {"real", same},
      {"reduce", reduce},
      {"reduce_precision", reduce_precision},
      {"reduce_scatter", reduce_scatter},
      {"reduce_window", reduce_window},
      {"remainder", elementwise<OpKind::kRemainder>},
      {"replica_id", replica_id},
      {"reshape", reshape},
      {"reverse", reverse},
      {"rng_bit_generator", rng_bit_generator},
      {"round_nearest_afz", elementwise<OpKind::kRoundNearestAway>},
      {"round_nearest_even", elementwise<OpKind::kRoundNearestEven>},
      {"rsqrt", elementwise<OpKind::kRsqrt>},
      {"scatter", scatter},
      {"select", select},
      {"select_and_scatter", select_and_scatter},
      {"shift_left", elementwise<OpKind::kShiftLeft>},
      {"shift_right_arithmetic", elementwise<OpKind::kShiftRightArithmetic>},
      {"shift_right_logical", elementwise<OpKind::kShiftRight>},
      {"sign", elementwise<OpKind::kSign>},
      {"sine", elementwise<OpKind::kSine>},
      {"slice", slice},
      {"sort", sort},
      {"sqrt", elementwise<OpKind::kSqrt>},
      {"subtract", elementwise<OpKind::kSubtract>},
      {"tan", elementwise<OpKind::kTan>},
      {"tanh", elementwise<OpKind::kTanh>},
      {"transpose", transpose},
      {"triangular_solve", triangular_solve},
      {"while", while_loop},
      {"xor", elementwise<OpKind::kXor>},
  };
  return table;
}

}  // namespace

Rule rule_of(std::string_view name) {
  const auto found = rules().find(name);
  return found == rules().end() ? nullptr : found->second;
}

}  // namespace weft::compiler::stablehlo
