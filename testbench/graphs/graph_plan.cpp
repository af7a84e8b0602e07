// Plans: drawn, and made smaller.
#include "testbench/graphs/graph_plan.hpp"

#include <algorithm>

#include "testbench/random/draw.hpp"

namespace weft::graphs {
namespace {

using compiler::ir::Dims;
using random::Draw;
using Kind = StepPlan::Kind;

constexpr uint64_t kRowsOfValues = 64;  // elements of a value, in vectors of N
constexpr unsigned kMostSteps = 9;
constexpr unsigned kMostLayers = 6;

/// Elements around 1, N and their multiples in each dimension, no more than `most` together.
Dims draw_dims(Draw& draw, uint64_t n, uint64_t most) {
  Dims dims;
  uint64_t left = most;
  for (uint64_t d = 0, rank = draw.between(1, 4); d < rank; d++) {
    const uint64_t size = draw.size(n, std::min<uint64_t>(left, draw.one_of<uint64_t>({3, 2 * n, 3 * n})));
    dims.push_back(static_cast<int64_t>(size));
    left /= size;
  }
  return dims;
}

StepPlan draw_step(Draw& draw, uint64_t n) {
  StepPlan step;
  step.kind = draw.once_in(3)
                  ? draw.one_of({Kind::kDense, Kind::kDense, Kind::kConvolution, Kind::kPair, Kind::kFunction})
                  : static_cast<Kind>(draw.below(StepPlan::kKinds));
  step.operand = draw.once_in(4) ? static_cast<uint32_t>(draw.below(4)) : 0;
  step.other = static_cast<uint32_t>(draw.below(4));
  step.choice = static_cast<uint32_t>(draw.bits());
  step.size = draw.size(n, 3 * n);
  step.seed = draw.bits();
  return step;
}

}  // namespace

GraphPlan draw_plan(const spec::Chip& chip, uint64_t seed) {
  Draw draw(seed);
  GraphPlan plan;
  plan.chip = &chip;
  plan.seed = seed;
  plan.data_seed = draw.bits();
  plan.most_elements = kRowsOfValues * chip.n * (draw.once_in(16) ? 8 : draw.between(1, 2));
  plan.special = draw.once_in(4);
  plan.spill = draw.once_in(6);
  plan.stall_percent = draw.one_of({0u, 0u, 0u, 25u});
  plan.jitter = draw.once_in(3);
  plan.prefetch = random::prefetch_drawn(plan.data_seed);
  for (uint64_t i = 0, count = draw.one_of<uint64_t>({1, 1, 1, 2, 3}); i < count; i++)
    plan.inputs.push_back(i > 0 && draw.once_in(2) ? plan.inputs[0] : draw_dims(draw, chip.n, plan.most_elements));
  for (uint64_t i = 0, count = draw.between(1, kMostSteps); i < count; i++)
    plan.steps.push_back(draw_step(draw, chip.n));
  if (draw.once_in(4)) {
    plan.layers = static_cast<unsigned>(draw.between(3, kMostLayers));
    plan.residual = draw.once_in(2);
    plan.layer.push_back(draw_step(draw, chip.n));
    plan.layer.back().kind = Kind::kDense;
    while (draw.once_in(2)) {
      plan.layer.push_back(draw_step(draw, chip.n));
      plan.layer.back().kind = draw.one_of({Kind::kDense, Kind::kFunction, Kind::kSoftmax, Kind::kNormalize});
    }
    plan.steps.resize(std::min<size_t>(plan.steps.size(), 2));
    plan.spill = false;
  }
  if (draw.once_in(4)) plan.precision = draw.once_in(2) ? "high" : "highest";
  return plan;
}

GraphPlan shrink_plan(GraphPlan plan, const std::function<bool(const GraphPlan&)>& still_fails, unsigned max_runs) {
  const auto try_it = [&](const GraphPlan& smaller) {
    if (max_runs == 0) return false;
    max_runs--;
    if (!still_fails(smaller)) return false;
    plan = smaller;
    return true;
  };
  for (bool any = true; any && max_runs != 0;) {
    any = false;
    for (size_t i = plan.steps.size(); i-- > 0;) {
      GraphPlan smaller = plan;
      smaller.steps.erase(smaller.steps.begin() + static_cast<ptrdiff_t>(i));
      any = try_it(smaller) || any;
    }
    for (const unsigned layers : {0u, 3u}) {
      GraphPlan smaller = plan;
      smaller.layers = layers;
      if (layers < plan.layers) any = try_it(smaller) || any;
    }
    for (size_t i = plan.layer.size(); plan.layer.size() > 1 && i-- > 0;) {
      GraphPlan smaller = plan;
      smaller.layer.erase(smaller.layer.begin() + static_cast<ptrdiff_t>(i));
      any = try_it(smaller) || any;
    }
    for (const auto plainer : {+[](GraphPlan& p) { p.stall_percent = 0, p.jitter = false, p.prefetch = false; },
                               +[](GraphPlan& p) { p.spill = false; }, +[](GraphPlan& p) { p.special = false; },
                               +[](GraphPlan& p) { p.precision.clear(); }}) {
      GraphPlan smaller = plan;
      plainer(smaller);
      const bool other = smaller.stall_percent != plan.stall_percent || smaller.jitter != plan.jitter ||
                         smaller.prefetch != plan.prefetch || smaller.spill != plan.spill ||
                         smaller.special != plan.special || smaller.precision != plan.precision;
      if (other) any = try_it(smaller) || any;
    }
    // One input alone, which every step reads that does not read the step before.
    for (size_t i = 0; plan.inputs.size() > 1 && i < plan.inputs.size(); i++) {
      GraphPlan smaller = plan;
      smaller.inputs = {plan.inputs[i]};
      for (StepPlan& step : smaller.steps) step.operand = step.other = 0;
      any = try_it(smaller) || any;
    }
    for (size_t i = plan.inputs.size(); plan.inputs.size() > 1 && i-- > 0;) {
      GraphPlan smaller = plan;
      smaller.inputs.erase(smaller.inputs.begin() + static_cast<ptrdiff_t>(i));
      any = try_it(smaller) || any;
    }
    for (size_t i = 0; i < plan.inputs.size(); i++)
      for (size_t d = 0; d < plan.inputs[i].size(); d++)
        while (plan.inputs[i][d] > 1) {
          GraphPlan smaller = plan;
          smaller.inputs[i][d] /= 2;
          if (!try_it(smaller)) break;
          any = true;
        }
    for (size_t i = 0; i < plan.steps.size(); i++)
      while (plan.steps[i].size > 1) {
        GraphPlan smaller = plan;
        smaller.steps[i].size /= 2;
        if (!try_it(smaller)) break;
        any = true;
      }
  }
  return plan;
}

}  // namespace weft::graphs
