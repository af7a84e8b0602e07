// Normalisation.
#include <optional>

#include "host/compiler/onnx/functions.hpp"
#include "host/compiler/onnx/rules.hpp"

namespace weft::compiler::frontend {
namespace {

using Keep = Builder::Keep;

/// A vector along dimension 1 of a tensor like x.
ValueId channels(Node& n, ValueId vector, ValueId x) {
  if (n.b.rank(vector) != 1 || n.b.rank(x) < 2 || n.b.dim(vector, 0) != n.b.dim(x, 1))
    invalid("{} for the channels of {}", n.b.type(vector).text(), n.b.type(x).text());
  Dims row(n.b.rank(x), 1);
  row[1] = n.b.dim(vector, 0);
  return n.b.convert(n.b.reshape(vector, row), n.b.element(x));
}

void batch_normalization(Node& n) {
  const ValueId x = n.in(0);
  if (n.b.rank(x) == 1) unsupported("{}; supported: two dimensions and more", n.b.type(x).text());
  const double epsilon = n.number("epsilon", 1e-5f);
  if (n.since < 9 && n.integer("spatial", 1) != 1) unsupported("spatial 0");
  if (n.since < 7 && n.integer("is_test", 0) == 0) unsupported("is_test 0, which trains; supported: inference");
  ValueId mean = n.in(3), variance = n.in(4);
  if (n.integer("training_mode", 0) != 0) {
    const double momentum = n.number("momentum", 0.9f);
    Dims others{0};
    for (size_t d = 2; d < n.b.rank(x); d++) others.push_back(static_cast<int64_t>(d));
    const ValueId wide = n.b.convert(x, ElementType::kF32);
    const ValueId now = n.b.mean(wide, others, Keep::kYes);
    const ValueId centred = n.b.minus(wide, now);
    const ValueId spread = n.b.mean(n.b.times(centred, centred), others, Keep::kNo);
    const ValueId flat = n.b.reshape(now, n.b.dims(mean));
    const auto running = [&](ValueId old, ValueId fresh) {
      return n.b.plus(n.b.times(old, momentum), n.b.times(n.b.convert(fresh, n.b.element(old)), 1 - momentum));
    };
    n.out(running(mean, flat), 1);
    n.out(running(variance, spread), 2);
    mean = n.b.convert(flat, n.b.element(mean)), variance = n.b.convert(spread, n.b.element(variance));
  }
  const ValueId scale = channels(n, n.in(1), x);
  const ValueId inverse = n.b.over(n.b.like(x, 1), n.b.sqrt(n.b.plus(channels(n, variance, x), epsilon)));
  n.out(n.b.plus(n.b.times(n.b.times(n.b.minus(x, channels(n, mean, x)), inverse), scale), channels(n, n.in(2), x)));
}

/// A number for each group, [images, groups, 1], for the channels of x.
ValueId for_channels(Builder& b, ValueId numbers, ValueId x) {
  const int64_t images = b.dim(numbers, 0), groups = b.dim(numbers, 1), channels = b.dim(x, 1);
  Dims dims(b.rank(x), 1);
  dims[0] = images, dims[1] = channels;
  return b.reshape(b.broadcast_to(numbers, {images, groups, channels / groups}), dims);
}

/// x, [images, channels, ...], normalised over the channels of each group and all that is behind them. The shape of x
/// stays, and sums are of each channel first: images whose channels lie last are not taken apart.
ValueId normalize_groups(Builder& b, ValueId x, int64_t groups, double epsilon) {
  const int64_t images = b.dim(x, 0), channels = b.dim(x, 1);
  const Dims behind = ir::counting(b.rank(x) - 2, 2);
  const double count = static_cast<double>(b.type(x).count()) / static_cast<double>(images * groups);
  const auto mean = [&](ValueId v) {
    const ValueId sums =
        b.reshape(behind.empty() ? v : b.reduce("add", v, behind, Keep::kNo), {images, groups, channels / groups});
    return b.over(b.reduce("add", sums, {2}, Keep::kYes), count);
  };
  const ValueId centred = b.minus(x, for_channels(b, mean(x), x));
  const ValueId variance = mean(b.times(centred, centred));
  return b.times(centred, for_channels(b, b.over(b.like(x, 1), b.sqrt(b.plus(variance, epsilon))), x));
}

/// Before a reshape of [images, channels, ...] to [images, groups, ...], as exporters write a normalisation of groups.
std::optional<ValueId> before_groups(const Builder& b, ValueId x) {
  const ir::Op& op = b.module().op_of(x);
  if (op.kind != OpKind::kReshape || b.type(x).count() == 0) return std::nullopt;
  const ValueId source = op.operands[0];
  if (b.rank(source) < 3 || b.dim(source, 0) != b.dim(x, 0) || b.dim(source, 1) % b.dim(x, 1) != 0) return std::nullopt;
  return source;
}

void instance_normalization(Node& n) {
  const ValueId x = n.in(0);
  if (n.b.rank(x) < 3) invalid("{}", n.b.type(x).text());
  const double epsilon = n.number("epsilon", 1e-5f);
  const ValueId scale = channels(n, n.in(1), x), bias = channels(n, n.in(2), x);
  if (const auto source = before_groups(n.b, x)) {
    const int64_t groups = n.b.dim(x, 1);
    const auto spread = [&](ValueId v) { return for_channels(n.b, n.b.reshape(v, {1, groups, 1}), *source); };
    const ValueId y = n.b.times(normalize_groups(n.b, *source, groups, epsilon), spread(scale));
    return n.out(n.b.reshape(n.b.plus(y, spread(bias)), n.b.dims(x)));
  }
  const auto y = normalize(n.b, x, ir::counting(n.b.rank(x) - 2, 2), epsilon);
  n.out(n.b.plus(n.b.times(y.value, scale), bias));
}

void group_normalization(Node& n) {
  const ValueId x = n.in(0);
  const Dims dims = n.b.dims(x);
  const int64_t groups = n.integer("num_groups", 1);
  if (dims.size() < 2 || groups < 1 || dims[1] % groups != 0) invalid("{} in {} groups", n.b.type(x).text(), groups);
  const ElementType type = n.b.element(x);
  const ValueId wide = n.integer("stash_type", 1) == 1 ? n.b.convert(x, ElementType::kF32) : x;
  const auto spread = [&](ValueId v) {
    if (n.since >= 21) return channels(n, v, x);
    return channels(
        n, n.b.reshape(n.b.broadcast_to(n.b.reshape(v, {groups, 1}), {groups, dims[1] / groups}), {dims[1]}), x);
  };
  const ValueId y = n.b.convert(normalize_groups(n.b, wide, groups, n.number("epsilon", 1e-5f)), type);
  n.out(n.b.plus(n.b.times(y, spread(n.in(1))), spread(n.in(2))));
}

void layer_normalization(Node& n) {
  const ValueId x = n.in(0);
  const ElementType type = n.b.element(x), stash = Node::element(n.integer("stash_type", 1));
  const size_t axis = Node::axis(n.integer("axis", -1), n.b.rank(x));
  const auto y = normalize(n.b, n.b.convert(x, stash), ir::counting(n.b.rank(x) - axis, static_cast<int64_t>(axis)),
                           n.number("epsilon", 1e-5f));
  ValueId value = n.b.times(n.b.convert(y.value, type), n.in(1));
  if (n.has(2)) value = n.b.plus(value, n.in(2));
  n.out(value);
  n.out(y.mean, 1);
  n.out(y.inverse, 2);
}

void rms_normalization(Node& n) {
  const ValueId x = n.in(0);
  const ElementType type = n.b.element(x), stash = Node::element(n.integer("stash_type", 1));
  const size_t axis = Node::axis(n.integer("axis", -1), n.b.rank(x));
  const ValueId wide = n.b.convert(x, stash);
  const ValueId square =
      n.b.mean(n.b.times(wide, wide), ir::counting(n.b.rank(x) - axis, static_cast<int64_t>(axis)), Keep::kYes);
  const ValueId y = n.b.over(wide, n.b.sqrt(n.b.plus(square, n.number("epsilon", 1e-5f))));
  n.out(n.b.times(n.b.convert(y, type), n.in(1)));
}

void lp_normalization(Node& n) {
  const ValueId x = n.in(0);
  const int64_t p = n.integer("p", 2);
  if (p != 1 && p != 2) invalid("p is {}; 1 or 2", p);
  const Dims along{static_cast<int64_t>(Node::axis(n.integer("axis", -1), n.b.rank(x)))};
  const ValueId size = p == 1 ? n.b.reduce("add", n.b.unary(OpKind::kAbs, x), along, Keep::kYes)
                              : n.b.sqrt(n.b.reduce("add", n.b.times(x, x), along, Keep::kYes));
  n.out(n.b.over(x, size));
}

void mean_variance_normalization(Node& n) {
  const ValueId x = n.in(0);
  const Dims axes = Node::axes(n.integers("axes", {0, 2, 3}), n.b.rank(x));
  const ValueId centred = n.b.minus(x, n.b.mean(x, axes, Keep::kYes));
  const ValueId spread = n.b.sqrt(n.b.mean(n.b.times(centred, centred), axes, Keep::kYes));
  n.out(n.b.over(centred, n.b.plus(spread, 1e-9)));
}

/// Sums of squares of neighbouring channels.
void lrn(Node& n) {
  const ValueId x = n.in(0);
  const size_t rank = n.b.rank(x);
  const int64_t size = n.integer("size", 0);
  if (size < 1 || rank < 2) invalid("size {} of {}", size, n.b.type(x).text());
  Dims window(rank, 1), low(rank), high(rank);
  window[1] = size, low[1] = (size - 1) / 2, high[1] = size - 1 - low[1];
  const ValueId squares = n.b.reduce_window("add", n.b.times(x, x), window, Dims(rank, 1), low, high, Dims(rank, 1));
  const double alpha = n.number("alpha", 1e-4f), beta = n.number("beta", 0.75), bias = n.number("bias", 1);
  const ValueId base = n.b.plus(n.b.times(squares, alpha / static_cast<double>(size)), bias);
  n.out(n.b.over(x, n.b.binary(OpKind::kPower, base, n.b.like(base, beta))));
}

/// As at inference: the input itself.
void dropout(Node& n) {
  if (n.since < 7 && n.integer("is_test", 0) == 0) unsupported("is_test 0, which trains; supported: inference");
  if (n.has(2) && n.known(2)->integer(0) != 0 && (!n.has(1) || n.known(1)->number(0) != 0))
    unsupported("training_mode with random numbers; supported: inference, or a ratio of 0");
  n.out(n.in(0));
  const ElementType mask = n.since >= 10 ? ElementType::kPred : n.b.element(n.in(0));
  n.out(n.b.fill({mask, n.b.dims(n.in(0))}, 1), 1);
}

}  // namespace

const Rules& normalization_rules() {
  static const Rules rules{{"BatchNormalization", batch_normalization},
                           {"Dropout", dropout},
                           {"GroupNormalization", group_normalization},
                           {"InstanceNormalization", instance_normalization},
                           {"LRN", lrn},
                           {"LayerNormalization", layer_normalization},
                           {"LpNormalization", lp_normalization},
                           {"MeanVarianceNormalization", mean_variance_normalization},
                           {"RMSNormalization", rms_normalization}};
  return rules;
}

}  // namespace weft::compiler::frontend
