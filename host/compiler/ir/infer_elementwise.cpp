// Types of elementwise operators: operands of one type, which the result has too.
#include "host/compiler/ir/infer_rules.hpp"
#include "host/compiler/ir/refusal.hpp"

namespace weft::compiler::ir {
namespace {

/// All operands have the first one's type; its elements are among `allowed`.
Types same(const Op& op, const Types& in, bool allowed, const char* elements) {
  for (const auto& type : in)
    if (type != in[0])
      invalid("{}: operands of types {} and {}; they must be equal", name_of(op.kind), in[0].text(), type.text());
  if (!allowed) unsupported("{}: an operand of type {}; supported: {}", name_of(op.kind), in[0].text(), elements);
  return {in[0]};
}

}  // namespace

Types infer_numeric(const Op& op, const Types& in) {
  return same(op, in, in[0].element != ElementType::kPred, "numbers");
}
Types infer_floating(const Op& op, const Types& in) { return same(op, in, is_float(in[0].element), "floats"); }
Types infer_integers(const Op& op, const Types& in) { return same(op, in, is_integer(in[0].element), "integers"); }
Types infer_bits(const Op& op, const Types& in) { return same(op, in, !is_float(in[0].element), "integers and pred"); }
Types infer_any(const Op& op, const Types& in) { return same(op, in, true, ""); }

Types infer_compare(const Op& op, const Types& in) {
  const auto& direction = op.word("direction");
  if (direction != "eq" && direction != "ne" && direction != "lt" && direction != "le" && direction != "gt" &&
      direction != "ge")
    invalid("compare: direction '{}'; supported: eq, ne, lt, le, gt, ge", direction);
  Types out = same(op, in, true, "");
  out[0].element = ElementType::kPred;
  return out;
}

Types infer_select(const Op&, const Types& in) {
  if (in[0].element != ElementType::kPred || in[1] != in[2] || in[0].dims != in[1].dims)
    invalid("select: operands of types {}, {} and {}; it takes pred and two of one type, all of one shape",
            in[0].text(), in[1].text(), in[2].text());
  return {in[1]};
}

Types infer_convert(const Op& op, const Types& in) { return {{op.element(), in[0].dims}}; }

Types infer_bitcast_convert(const Op& op, const Types& in) {
  // A wider element is several narrow ones, which are the last dimension.
  TensorType out{op.element(), in[0].dims};
  const size_t from = bytes_of(in[0].element), to = bytes_of(out.element);
  if (in[0].element == ElementType::kPred || out.element == ElementType::kPred)
    unsupported("bitcast_convert: {} to {}", in[0].text(), name_of(out.element));
  if (from > to) out.dims.push_back(static_cast<int64_t>(from / to));
  if (from < to) {
    if (out.dims.empty() || out.dims.back() != static_cast<int64_t>(to / from))
      invalid("bitcast_convert: {} to {}", in[0].text(), name_of(out.element));
    out.dims.pop_back();
  }
  return {out};
}

Types infer_reduce_precision(const Op& op, const Types& in) {
  const int64_t exponent = op.integer("exponent_bits"), fraction = op.integer("mantissa_bits");
  if (exponent < 1 || exponent > 11 || fraction < 0 || fraction > 52)
    invalid("reduce_precision: {} bits of exponent, {} of mantissa", exponent, fraction);
  return infer_floating(op, in);
}

}  // namespace weft::compiler::ir
