// Combinations of L1's operators that several of ONNX's need.
#include "host/compiler/onnx/functions.hpp"

#include <algorithm>

namespace weft::compiler::frontend {

using Keep = Builder::Keep;

ValueId log_softmax(Builder& b, ValueId x, size_t axis) {
  const Dims along{static_cast<int64_t>(axis)};
  if (b.type(x).count() == 0) return x;
  const ValueId shifted = b.minus(x, b.reduce("maximum", x, along, Keep::kYes));
  return b.minus(shifted, b.log(b.reduce("add", b.exp(shifted), along, Keep::kYes)));
}

ValueId softmax(Builder& b, ValueId x, size_t axis) {
  const Dims along{static_cast<int64_t>(axis)};
  if (b.type(x).count() == 0) return x;
  const ValueId powers = b.exp(b.minus(x, b.reduce("maximum", x, along, Keep::kYes)));
  return b.over(powers, b.reduce("add", powers, along, Keep::kYes));
}

ValueId arg_extreme(Builder& b, ValueId x, size_t axis, Extreme extreme, Tie tie) {
  const Dims along{static_cast<int64_t>(axis)};
  if (b.dim(x, axis) == 0) invalid("axis {} of {} has no element", axis, b.type(x).text());
  const ValueId best = b.reduce(extreme == Extreme::kMaximum ? "maximum" : "minimum", x, along, Keep::kYes);
  const ValueId hit = b.binary(OpKind::kOr, b.compare("eq", x, best), b.compare("ne", x, x));
  const ValueId places = b.iota(ElementType::kI64, b.dims(x), axis);
  const ValueId other = b.scalar(ElementType::kI64, tie == Tie::kFirst ? static_cast<double>(b.dim(x, axis)) : -1);
  return b.reduce(tie == Tie::kFirst ? "minimum" : "maximum", b.select(hit, places, other), along, Keep::kYes);
}

ValueId wrap_indices(Builder& b, ValueId indices, int64_t size, ElementType element) {
  const ValueId wide = b.convert(indices, element);
  return b.select(b.compare("lt", wide, b.like(wide, 0)), b.plus(wide, static_cast<double>(size)), wide);
}

bool is_table(const Builder& b, ValueId x) {
  const ir::Module& module = b.module();
  return (module.op_of(x).kind == OpKind::kParameter ||
          module.op_of(module.before_reshapes(x)).kind == OpKind::kConstant) &&
         b.rank(x) >= 2 && b.dim(x, 0) > 0 && b.dim(x, 0) <= INT32_MAX;
}

ValueId take_rows(Builder& b, ValueId x, ValueId rows) {
  if (is_table(b, x) && b.element(rows) == ElementType::kI64) {
    const auto last = static_cast<double>(b.dim(x, 0) - 1);
    rows = b.convert(b.min(b.max(rows, b.like(rows, 0)), b.like(rows, last)), ElementType::kI32);
  }
  return b.take(x, rows, 0);
}

ValueId matmul(Builder& b, ValueId x, ValueId y, ElementType sums) {
  if (b.rank(x) == 0 || b.rank(y) == 0) invalid("a product of {} and {}", b.type(x).text(), b.type(y).text());
  const bool row = b.rank(x) == 1, column = b.rank(y) == 1;
  if (row) x = b.reshape(x, {1, b.dim(x, 0)});
  if (column) y = b.reshape(y, {b.dim(y, 0), 1});
  const size_t rank_x = b.rank(x), rank_y = b.rank(y);
  const int64_t k = b.dim(x, rank_x - 1);
  if (k != b.dim(y, rank_y - 2)) invalid("a product of {} and {}", b.type(x).text(), b.type(y).text());
  ValueId product;
  Dims dims = b.dims(x);
  if (rank_y == 2) {  // all other dimensions of x are rows
    const int64_t rows = static_cast<int64_t>(ir::count_of(std::span(dims).first(rank_x - 1)));
    product = b.dot(b.reshape(x, {rows, k}), y, {}, {}, {1}, {0}, sums);
    dims.back() = b.dim(y, 1);
    product = b.reshape(product, dims);
  } else {
    Dims batch_x(dims.begin(), dims.end() - 2), batch_y(b.dims(y).begin(), b.dims(y).end() - 2);
    const Dims batch = ir::broadcast_dims(batch_x, batch_y);
    const auto spread = [&](ValueId v) {
      Dims wide = batch;
      wide.insert(wide.end(), b.dims(v).end() - 2, b.dims(v).end());
      return b.broadcast_to(v, wide);
    };
    const auto rank = static_cast<int64_t>(batch.size());
    product =
        b.dot(spread(x), spread(y), ir::counting(batch.size()), ir::counting(batch.size()), {rank + 1}, {rank}, sums);
  }
  dims = b.dims(product);
  if (column) dims.pop_back();
  if (row) dims.erase(dims.end() - (column ? 1 : 2));
  return b.reshape(product, dims);
}

Normalized normalize(Builder& b, ValueId x, const Dims& dimensions, double epsilon) {
  const ValueId mean = b.mean(x, dimensions, Keep::kYes);
  const ValueId centred = b.minus(x, mean);
  const ValueId variance = b.mean(b.times(centred, centred), dimensions, Keep::kYes);
  const ValueId inverse = b.over(b.like(x, 1), b.sqrt(b.plus(variance, epsilon)));
  return {b.times(centred, inverse), mean, inverse};
}

WindowPads window_pads(const Node& n, const Dims& size, const Dims& reach, const Dims& strides) {
  const size_t rank = size.size();
  WindowPads pads{Dims(rank), Dims(rank)};
  const auto how = n.word("auto_pad", "NOTSET");
  if (how == "VALID") return pads;
  if (how == "SAME_UPPER" || how == "SAME_LOWER") {
    for (size_t d = 0; d < rank; d++) {
      const int64_t places = (size[d] + strides[d] - 1) / strides[d];
      const int64_t total = std::max<int64_t>((places - 1) * strides[d] + reach[d] - size[d], 0);
      pads.low[d] = how == "SAME_UPPER" ? total / 2 : total - total / 2;
      pads.high[d] = total - pads.low[d];
    }
    return pads;
  }
  if (how != "NOTSET" && !how.empty()) invalid("auto_pad '{}'; NOTSET, VALID, SAME_UPPER or SAME_LOWER", how);
  const Dims given = n.integers("pads", Dims(2 * rank));
  if (given.size() != 2 * rank) invalid("{} pads for {} dimensions", given.size(), rank);
  for (const int64_t pad : given)
    if (pad < 0 || pad > INT32_MAX) invalid("a pad of {}", pad);
  pads.low.assign(given.begin(), given.begin() + static_cast<ptrdiff_t>(rank));
  pads.high.assign(given.begin() + static_cast<ptrdiff_t>(rank), given.end());
  return pads;
}

}  // namespace weft::compiler::frontend
