/// Which steps of a launch run at once: a collective, and a program that does not need it.
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "host/compiler/sequence/sequence.hpp"

namespace weft::compiler {

/// One step, or two of which neither reads what the other writes.
struct SequenceStage {
  std::optional<size_t> program, collective;  ///< by step
};

/// Stages in an order in which each reads what the host and earlier stages have written. Without long collectives a step
/// each, in the sequence's order. Else the first collective that is ready runs beside the first program that is.
[[nodiscard]] std::vector<SequenceStage> stages_of(const Sequence& sequence);

}  // namespace weft::compiler
