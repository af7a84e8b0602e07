// Arithmetic, comparisons and logic, element by element.
#include <cmath>
#include <limits>

#include "host/compiler/onnx/rules.hpp"

namespace weft::compiler::frontend {
namespace {

template <OpKind kind>
void unary(Node& n) {
  n.out(n.b.unary(kind, n.in(0)));
}
/// The second operand. Up to opset 6 it has the first one's shape, or `broadcast` puts its dimensions beside those of
/// the first from `axis` on.
ValueId second(Node& n) {
  const ValueId a = n.in(0), b = n.in(1);
  if (n.since >= 7 || n.b.dims(a) == n.b.dims(b)) return b;
  if (n.integer("broadcast", 0) == 0)
    invalid("shapes {} and {} without broadcast", ir::dims_text(n.b.dims(a)), ir::dims_text(n.b.dims(b)));
  const int64_t spare = static_cast<int64_t>(n.b.rank(a)) - static_cast<int64_t>(n.b.rank(b));
  const int64_t axis = n.integer("axis", spare);
  if (axis < 0 || axis > spare)
    invalid("axis {} for shapes {} and {}", axis, ir::dims_text(n.b.dims(a)), ir::dims_text(n.b.dims(b)));
  return n.b.broadcast_in(b, n.b.dims(a), ir::counting(n.b.rank(b), axis));
}
template <OpKind kind>
void binary(Node& n) {
  n.out(n.b.binary(kind, n.in(0), second(n)));
}

/// Max, Min, Sum: any number of operands.
template <OpKind kind>
void variadic(Node& n) {
  ValueId y = n.in(0);
  for (size_t i = 1; i < n.inputs(); i++) y = n.b.binary(kind, y, n.in(i));
  n.out(y);
}
void mean(Node& n) {
  ValueId y = n.in(0);
  for (size_t i = 1; i < n.inputs(); i++) y = n.b.plus(y, n.in(i));
  n.out(n.b.over(y, static_cast<double>(n.inputs())));
}

void equal(Node& n) { n.out(n.b.compare("eq", n.in(0), second(n))); }
void less(Node& n) { n.out(n.b.compare("lt", n.in(0), second(n))); }
void less_or_equal(Node& n) { n.out(n.b.compare("le", n.in(0), n.in(1))); }
void greater(Node& n) { n.out(n.b.compare("gt", n.in(0), second(n))); }
void greater_or_equal(Node& n) { n.out(n.b.compare("ge", n.in(0), n.in(1))); }

void where(Node& n) { n.out(n.b.select(n.in(0), n.in(1), n.in(2))); }
void identity(Node& n) { n.out(n.in(0)); }
void reciprocal(Node& n) { n.out(n.b.over(n.b.like(n.in(0), 1), n.in(0))); }
void is_nan(Node& n) { n.out(n.b.compare("ne", n.in(0), n.in(0))); }

void is_inf(Node& n) {
  const ValueId x = n.in(0);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool up = n.integer("detect_positive", 1) != 0, down = n.integer("detect_negative", 1) != 0;
  ValueId y = n.b.fill({ElementType::kPred, n.b.dims(x)}, 0);
  if (up) y = n.b.binary(OpKind::kOr, y, n.b.compare("eq", x, n.b.like(x, kInfinity)));
  if (down) y = n.b.binary(OpKind::kOr, y, n.b.compare("eq", x, n.b.like(x, -kInfinity)));
  n.out(y);
}

/// The operands may have different types; the result has the first one's.
void power(Node& n) {
  ValueId x = n.in(0), y = second(n);
  const ElementType type = n.b.element(x);
  if (!ir::is_float(type) && ir::is_float(n.b.element(y))) {
    x = n.b.convert(x, ElementType::kF64), y = n.b.convert(y, ElementType::kF64);
  } else {
    y = n.b.convert(y, type);
  }
  n.out(n.b.convert(n.b.binary(OpKind::kPower, x, y), type));
}

/// fmod = 1: the sign of the dividend; else of the divisor.
void mod(Node& n) {
  const ValueId a = n.in(0), d = n.in(1);
  const ValueId rest = n.b.binary(OpKind::kRemainder, a, d);
  if (n.integer("fmod", 0) != 0 || ir::is_unsigned(n.b.element(a))) return n.out(rest);
  if (ir::is_float(n.b.element(a))) invalid("fmod = 0 on {}; floats need fmod = 1", n.b.type(a).text());
  const ValueId zero = n.b.like(rest, 0);
  const ValueId signs =
      n.b.compare("ne", n.b.compare("lt", rest, zero), n.b.compare("lt", n.b.broadcast_to(d, n.b.dims(rest)), zero));
  const ValueId off = n.b.binary(OpKind::kAnd, signs, n.b.compare("ne", rest, zero));
  n.out(n.b.select(off, n.b.plus(rest, d), rest));
}

void bit_shift(Node& n) {
  const auto direction = n.word("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") invalid("direction '{}'; LEFT or RIGHT", direction);
  n.out(n.b.binary(direction == "LEFT" ? OpKind::kShiftLeft : OpKind::kShiftRight, n.in(0), n.in(1)));
}

void cast(Node& n) { n.out(n.b.convert(n.in(0), Node::element(n.integer("to", 0)))); }
void cast_like(Node& n) { n.out(n.b.convert(n.in(0), n.b.element(n.in(1)))); }

void clip(Node& n) {
  ValueId x = n.in(0);
  if (n.since >= 11) {
    if (n.has(1)) x = n.b.max(x, n.in(1));
    if (n.has(2)) x = n.b.min(x, n.in(2));
  } else {
    if (n.has_attribute("min")) x = n.b.max(x, n.b.like(x, n.number("min", 0)));
    if (n.has_attribute("max")) x = n.b.min(x, n.b.like(x, n.number("max", 0)));
  }
  if (n.b.dims(x) != n.b.dims(n.in(0))) invalid("the limits are no scalars");
  n.out(x);
}

}  // namespace

const Rules& elementwise_rules() {
  static const Rules rules{
      {"Abs", unary<OpKind::kAbs>},
      {"Acos", unary<OpKind::kAcos>},
      {"Acosh", unary<OpKind::kAcosh>},
      {"Add", binary<OpKind::kAdd>},
      {"And", binary<OpKind::kAnd>},
      {"Asin", unary<OpKind::kAsin>},
      {"Asinh", unary<OpKind::kAsinh>},
      {"Atan", unary<OpKind::kAtan>},
      {"Atanh", unary<OpKind::kAtanh>},
      {"BitShift", bit_shift},
      {"BitwiseAnd", binary<OpKind::kAnd>},
      {"BitwiseNot", unary<OpKind::kNot>},
      {"BitwiseOr", binary<OpKind::kOr>},
      {"BitwiseXor", binary<OpKind::kXor>},
      {"Cast", cast},
      {"CastLike", cast_like},
      {"Ceil", unary<OpKind::kCeil>},
      {"Clip", clip},
      {"Cos", unary<OpKind::kCosine>},
      {"Cosh", unary<OpKind::kCosh>},
      {"Div", binary<OpKind::kDivide>},
      {"Equal", equal},
      {"Erf", unary<OpKind::kErf>},
      {"Exp", unary<OpKind::kExponential>},
      {"Floor", unary<OpKind::kFloor>},
      {"Greater", greater},
      {"GreaterOrEqual", greater_or_equal},
      {"Identity", identity},
      {"IsInf", is_inf},
      {"IsNaN", is_nan},
      {"Less", less},
      {"LessOrEqual", less_or_equal},
      {"Log", unary<OpKind::kLog>},
      {"Max", variadic<OpKind::kMaximum>},
      {"Mean", mean},
      {"Min", variadic<OpKind::kMinimum>},
      {"Mod", mod},
      {"Mul", binary<OpKind::kMultiply>},
      {"Neg", unary<OpKind::kNegate>},
      {"Not", unary<OpKind::kNot>},
      {"Or", binary<OpKind::kOr>},
      {"Pow", power},
      {"Reciprocal", reciprocal},
      {"Round", unary<OpKind::kRoundNearestEven>},
      {"Sigmoid", unary<OpKind::kLogistic>},
      {"Sign", unary<OpKind::kSign>},
      {"Sin", unary<OpKind::kSine>},
      {"Sinh", unary<OpKind::kSinh>},
      {"Sqrt", unary<OpKind::kSqrt>},
      {"Sub", binary<OpKind::kSubtract>},
      {"Sum", variadic<OpKind::kAdd>},
      {"Tan", unary<OpKind::kTan>},
      {"Tanh", unary<OpKind::kTanh>},
      {"Where", where},
      {"Xor", binary<OpKind::kXor>},
  };
  return rules;
}

}  // namespace weft::compiler::frontend
