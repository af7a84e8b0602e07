// Activations, softmax and losses.
#include <cmath>
#include <numbers>

#include "host/compiler/onnx/functions.hpp"
#include "host/compiler/onnx/rules.hpp"

namespace weft::compiler::frontend {
namespace {

void relu(Node& n) { n.out(n.b.max(n.in(0), n.b.like(n.in(0), 0))); }

/// x where it is at least 0 (or above it), else `below`.
ValueId negative_part(Node& n, ValueId x, ValueId below) {
  return n.b.select(n.b.compare("lt", x, n.b.like(x, 0)), below, x);
}
ValueId exp_minus_one(Node& n, ValueId x) {
  // Of the negative part alone, so that nothing overflows where it is not used.
  return n.b.minus(n.b.exp(n.b.min(x, n.b.like(x, 0))), 1);
}

void leaky_relu(Node& n) { n.out(negative_part(n, n.in(0), n.b.times(n.in(0), n.number("alpha", 0.01f)))); }
void prelu(Node& n) {
  const ValueId x = n.in(0);
  ValueId slope = n.in(1);
  if (n.since < 7 && n.b.rank(x) > 1 && n.b.type(slope).count() > 1) {  // one for each channel
    Dims row(n.b.rank(x), 1);
    row[1] = n.b.dim(x, 1);
    slope = n.b.reshape(slope, row);
  }
  n.out(negative_part(n, x, n.b.times(x, n.b.broadcast_to(slope, n.b.dims(x)))));
}
void elu(Node& n) { n.out(negative_part(n, n.in(0), n.b.times(exp_minus_one(n, n.in(0)), n.number("alpha", 1)))); }
void selu(Node& n) {
  const double alpha = n.number("alpha", 1.67326319217681884765625),
               gamma = n.number("gamma", 1.05070102214813232421875);
  n.out(n.b.times(negative_part(n, n.in(0), n.b.times(exp_minus_one(n, n.in(0)), alpha)), gamma));
}
void celu(Node& n) {
  const double alpha = n.number("alpha", 1);
  const ValueId x = n.in(0);
  n.out(negative_part(n, x, n.b.times(exp_minus_one(n, n.b.over(x, alpha)), alpha)));
}
void thresholded_relu(Node& n) {
  const ValueId x = n.in(0);
  n.out(n.b.select(n.b.compare("gt", x, n.b.like(x, n.number("alpha", 1))), x, n.b.like(x, 0)));
}
ValueId unit(Node& n, ValueId x) { return n.b.max(n.b.min(x, n.b.like(x, 1)), n.b.like(x, 0)); }
void hard_sigmoid(Node& n) {
  n.out(unit(n, n.b.plus(n.b.times(n.in(0), n.number("alpha", 0.2f)), n.number("beta", 0.5))));
}
void hard_swish(Node& n) { n.out(n.b.times(n.in(0), unit(n, n.b.plus(n.b.times(n.in(0), 1.0 / 6), 0.5)))); }
/// log(1 + exp(x)), without overflow.
ValueId softplus_of(Node& n, ValueId x) {
  const ValueId tail = n.b.exp(n.b.unary(OpKind::kNegate, n.b.unary(OpKind::kAbs, x)));
  return n.b.plus(n.b.max(x, n.b.like(x, 0)), n.b.unary(OpKind::kLogPlusOne, tail));
}
void softplus(Node& n) { n.out(softplus_of(n, n.in(0))); }
void softsign(Node& n) { n.out(n.b.over(n.in(0), n.b.plus(n.b.unary(OpKind::kAbs, n.in(0)), 1))); }
void mish(Node& n) { n.out(n.b.times(n.in(0), n.b.unary(OpKind::kTanh, softplus_of(n, n.in(0))))); }
void gelu(Node& n) {
  const ValueId x = n.in(0);
  const auto how = n.word("approximate", "none");
  if (how != "none" && how != "tanh") invalid("approximate '{}'; none or tanh", how);
  ValueId inner;
  if (how == "none") {
    inner = n.b.unary(OpKind::kErf, n.b.times(x, 1 / std::numbers::sqrt2));
  } else {
    const ValueId cube = n.b.times(n.b.times(x, x), x);
    inner =
        n.b.unary(OpKind::kTanh, n.b.times(n.b.plus(x, n.b.times(cube, 0.044715)), std::sqrt(2 / std::numbers::pi)));
  }
  n.out(n.b.times(n.b.times(x, 0.5), n.b.plus(inner, 1)));
}
void shrink(Node& n) {
  const ValueId x = n.in(0);
  const double bias = n.number("bias", 0), lambd = n.number("lambd", 0.5);
  const ValueId zero = n.b.like(x, 0);
  const ValueId low = n.b.select(n.b.compare("lt", x, n.b.like(x, -lambd)), n.b.plus(x, bias), zero);
  n.out(n.b.select(n.b.compare("gt", x, n.b.like(x, lambd)), n.b.minus(x, bias), low));
}

/// Up to opset 12 all dimensions from the axis on count as one.
template <typename F>
void along_axis(Node& n, F f) {
  const ValueId x = n.in(0);
  const Dims dims = n.b.dims(x);
  if (n.since >= 13) return n.out(f(x, Node::axis(n.integer("axis", -1), dims.size())));
  const size_t axis = Node::axis(n.integer("axis", 1), dims.size());
  int64_t rows = 1, columns = 1;
  for (size_t d = 0; d < dims.size(); d++) (d < axis ? rows : columns) *= dims[d];
  n.out(n.b.reshape(f(n.b.reshape(x, {rows, columns}), 1), dims));
}
void softmax_rule(Node& n) {
  along_axis(n, [&](ValueId x, size_t axis) { return softmax(n.b, x, axis); });
}
void log_softmax_rule(Node& n) {
  along_axis(n, [&](ValueId x, size_t axis) { return log_softmax(n.b, x, axis); });
}
void hardmax(Node& n) {
  along_axis(n, [&](ValueId x, size_t axis) {
    const ValueId best = arg_extreme(n.b, x, axis, Extreme::kMaximum, Tie::kFirst);
    const ValueId places = n.b.iota(ElementType::kI64, n.b.dims(x), axis);
    return n.b.convert(n.b.compare("eq", places, best), n.b.element(x));
  });
}

/// The loss of each element of the target, and its mean or sum. `scores` are log-probabilities [N, C, ...].
ValueId negative_log_likelihood(Node& n, ValueId scores, ValueId target, std::optional<ValueId> weight) {
  const auto reduction = n.word("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean") invalid("reduction '{}'", reduction);
  const ElementType type = n.b.element(scores);
  const Dims dims = n.b.dims(scores);
  if (dims.size() < 2) invalid("scores of type {}", n.b.type(scores).text());
  Dims classes = n.b.dims(target);
  if (classes.size() + 1 != dims.size())
    invalid("scores of {} and targets of {}", n.b.type(scores).text(), n.b.type(target).text());
  classes.insert(classes.begin() + 1, 1);
  const ValueId index = n.b.reshape(n.b.convert(target, ElementType::kI64), classes);
  const ValueId hit = n.b.convert(n.b.compare("eq", n.b.iota(ElementType::kI64, dims, 1), index), type);
  const ValueId zero = n.b.like(scores, 0);
  const ValueId chosen = n.b.compare("ne", hit, zero);
  const auto pick = [&](ValueId x) { return n.b.reduce("add", n.b.select(chosen, x, zero), {1}, Builder::Keep::kNo); };
  ValueId weights = n.b.fill({type, n.b.dims(target)}, 1);
  if (weight) {
    Dims row(dims.size(), 1);
    row[1] = dims[1];
    weights = pick(n.b.broadcast_to(n.b.reshape(*weight, row), dims));
  }
  if (n.has_attribute("ignore_index")) {
    const ValueId ignored =
        n.b.compare("eq", target, n.b.like(target, static_cast<double>(n.integer("ignore_index", 0))));
    weights = n.b.select(ignored, zero, weights);
  }
  const ValueId loss = n.b.times(n.b.unary(OpKind::kNegate, pick(scores)), weights);
  if (reduction == "none") return loss;
  const Dims all = ir::counting(n.b.rank(loss));
  const ValueId sum = n.b.reduce("add", loss, all, Builder::Keep::kNo);
  return reduction == "sum" ? sum : n.b.over(sum, n.b.reduce("add", weights, all, Builder::Keep::kNo));
}
void negative_log_likelihood_loss(Node& n) {
  n.out(negative_log_likelihood(n, n.in(0), n.in(1), n.has(2) ? std::optional(n.in(2)) : std::nullopt));
}
void softmax_cross_entropy_loss(Node& n) {
  const ValueId scores = log_softmax(n.b, n.in(0), Node::axis(1, n.b.rank(n.in(0))));
  n.out(negative_log_likelihood(n, scores, n.in(1), n.has(2) ? std::optional(n.in(2)) : std::nullopt));
  n.out(scores, 1);
}

}  // namespace

const Rules& activation_rules() {
  static const Rules rules{{"Celu", celu},
                           {"Elu", elu},
                           {"Gelu", gelu},
                           {"HardSigmoid", hard_sigmoid},
                           {"HardSwish", hard_swish},
                           {"Hardmax", hardmax},
                           {"LeakyRelu", leaky_relu},
                           {"LogSoftmax", log_softmax_rule},
                           {"Mish", mish},
                           {"NegativeLogLikelihoodLoss", negative_log_likelihood_loss},
                           {"PRelu", prelu},
                           {"Relu", relu},
                           {"Selu", selu},
                           {"Shrink", shrink},
                           {"Softmax", softmax_rule},
                           {"SoftmaxCrossEntropyLoss", softmax_cross_entropy_loss},
                           {"Softplus", softplus},
                           {"Softsign", softsign},
                           {"ThresholdedRelu", thresholded_relu}};
  return rules;
}

}  // namespace weft::compiler::frontend
