/// Where the buffers of VMEM lie, for a given order of commands.
#pragma once
#include <optional>

#include "host/compiler/command_graph/dependences.hpp"

namespace weft::compiler::command_graph {

struct VmemPlacement {
  BufferBases bases;  ///< by buffer, of VMEM only; even words
  uint64_t words = 0;
};

/// Which of the free words a buffer takes. kNext: what is loaded those behind the last ones that were taken, so that loads
/// do not wait for what has just begun to read; what is computed the last ones of VMEM, so that loads do not wait for
/// stores.
enum class Fit : uint8_t { kFirst, kNext };

/// Interval packing: a buffer has its words from its first to its last command in `order`, and no other one has them
/// within `rest` commands behind that, so that what comes next in the same place does not wait. Nothing: it does not
/// fit.
[[nodiscard]] std::optional<VmemPlacement> place_vmem(const CommandGraph& graph, const std::vector<uint32_t>& order,
                                                      uint64_t rest, Fit fit = Fit::kFirst);

/// Where the commands in their own order need most of VMEM at a time: the first such command.
struct VmemPeak {
  uint32_t command = 0;
  uint64_t words = 0;
};
[[nodiscard]] VmemPeak vmem_peak(const CommandGraph& graph);

}  // namespace weft::compiler::command_graph
