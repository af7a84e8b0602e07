/// Random networks in L1: what they are made of, their modules, and smaller ones that still fail.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "host/compiler/ir/module.hpp"
#include "weft/spec/chips.hpp"

namespace weft::graphs {

/// One operator, or a few that belong together. `operand` and `other` count values from the latest one backwards,
/// modulo how many there are; `size`, `choice` and `seed` mean what the kind needs. A step whose operand does not suit
/// it does nothing. So a plan stays a plan whichever of its steps are left out.
struct StepPlan {
  enum class Kind : uint8_t {
    kFunction,
    kBinary,
    kDense,
    kPair,
    kReduce,
    kSoftmax,
    kNormalize,
    kTranspose,
    kReshape,
    kSlice,
    kPad,
    kConcatenate,
    kReverse,
    kTake,
    kConvolution,
    kDepthwise,
    kPool,
    kChoose,
    kIntegers
  };
  static constexpr unsigned kKinds = static_cast<unsigned>(Kind::kIntegers) + 1;
  Kind kind = Kind::kFunction;
  uint32_t operand = 0, other = 0, choice = 0;
  uint64_t size = 1, seed = 0;
};

/// What a network is made of and what its run depends on. The same plan always gives the same network and the same run.
struct GraphPlan {
  const spec::Chip* chip = nullptr;
  uint64_t seed = 0, data_seed = 0;
  uint64_t most_elements = 0;  ///< of a value; a step that would make more does nothing
  bool special = false;  ///< inputs have infinities, NaN, subnormals and zeros of both signs, functions any argument
  bool spill = false;    ///< values go through memory where the compiler can have them do so
  unsigned stall_percent = 0;
  bool jitter = false, prefetch = false;
  std::vector<compiler::ir::Dims> inputs;
  std::vector<StepPlan> steps;
  /// Behind them, so many layers of the same steps on numbers of their own, each from the last one's result; `residual`:
  /// whose result is a sum with that.
  unsigned layers = 0;
  bool residual = false;
  std::vector<StepPlan> layer;
  std::string precision;  ///< of all products: "high", "highest"; empty: one pass of bf16
};

[[nodiscard]] GraphPlan draw_plan(const spec::Chip& chip, uint64_t seed);

/// A module, and whether small errors of its values stay small: no step of it jumps.
struct PlannedModule {
  compiler::ir::Module module;
  bool smooth = true;
};
/// The latest value is an output, and an earlier one now and then.
[[nodiscard]] PlannedModule build_module(const GraphPlan& plan);

/// Drops steps and inputs' elements while `still_fails`, which the plan does; at most `max_runs` calls.
[[nodiscard]] GraphPlan shrink_plan(GraphPlan plan, const std::function<bool(const GraphPlan&)>& still_fails,
                                    unsigned max_runs = 400);

}  // namespace weft::graphs
