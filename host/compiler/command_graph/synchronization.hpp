/// Semaphores, derived from dependences: nothing is numbered by hand.
#pragma once
#include <vector>

#include "host/compiler/command_graph/command_graph.hpp"
#include "host/compiler/result.hpp"

namespace weft::compiler::command_graph {

/// A command in its queue: of the graph, or a SIGNAL that passes posts on.
struct SynchronizedCommand {
  uint32_t command = 0;  ///< kSignal: a SIGNAL
  uint32_t queue = WEFT_QUEUE_SYNC;
  spec::CommandHeader header;
};
inline constexpr uint32_t kSignal = UINT32_MAX;

/// Waits and posts of all commands, and the SIGNALs, in one order of all queues; each queue runs its part of it. Every
/// command's waits hold when all before it in this order have retired, so no run of the five queues hangs; this is
/// checked (INTERNAL). `before`: placed_dependences(). UNSUPPORTED: more commands wait for loads at a
/// time than there are semaphores.
///
/// MXU, VPU and sync retire in the order of their queues: a counter for each pair of queues tells how far one has come.
/// DMA commands of a queue finish in any order: the command that waits for some has a semaphore that they post. It is
/// used again by commands that start when its last owner is known to have started.
[[nodiscard]] Result<std::vector<SynchronizedCommand>> synchronize(const CommandGraph& graph,
                                                                   const std::vector<uint32_t>& order,
                                                                   const std::vector<std::vector<uint32_t>>& before);

}  // namespace weft::compiler::command_graph
