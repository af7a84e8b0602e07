/// Which steps of a launch run at once: a collective, and a program that does not need it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "host/compiler/sequence/sequence.hpp"

namespace weft::compiler {

/// One step, or two of which neither reads what the other writes.
struct SequenceStage {
  std::optional<size_t> program, collective;  ///< by step
};

/// In cycles: how long a stage takes, and of that how long links carry data beside which no unit computes.
struct StageCost {
  uint64_t cycles = 0, seen = 0;
};

/// By kinds of steps, which cost alike, of programs and of collectives.
struct StageCosts {
  std::vector<size_t> kinds;  ///< by step
  size_t kind_count = 0;
  /// Of a stage of a program, a collective or both, by kind. Nothing: the two cannot run at once.
  std::function<std::optional<StageCost>(std::optional<size_t> program, std::optional<size_t> collective)> of;
};

/// Stages in an order in which each reads what the host and earlier stages have written, chosen so that cycles and seen
/// cycles together are few. Without long collectives a step each, in the sequence's order.
[[nodiscard]] std::vector<SequenceStage> stages_of(const Sequence& sequence, const StageCosts& costs);

}  // namespace weft::compiler
