// Convolutions of f32 by constants that the device has no form of, as ones that it has: in groups, by weights that are
// zero between channels of different groups; of three dimensions, as sums over the taps of the first one; transposed
// with windows that overlap, by weights with zeros at their ends, so that each result is of as many pixels as its
// neighbours. A zero times an infinity is a NaN: what the device multiplies by zero stands here, for all to see.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "host/compiler/ir/builder.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/compiler/passes/rewriter.hpp"
#include "host/compiler/reference/evaluate.hpp"

namespace weft::compiler::passes {
namespace {

using ir::Builder;
using ir::Dims;
using ir::ElementType;
using ir::Module;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

constexpr int64_t kLanes = 128;  // channels of groups that are put together, at most

bool all_ones(const Dims& dims) {
  return std::ranges::all_of(dims, [](int64_t d) { return d == 1; });
}

int64_t up_to(int64_t count, int64_t multiple) { return (count + multiple - 1) / multiple * multiple; }

/// The convolution with dimension `d` of its lists left out.
Builder::Convolution without(Builder::Convolution by, size_t d) {
  for (Dims* list : {&by.strides, &by.low, &by.high, &by.lhs_dilation, &by.rhs_dilation})
    list->erase(list->begin() + static_cast<ptrdiff_t>(d));
  return by;
}

class Plain {
 public:
  explicit Plain(Builder& build) : build_(build) {}

  ValueId convolution(ValueId x, ValueId w, const Builder::Convolution& by) {
    const bool transposed = !all_ones(by.lhs_dilation);
    if (build_.rank(x) == 5 && !transposed) return by_planes(x, w, by);
    if (by.groups > 1 && build_.rank(x) <= 4 && (transposed || !depthwise(x, w, by))) return by_groups(x, w, by);
    if (by.groups == 1 && build_.rank(x) <= 4 && transposed) return by_residues(x, w, by);
    return build_.convolution(x, w, by, ElementType::kF32);
  }

 private:
  /// What the vector unit does channel by channel.
  [[nodiscard]] bool depthwise(ValueId x, ValueId w, const Builder::Convolution& by) const {
    return by.groups == build_.dim(x, 1) && build_.dim(w, 0) == build_.dim(x, 1);
  }

  ValueId by_planes(ValueId x, ValueId w, const Builder::Convolution& by) {
    const Dims size = build_.dims(x), taps = build_.dims(w);
    const Builder::Convolution inner = without(by, 0);
    const int64_t planes =
        (size[2] + by.low[0] + by.high[0] - (taps[2] - 1) * by.rhs_dilation[0] - 1) / by.strides[0] + 1;
    if (by.low[0] != 0 || by.high[0] != 0)
      x = build_.pad(x, build_.like(x, 0), {0, 0, by.low[0], 0, 0}, {0, 0, by.high[0], 0, 0}, Dims(5));
    std::optional<ValueId> sum;
    for (int64_t t = 0; t < taps[2]; t++) {
      Dims start(5), limit = build_.dims(x), stride(5, 1);
      start[2] = t * by.rhs_dilation[0], stride[2] = by.strides[0];
      limit[2] = start[2] + (planes - 1) * stride[2] + 1;
      const ValueId images = build_.transpose(build_.slice(x, start, limit, stride), {0, 2, 1, 3, 4});
      const ValueId weights = build_.slice_of(w, 2, t, t + 1);
      const ValueId part = convolution(build_.reshape(images, {size[0] * planes, size[1], size[3], size[4]}),
                                       build_.reshape(weights, {taps[0], taps[1], taps[3], taps[4]}), inner);
      sum = sum ? build_.plus(*sum, part) : part;
    }
    const Dims one = build_.dims(*sum);
    return build_.transpose(build_.reshape(*sum, {size[0], planes, one[1], one[2], one[3]}), {0, 2, 1, 3, 4});
  }

  ValueId by_groups(ValueId x, ValueId w, Builder::Convolution by) {
    const int64_t groups = std::exchange(by.groups, 1), in = build_.dim(w, 1), out = build_.dim(w, 0) / groups;
    const int64_t together = std::clamp<int64_t>(kLanes / in, 1, groups);
    std::vector<ValueId> results;
    for (int64_t first = 0; first < groups; first += together) {
      const int64_t some = std::min(together, groups - first);
      std::vector<ValueId> weights;
      for (int64_t g = 0; g < some; g++) {
        const ValueId own = build_.slice_of(w, 0, (first + g) * out, (first + g + 1) * out);
        Dims low(build_.rank(w)), high(build_.rank(w));
        low[1] = g * in, high[1] = (some - 1 - g) * in;
        weights.push_back(build_.pad(own, build_.like(w, 0), low, high, Dims(build_.rank(w))));
      }
      results.push_back(convolution(build_.slice_of(x, 1, first * in, (first + some) * in),
                                    known(build_.concatenate(weights, 0)), by));
    }
    return results.size() == 1 ? results[0] : build_.concatenate(results, 1);
  }

  /// A value that constants decide, as a constant: partition takes no others for weights.
  ValueId known(ValueId value) {
    const Module& module = build_.module();
    std::set<uint32_t> ops;
    std::vector<ValueId> open{value};
    while (!open.empty()) {
      const uint32_t at = module.value(open.back()).op;
      open.pop_back();
      if (!ops.insert(at).second) continue;
      const auto& operands = module.ops()[at].operands;
      open.insert(open.end(), operands.begin(), operands.end());
    }
    reference::Environment environment;
    reference::evaluate_ops(module, {ops.begin(), ops.end()}, environment, {value});
    return build_.constant(environment.at(value));
  }

  /// The place of a result among those of one pixel says which of the taps it has. With zeros in front of the first tap
  /// and behind the last one, all have those of the same pixels.
  ValueId by_residues(ValueId x, ValueId w, Builder::Convolution by) {
    const size_t rank = build_.rank(x);
    if (!all_ones(by.strides) || !all_ones(by.rhs_dilation)) return build_.convolution(x, w, by, ElementType::kF32);
    Dims low(rank), high(rank), limit{build_.dim(x, 0), build_.dim(w, 0)};
    for (size_t d = 2; d < rank; d++) {
      const int64_t apart = by.lhs_dilation[d - 2], taps = build_.dim(w, d);
      const int64_t results = (build_.dim(x, d) - 1) * apart + 1 + by.low[d - 2] + by.high[d - 2] - taps + 1;
      low[d] = ((apart - 1 - by.low[d - 2]) % apart + apart) % apart;
      high[d] = up_to(taps + low[d], apart) - taps - low[d];
      by.low[d - 2] += low[d], by.high[d - 2] += high[d] + up_to(results, apart) - results;
      limit.push_back(results);
    }
    const ValueId wide = known(build_.pad(w, build_.like(w, 0), low, high, Dims(rank)));
    const ValueId y = build_.convolution(x, wide, by, ElementType::kF32);
    return build_.dims(y) == limit ? y : build_.slice(y, Dims(rank), limit, Dims(rank, 1));
  }

  Builder& build_;
};

/// Which values are constants, or computed from constants alone.
std::vector<bool> constants_of(const Module& module) {
  std::vector<bool> constant(module.values().size());
  for (const Op& op : module.ops()) {
    const bool all = std::ranges::all_of(op.operands, [&](ValueId v) { return constant[ir::index_of(v)]; });
    const bool known = op.kind == OpKind::kConstant || (!op.operands.empty() && op.regions.empty() && all);
    for (const ValueId result : op.results) constant[ir::index_of(result)] = known;
  }
  return constant;
}

/// Whether it is of f32 by constants, and of a form that this pass writes in another one.
bool is_other(const Module& module, const Op& op, const std::vector<bool>& constant) {
  if (op.kind != OpKind::kConvolution || constant[ir::index_of(op.operands[0])] ||
      !constant[ir::index_of(op.operands[1])])
    return false;
  const auto &x = module.type(op.operands[0]), &w = module.type(op.operands[1]), &y = module.type(op.results[0]);
  for (const auto* type : {&x, &w, &y})
    if (type->element != ElementType::kF32 || type->count() == 0) return false;
  const bool transposed = !all_ones(op.list("lhs_dilation"));
  if (x.rank() == 5) return !transposed;
  return (x.rank() == 3 || x.rank() == 4) && (transposed || op.integer("groups") > 1);
}

}  // namespace

Module plain_convolutions(const Module& module) {
  Rewriter rewriter(module);
  Builder build(rewriter.to());
  const auto constant = constants_of(module);
  for (const Op& op : module.ops()) {
    if (!is_other(module, op, constant)) {
      Op mapped = rewriter.mapped(op);
      for (auto& region : mapped.regions) region = std::make_shared<const Module>(plain_convolutions(*region));
      rewriter.add(op, std::move(mapped));
      continue;
    }
    build.origin = op.origin;
    build.precision = op.attributes.contains("precision") ? op.word("precision") : "";
    rewriter.replace(
        op, Plain(build).convolution(rewriter.value(op.operands[0]), rewriter.value(op.operands[1]),
                                     {op.list("strides"), op.list("low"), op.list("high"), op.list("lhs_dilation"),
                                      op.list("rhs_dilation"), op.integer("groups")}));
  }
  return rewriter.finish();
}

}  // namespace weft::compiler::passes
