// Attention and rotary embeddings.
#include <cmath>
#include <limits>

#include "host/compiler/onnx/functions.hpp"
#include "host/compiler/onnx/rules.hpp"

namespace weft::compiler::frontend {
namespace {

ValueId scores_of(Node& n, ValueId q, ValueId k) { return n.b.dot(q, k, {0, 1}, {0, 1}, {3}, {3}, n.b.element(q)); }

void attention(Node& n) {
  const ElementType type = n.b.element(n.in(0));
  const ValueId q = n.in(0);
  ValueId k = n.in(1), v = n.in(2);
  for (const ValueId x : {q, k, v})
    if (n.b.rank(x) != 4)
      unsupported(
          "{}; supported: [batch, heads, positions, size] (opset 23's vectors and onnxruntime read three dimensions "
          "differently)",
          n.b.type(x).text());
  if (n.has(4)) k = n.b.concatenate({n.in(4), k}, 2);
  if (n.has(5)) v = n.b.concatenate({n.in(5), v}, 2);
  n.out(k, 1);
  n.out(v, 2);
  if (n.b.dim(q, 1) != n.b.dim(k, 1) || n.b.dim(q, 1) != n.b.dim(v, 1))
    unsupported(
        "{} heads of queries and {} of keys; supported: equal numbers (opset 23's vectors and onnxruntime pair groups "
        "of heads differently)",
        n.b.dim(q, 1), n.b.dim(k, 1));
  const double scale = std::sqrt(n.number("scale", 1 / std::sqrt(static_cast<double>(n.b.dim(q, 3)))));
  const ValueId raw = scores_of(n, n.b.times(q, scale), n.b.times(k, scale));
  ValueId scores = raw;
  const ValueId lowest = n.b.like(raw, -std::numeric_limits<double>::infinity());
  const Dims grid{n.b.dim(raw, 2), n.b.dim(raw, 3)};
  if (n.integer("is_causal", 0) != 0) {
    const ValueId past = n.b.compare("ge", n.b.iota(ElementType::kI32, grid, 0), n.b.iota(ElementType::kI32, grid, 1));
    scores = n.b.select(past, scores, lowest);
  }
  if (n.has(3)) {
    const ValueId mask = n.in(3);
    (void)ir::broadcast_dims(n.b.dims(mask), n.b.dims(scores));
    scores = n.b.element(mask) == ElementType::kPred ? n.b.select(mask, scores, lowest)
                                                     : n.b.plus(scores, n.b.convert(mask, type));
  }
  const ValueId masked = scores;
  if (const double cap = n.number("softcap", 0); cap > 0)
    scores = n.b.times(n.b.unary(OpKind::kTanh, n.b.over(scores, cap)), cap);
  const ElementType precision =
      n.integer("softmax_precision", 0) != 0 ? Node::element(n.integer("softmax_precision", 0)) : type;
  const ValueId weights = softmax(n.b, n.b.convert(scores, precision), 3);
  const ValueId stages[] = {raw, masked, scores, n.b.convert(weights, type)};
  const int64_t mode = n.integer("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) invalid("qk_matmul_output_mode {}", mode);
  n.out(stages[mode], 3);
  const ValueId y = n.b.convert(n.b.dot(weights, n.b.convert(v, precision), {0, 1}, {0, 1}, {3}, {2}, precision), type);
  n.out(y);
}

/// Pairs of elements are turned by an angle that grows with the position.
void rotary_embedding(Node& n) {
  ValueId x = n.in(0);
  const Dims given = n.b.dims(x);
  const int64_t heads = n.integer("num_heads", 0);
  if (given.size() == 4) {
    x = n.b.transpose(x, {0, 2, 1, 3});
  } else {
    if (given.size() != 3 || heads < 1 || given[2] % heads != 0) invalid("{} in {} heads", n.b.type(x).text(), heads);
    x = n.b.reshape(x, {given[0], given[1], heads, given[2] / heads});
  }
  const Dims dims = n.b.dims(x);  // [batch, positions, heads, size]
  const int64_t asked = n.integer("rotary_embedding_dim", 0), turned = asked == 0 ? dims[3] : asked, half = turned / 2;
  if (turned < 2 || turned > dims[3] || turned % 2 != 0) invalid("rotary_embedding_dim {} of {}", turned, dims[3]);
  const auto table = [&](size_t i) {
    ValueId t = n.in(i);
    if (n.has(3)) t = take_rows(n.b, t, wrap_indices(n.b, n.in(3), n.b.dim(t, 0)));
    if (n.b.rank(t) != 3 || n.b.dim(t, 2) < half) invalid("a table of {} for {} pairs", n.b.type(t).text(), half);
    t = n.b.slice_of(t, 2, 0, half);
    return n.b.broadcast_to(n.b.reshape(t, {n.b.dim(t, 0), n.b.dim(t, 1), 1, half}), {dims[0], dims[1], dims[2], half});
  };
  const ValueId cosine = table(1), sine = table(2), part = n.b.slice_of(x, 3, 0, turned);
  const Dims pair{dims[0], dims[1], dims[2], half};
  const bool interleaved = n.integer("interleaved", 0) != 0;
  const auto side = [&](int64_t which) {
    if (!interleaved) return n.b.slice_of(part, 3, which * half, (which + 1) * half);
    const ValueId pairs = n.b.reshape(part, {dims[0], dims[1], dims[2], half, 2});
    return n.b.reshape(n.b.slice_of(pairs, 4, which, which + 1), pair);
  };
  const ValueId a = side(0), c = side(1);
  const ValueId real = n.b.minus(n.b.times(cosine, a), n.b.times(sine, c)),
                imaginary = n.b.plus(n.b.times(sine, a), n.b.times(cosine, c));
  ValueId y;
  if (interleaved) {
    const Dims column{dims[0], dims[1], dims[2], half, 1};
    y = n.b.reshape(n.b.concatenate({n.b.reshape(real, column), n.b.reshape(imaginary, column)}, 4),
                    {dims[0], dims[1], dims[2], turned});
  } else {
    y = n.b.concatenate({real, imaginary}, 3);
  }
  if (turned < dims[3]) y = n.b.concatenate({y, n.b.slice_of(x, 3, turned, dims[3])}, 3);
  n.out(given.size() == 4 ? n.b.transpose(y, {0, 2, 1, 3}) : n.b.reshape(y, given));
}

}  // namespace

const Rules& attention_rules() {
  static const Rules rules{{"Attention", attention}, {"RotaryEmbedding", rotary_embedding}};
  return rules;
}

}  // namespace weft::compiler::frontend
