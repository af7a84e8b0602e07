// Gradients of what works element by element.
#include <numbers>

#include "host/compiler/passes/gradient_rules.hpp"

namespace weft::compiler::passes {

using ir::OpKind;
using ir::ValueId;

/// y = f(x).
bool GradientRules::function(const ir::Op& op, ValueId x, ValueId y, ValueId g) {
  const auto by = [&](ValueId slope) { add(x, to_.times(g, slope)); };
  const auto over = [&](ValueId divisor) { add(x, to_.over(g, divisor)); };
  const auto less_square = [&](ValueId v) { return to_.minus(to_.like(v, 1), square(v)); };  // 1 - v^2
  switch (op.kind) {
    case OpKind::kAbs:
      by(to_.unary(OpKind::kSign, x));
      return true;
    case OpKind::kNegate:
      add(x, negative(g));
      return true;
    case OpKind::kSign:
    case OpKind::kCeil:
    case OpKind::kFloor:
    case OpKind::kRoundNearestEven:
    case OpKind::kRoundNearestAway:
      return true;  // constant but where it jumps
    case OpKind::kExponential:
      by(y);
      return true;
    case OpKind::kExponentialMinusOne:
      by(to_.plus(y, 1.0));
      return true;
    case OpKind::kLog:
      over(x);
      return true;
    case OpKind::kLogPlusOne:
      over(to_.plus(x, 1.0));
      return true;
    case OpKind::kLogistic:
      by(to_.times(y, to_.minus(to_.like(y, 1), y)));
      return true;
    case OpKind::kSqrt:
      over(to_.times(y, 2.0));
      return true;
    case OpKind::kRsqrt:
      by(to_.times(to_.over(y, x), -0.5));
      return true;
    case OpKind::kCbrt:
      by(to_.over(y, to_.times(x, 3.0)));
      return true;
    case OpKind::kSine:
      by(to_.unary(OpKind::kCosine, x));
      return true;
    case OpKind::kCosine:
      by(negative(to_.unary(OpKind::kSine, x)));
      return true;
    case OpKind::kTan:
      by(to_.plus(square(y), 1.0));
      return true;
    case OpKind::kAsin:
      over(to_.sqrt(less_square(x)));
      return true;
    case OpKind::kAcos:
      over(negative(to_.sqrt(less_square(x))));
      return true;
    case OpKind::kAtan:
      over(to_.plus(square(x), 1.0));
      return true;
    case OpKind::kSinh:
      by(to_.unary(OpKind::kCosh, x));
      return true;
    case OpKind::kCosh:
      by(to_.unary(OpKind::kSinh, x));
      return true;
    case OpKind::kTanh:
      by(less_square(y));
      return true;
    case OpKind::kAsinh:
      over(to_.sqrt(to_.plus(square(x), 1.0)));
      return true;
    case OpKind::kAcosh:
      over(to_.sqrt(to_.minus(square(x), 1.0)));
      return true;
    case OpKind::kAtanh:
      over(less_square(x));
      return true;
    case OpKind::kErf:
      by(to_.times(to_.exp(negative(square(x))), 2 * std::numbers::inv_sqrtpi));
      return true;
    case OpKind::kConvert:
      add(x, to_.convert(g, to_.element(x)));
      return true;
    case OpKind::kReducePrecision:
      add(x, to_.add(op.kind, {g}, op.attributes));
      return true;
    default:
      return false;
  }
}

/// y is the larger or the smaller of two. What is compared with a constant is y, which is the value itself where the
/// gradient is not zero: a product before a relu then has no other reader.
void GradientRules::extreme(const ir::Op& op, ValueId y, ValueId g) {
  const ValueId a = op.operands[0], b = op.operands[1];
  const char* beyond = op.kind == OpKind::kMaximum ? "gt" : "lt";
  if (wanted(a) != wanted(b)) {
    const ValueId other = wanted(a) ? b : a;
    return add(wanted(a) ? a : b, to_.select(to_.compare(beyond, y, other), g, to_.like(g, 0)));
  }
  const ValueId shared = to_.select(to_.compare("eq", a, b), to_.times(g, 0.5), g), none = to_.like(g, 0);
  add(a, to_.select(to_.compare(beyond, b, a), none, shared));
  add(b, to_.select(to_.compare(beyond, a, b), none, shared));
}

/// y = a ^ b.
void GradientRules::power(ValueId a, ValueId b, ValueId y, ValueId g) {
  if (wanted(a)) add(a, to_.times(g, to_.times(b, to_.binary(OpKind::kPower, a, to_.minus(b, 1.0)))));
  if (wanted(b)) {
    // The logarithm of 0 would be infinite: 0 ^ b does not depend on b > 0.
    const ValueId base = to_.select(to_.compare("eq", a, to_.like(a, 0)), to_.like(a, 1), a);
    add(b, to_.times(g, to_.times(y, to_.log(base))));
  }
}

bool GradientRules::elementwise(const ir::Op& op, ValueId y, ValueId g) {
  if (op.operands.size() == 1) return function(op, op.operands[0], y, g);
  if (op.operands.size() < 2) return false;
  const ValueId a = op.operands[0], b = op.operands[1];
  switch (op.kind) {
    case OpKind::kAdd:
      add(a, g);
      add(b, g);
      return true;
    case OpKind::kSubtract:
      add(a, g);
      if (wanted(b)) add(b, negative(g));
      return true;
    case OpKind::kMultiply:
      if (wanted(a)) add(a, to_.times(g, b));
      if (wanted(b)) add(b, to_.times(g, a));
      return true;
    case OpKind::kDivide:
      if (wanted(a)) add(a, to_.over(g, b));
      if (wanted(b)) add(b, negative(to_.times(g, to_.over(y, b))));
      return true;
    case OpKind::kPower:
      power(a, b, y, g);
      return true;
    case OpKind::kAtan2: {
      const ValueId size = to_.plus(square(a), square(b));
      if (wanted(a)) add(a, to_.times(g, to_.over(b, size)));
      if (wanted(b)) add(b, negative(to_.times(g, to_.over(a, size))));
      return true;
    }
    case OpKind::kMaximum:
    case OpKind::kMinimum:
      extreme(op, y, g);
      return true;
    case OpKind::kSelect:
      if (wanted(b)) add(b, to_.select(a, g, to_.like(g, 0)));
      if (wanted(op.operands[2])) add(op.operands[2], to_.select(a, to_.like(g, 0), g));
      return true;
    default:
      return false;
  }
}

}  // namespace weft::compiler::passes
