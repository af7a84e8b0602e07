// Quantisation: q = saturate(round(x / scale) + zero_point), x = (q - zero_point) scale.
#include <limits>

#include "host/compiler/onnx/convolution.hpp"
#include "host/compiler/onnx/functions.hpp"
#include "host/compiler/onnx/rules.hpp"

namespace weft::compiler::frontend {
namespace {

using Keep = Builder::Keep;

/// The range of a quantised type. Refuses others.
std::pair<double, double> range_of(ElementType type) {
  const auto range = ir::quantized_range(type);
  if (!range) unsupported("values quantised to {}; supported: i8, u8, i16, u16", ir::name_of(type));
  return *range;
}

/// Scale or zero point as it goes with x: one for all, one for each element of the axis, or one for each block of it.
ValueId spread(Node& n, ValueId part, ValueId x, size_t axis, int64_t block) {
  const Dims dims = n.b.dims(x);
  if (n.b.type(part).count() == 1 && n.b.rank(part) <= 1) return n.b.broadcast_to(n.b.reshape(part, {}), dims);
  if (block == 0) {
    if (n.b.rank(part) != 1 || n.b.dim(part, 0) != dims[axis])
      invalid("a scale of {} for axis {} of {}", n.b.type(part).text(), axis, n.b.type(x).text());
    return n.b.broadcast_in(part, dims, {static_cast<int64_t>(axis)});
  }
  if (n.b.rank(part) != dims.size() || block < 0)
    invalid("blocks of {}: a scale of {} for {}", block, n.b.type(part).text(), n.b.type(x).text());
  const int64_t blocks = n.b.dim(part, axis);
  Dims places;
  for (int64_t i = 0; i < dims[axis]; i++) {
    if (i / block >= blocks)
      invalid("blocks of {}: a scale of {} for {}", block, n.b.type(part).text(), n.b.type(x).text());
    places.push_back(i / block);
  }
  return n.b.broadcast_to(n.b.take(part, n.b.integers(places), axis), dims);
}

/// x is f32 and already divided by the scale.
ValueId quantize(Node& n, ValueId scaled, std::optional<ValueId> zero, ElementType to) {
  const auto [least, most] = range_of(to);
  ValueId y = n.b.unary(OpKind::kRoundNearestEven, scaled);
  if (zero) y = n.b.plus(y, n.b.convert(*zero, n.b.element(y)));
  return n.b.convert(n.b.min(n.b.max(y, n.b.like(y, least)), n.b.like(y, most)), to);
}

void quantize_linear(Node& n) {
  const ValueId given = n.in(0);
  if (n.b.rank(given) == 0 && n.integer("block_size", 0) != 0) invalid("blocks of a scalar");
  const size_t axis =
      n.b.rank(given) == 0 || n.b.type(n.in(1)).count() == 1 ? 0 : Node::axis(n.integer("axis", 1), n.b.rank(given));
  const int64_t block = n.integer("block_size", 0);
  ElementType to = ElementType::kU8;
  if (n.integer("output_dtype", 0) != 0) to = Node::element(n.integer("output_dtype", 0));
  if (n.has(2)) to = n.b.element(n.in(2));
  const ElementType precision =
      n.integer("precision", 0) != 0 ? Node::element(n.integer("precision", 0)) : n.b.element(n.in(1));
  const ElementType arithmetic = precision == ElementType::kF64 ? precision : ElementType::kF32;
  const ValueId x = n.b.convert(given, arithmetic);
  // Converted before they are repeated: what is repeated stays small.
  const ValueId scale = spread(n, n.b.convert(n.in(1), arithmetic), x, axis, block);
  const auto zero =
      n.has(2) ? std::optional(spread(n, n.b.convert(n.in(2), arithmetic), x, axis, block)) : std::nullopt;
  n.out(quantize(n, n.b.over(x, scale), zero, to));
}

void dequantize_linear(Node& n) {
  const ValueId x = n.in(0), scale = n.in(1);
  if (n.b.element(x) != ElementType::kI32) (void)range_of(n.b.element(x));
  const size_t axis =
      n.b.rank(x) == 0 || n.b.type(scale).count() == 1 ? 0 : Node::axis(n.integer("axis", 1), n.b.rank(x));
  const int64_t block = n.integer("block_size", 0);
  ElementType to = n.b.element(scale);
  if (n.integer("output_dtype", 0) != 0) to = Node::element(n.integer("output_dtype", 0));
  // Differences of integers are exact: an i32 without zero point becomes a float as it is.
  const ElementType exact = n.b.element(x) == ElementType::kI32 && n.has(2) ? ElementType::kI64 : ElementType::kI32;
  ValueId whole = n.b.convert(x, exact);
  if (n.has(2)) whole = n.b.minus(whole, spread(n, n.b.convert(n.in(2), exact), x, axis, block));
  const ValueId wide = n.b.convert(whole, ElementType::kF32);
  n.out(n.b.convert(n.b.times(wide, spread(n, n.b.convert(scale, ElementType::kF32), x, axis, block)), to));
}

void dynamic_quantize_linear(Node& n) {
  const ValueId x = n.in(0);
  const Dims all = ir::counting(n.b.rank(x));
  const ValueId zero = n.b.like(x, 0);
  const ValueId least = n.b.min(n.b.reduce("minimum", x, all, Keep::kNo), zero),
                most = n.b.max(n.b.reduce("maximum", x, all, Keep::kNo), zero);
  const ValueId scale = n.b.over(n.b.minus(most, least), 255.0);
  const ValueId start = n.b.over(n.b.unary(OpKind::kNegate, least), scale);
  const ValueId point = quantize(n, start, std::nullopt, ElementType::kU8);
  n.out(quantize(n, n.b.over(x, scale), n.b.broadcast_to(point, n.b.dims(x)), ElementType::kU8));
  n.out(scale, 1);
  n.out(point, 2);
}

/// The sum of products, i32, on the scale of the result.
ValueId requantize(Node& n, ValueId sums, ValueId scale, size_t out_scale, size_t out_zero, ElementType to) {
  const ValueId wide = n.b.convert(sums, ElementType::kF32);
  const ValueId factor = n.b.over(scale, n.b.reshape(n.b.convert(n.in(out_scale), ElementType::kF32), {}));
  return quantize(n, n.b.times(wide, factor), n.b.reshape(n.in(out_zero), {}), to);
}

/// Scales and zero points are numbers, one for each row of the first operand and of the result, or one for each column of
/// the second.
void qlinear_matmul(Node& n) {
  const auto beside = [&](size_t i, bool rows) {
    const ValueId v = n.in(i);
    if (n.b.type(v).count() == 1) return n.b.reshape(v, {});
    return rows && n.b.rank(v) == 1 ? n.b.reshape(v, {n.b.dim(v, 0), 1}) : v;
  };
  const auto shifted = [&](size_t x, size_t zero, bool rows) {
    const ValueId whole = n.b.convert(n.in(x), ElementType::kI32);
    const ValueId less = n.b.minus(whole, n.b.convert(beside(zero, rows), ElementType::kI32));
    if (n.b.dims(less) != n.b.dims(whole)) invalid("input {} is {}", zero, n.b.type(n.in(zero)).text());
    return less;
  };
  const auto scale = [&](size_t i, bool rows) { return n.b.convert(beside(i, rows), ElementType::kF32); };
  const ValueId sums = matmul(n.b, shifted(0, 2, true), shifted(3, 5, false), ElementType::kI32);
  const ValueId factor = n.b.over(n.b.times(scale(1, true), scale(4, false)), scale(6, true));
  const ValueId y = n.b.times(n.b.convert(sums, ElementType::kF32), factor);
  if (n.b.dims(y) != n.b.dims(sums)) invalid("scales {} and {}", n.b.type(n.in(1)).text(), n.b.type(n.in(4)).text());
  n.out(quantize(n, y, beside(7, true), n.b.element(n.in(7))));
}

void qlinear_conv(Node& n) {
  for (const size_t i : {1u, 2u, 6u, 7u})
    if (n.b.type(n.in(i)).count() != 1) invalid("input {} is {}", i, n.b.type(n.in(i)).text());
  const ValueId x =
      n.b.minus(n.b.convert(n.in(0), ElementType::kI32), n.b.reshape(n.b.convert(n.in(2), ElementType::kI32), {}));
  ValueId w = n.b.convert(n.in(3), ElementType::kI32);
  const auto per_output = [&](ValueId v, size_t rank, size_t at) {  // one for all, or one for each output channel
    Dims row(rank, 1);
    row[at] = static_cast<int64_t>(n.b.type(v).count());
    if (row[at] != 1 && row[at] != n.b.dim(w, 0)) invalid("{} for {} channels", n.b.type(v).text(), n.b.dim(w, 0));
    return n.b.reshape(v, row);
  };
  w = n.b.minus(w, per_output(n.b.convert(n.in(5), ElementType::kI32), n.b.rank(w), 0));
  ValueId sums = convolve(n, x, w, ElementType::kI32);
  if (n.has(8)) sums = add_channels(n.b, sums, n.in(8));
  const ValueId scale = n.b.times(n.b.reshape(n.in(1), {}), per_output(n.in(4), n.b.rank(sums), 1));
  n.out(requantize(n, sums, scale, 6, 7, n.b.element(n.in(7))));
}

}  // namespace

const Rules& quantization_rules() {
  static const Rules rules{{"DequantizeLinear", dequantize_linear},
                           {"DynamicQuantizeLinear", dynamic_quantize_linear},
                           {"QLinearConv", qlinear_conv},
                           {"QLinearMatMul", qlinear_matmul},
                           {"QuantizeLinear", quantize_linear}};
  return rules;
}

}  // namespace weft::compiler::frontend
