/// Execution traces of what the model has run, for other tools.
#pragma once
#include "base/chakra/trace.hpp"
#include "model/replay/replay.hpp"

namespace weft::replay {

/// A rank's trace with the times of a replay: what was computed and sent, and when.
chakra::Trace with_times(const chakra::Trace& trace, const RankTimes& times);

/// One collective of `ranks` as a job: a node on each rank.
Job collective_job(chakra::CollectiveType type, uint64_t bytes, uint32_t ranks);

}  // namespace weft::replay
