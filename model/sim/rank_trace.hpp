/// The trace of a slice that several ranks simulate.
#pragma once
#include <string>

#include "model/chip/rank_link.hpp"
#include "model/trace/trace_file.hpp"

namespace weft::sim {

/// Where a rank keeps its part of a trace while it runs: rank 0 in the file itself, the others beside it, on their own
/// machine.
[[nodiscard]] std::string rank_trace_path(const std::string& path, unsigned rank);

/// All ranks come here at the end: rank 0 adds the events of all others to its own `trace`, and their files go. False
/// and a message in `error`: a rank's file cannot be read; what it holds is missing from the trace then.
[[nodiscard]] bool gather_trace(chip::RankLink& link, TraceFile& trace, std::string& error);

}  // namespace weft::sim
