// Reductions, the places of extremes, running sums and the largest elements.
#include <algorithm>

#include "host/compiler/onnx/functions.hpp"
#include "host/compiler/onnx/rules.hpp"

namespace weft::compiler::frontend {
namespace {

using Keep = Builder::Keep;

/// f(x, dimensions, keep); with noop_with_empty_axes and no axis the input itself.
template <typename F>
void reduction(Node& n, F f) {
  const ValueId x = n.in(0);
  const auto given = n.integers_of(1, "axes");
  const Keep keep = n.integer("keepdims", 1) != 0 ? Keep::kYes : Keep::kNo;
  Dims axes;
  if (given && !given->empty())
    axes = Node::axes(*given, n.b.rank(x));
  else if (n.integer("noop_with_empty_axes", 0) == 0)
    axes = ir::counting(n.b.rank(x));
  else
    return n.out(x);
  n.out(f(x, axes, keep));
}

ValueId squares(Node& n, ValueId x) { return n.b.times(x, x); }

void reduce_sum(Node& n) {
  reduction(n, [&](ValueId x, const Dims& axes, Keep keep) { return n.b.reduce("add", x, axes, keep); });
}
void reduce_prod(Node& n) {
  reduction(n, [&](ValueId x, const Dims& axes, Keep keep) { return n.b.reduce("multiply", x, axes, keep); });
}
void reduce_max(Node& n) {
  reduction(n, [&](ValueId x, const Dims& axes, Keep keep) { return n.b.reduce("maximum", x, axes, keep); });
}
void reduce_min(Node& n) {
  reduction(n, [&](ValueId x, const Dims& axes, Keep keep) { return n.b.reduce("minimum", x, axes, keep); });
}
void reduce_mean(Node& n) {
  reduction(n, [&](ValueId x, const Dims& axes, Keep keep) { return n.b.mean(x, axes, keep); });
}
void reduce_l1(Node& n) {
  reduction(n, [&](ValueId x, const Dims& axes, Keep keep) {
    return n.b.reduce("add", n.b.unary(OpKind::kAbs, x), axes, keep);
  });
}
void reduce_l2(Node& n) {
  reduction(n, [&](ValueId x, const Dims& axes, Keep keep) {
    const ElementType type = n.b.element(x);
    const ValueId wide = ir::is_float(type) ? x : n.b.convert(x, ElementType::kF64);
    return n.b.convert(n.b.sqrt(n.b.reduce("add", squares(n, wide), axes, keep)), type);
  });
}
void reduce_sum_square(Node& n) {
  reduction(n, [&](ValueId x, const Dims& axes, Keep keep) { return n.b.reduce("add", squares(n, x), axes, keep); });
}
void reduce_log_sum(Node& n) {
  reduction(n, [&](ValueId x, const Dims& axes, Keep keep) {
    const ElementType type = n.b.element(x);
    const ValueId wide = ir::is_float(type) ? x : n.b.convert(x, ElementType::kF64);
    return n.b.convert(n.b.log(n.b.reduce("add", wide, axes, keep)), type);
  });
}
void reduce_log_sum_exp(Node& n) {
  reduction(n, [&](ValueId x, const Dims& axes, Keep keep) {
    const ElementType type = n.b.element(x);
    const ValueId wide = type == ElementType::kF32 ? x : n.b.convert(x, ElementType::kF64);
    const ValueId largest = n.b.reduce("maximum", wide, axes, Keep::kYes);
    // An infinite largest element is the result itself.
    const ValueId finite = n.b.compare("lt", n.b.unary(OpKind::kAbs, largest), n.b.like(largest, HUGE_VAL));
    const ValueId shift = n.b.select(finite, largest, n.b.like(largest, 0));
    const ValueId sum = n.b.reduce("add", n.b.exp(n.b.minus(wide, shift)), axes, Keep::kYes);
    ValueId y = n.b.plus(n.b.log(sum), shift);
    if (keep == Keep::kNo) {
      Dims dims;
      for (size_t d = 0; d < n.b.rank(y); d++)
        if (std::ranges::find(axes, static_cast<int64_t>(d)) == axes.end()) dims.push_back(n.b.dim(y, d));
      y = n.b.reshape(y, dims);
    }
    return n.b.convert(y, type);
  });
}

template <Extreme extreme>
void arg(Node& n) {
  const ValueId x = n.in(0);
  const size_t axis = Node::axis(n.integer("axis", 0), n.b.rank(x));
  const Tie tie = n.integer("select_last_index", 0) != 0 ? Tie::kLast : Tie::kFirst;
  ValueId y = arg_extreme(n.b, x, axis, extreme, tie);
  if (n.integer("keepdims", 1) == 0) {
    Dims dims = n.b.dims(y);
    dims.erase(dims.begin() + static_cast<ptrdiff_t>(axis));
    y = n.b.reshape(y, dims);
  }
  n.out(y);
}

/// Sums of 1, 2, 4, ... neighbours: log2(n) additions of whole tensors.
void cum_sum(Node& n) {
  ValueId x = n.in(0);
  const size_t axis = Node::axis(n.known(1)->integer(0), n.b.rank(x));
  const bool backwards = n.integer("reverse", 0) != 0;
  const int64_t size = n.b.dim(x, axis), at = static_cast<int64_t>(axis);
  const Dims none(n.b.rank(x));
  const auto shifted = [&](ValueId v, int64_t by) {
    Dims low = none;
    low[axis] = by;
    return n.b.slice_of(n.b.pad(v, n.b.like(v, 0), low, none, none), axis, 0, size);
  };
  if (backwards) x = n.b.reverse(x, {at});
  if (n.integer("exclusive", 0) != 0) x = shifted(x, 1);
  for (int64_t step = 1; step < size; step *= 2) x = n.b.plus(x, shifted(x, step));
  n.out(backwards ? n.b.reverse(x, {at}) : x);
}

void top_k(Node& n) {
  const ValueId x = n.in(0);
  const size_t axis = Node::axis(n.integer("axis", -1), n.b.rank(x));
  const int64_t k = n.since >= 10 ? n.known(1)->integer(0) : n.integer("k", 0);
  if (k < 0 || k > n.b.dim(x, axis)) invalid("the {} largest of {} elements", k, n.b.dim(x, axis));
  const bool largest = n.integer("largest", 1) != 0;
  const auto sorted = n.b.sort({x, n.b.iota(ElementType::kI64, n.b.dims(x), axis)}, axis, largest);
  n.out(n.b.slice_of(sorted[0], axis, 0, k));
  n.out(n.b.slice_of(sorted[1], axis, 0, k), 1);
}

}  // namespace

const Rules& reduction_rules() {
  static const Rules rules{{"ArgMax", arg<Extreme::kMaximum>},
                           {"ArgMin", arg<Extreme::kMinimum>},
                           {"CumSum", cum_sum},
                           {"ReduceL1", reduce_l1},
                           {"ReduceL2", reduce_l2},
                           {"ReduceLogSum", reduce_log_sum},
                           {"ReduceLogSumExp", reduce_log_sum_exp},
                           {"ReduceMax", reduce_max},
                           {"ReduceMean", reduce_mean},
                           {"ReduceMin", reduce_min},
                           {"ReduceProd", reduce_prod},
                           {"ReduceSum", reduce_sum},
                           {"ReduceSumSquare", reduce_sum_square},
                           {"TopK", top_k}};
  return rules;
}

}  // namespace weft::compiler::frontend
