/// Semaphores, derived from dependences: nothing is numbered by hand.
#pragma once
#include <array>
#include <vector>

#include "host/compiler/command_graph/command_graph.hpp"
#include "host/compiler/result.hpp"

namespace weft::compiler::command_graph {

/// A command in its queue: of the graph, or a SIGNAL that passes posts on.
struct SynchronizedCommand {
  uint32_t command = 0;  ///< kSignal: a SIGNAL
  uint32_t queue = WEFT_QUEUE_SYNC;
  spec::CommandHeader header;
  uint32_t turn = 0;  ///< of synchronize_turn(): its own and those that it looks at
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

/// The commands of a loop's turn.
struct SynchronizedTurn {
  std::vector<SynchronizedCommand> commands;
  /// What the first turn finds of each semaphore, every turn leaves, and somebody takes behind the last one.
  std::array<uint16_t, WEFT_SEMAPHORES> credits{};
};

/// The same for a graph whose commands run many times, one turn right behind the other in every queue. Turns have equal
/// waits and posts, and overlap as far as their words allow. `before`: placed_dependences() of the graph repeated
/// kTurnsLookedAt times, each turn in `order`. UNSUPPORTED too: a command of dma_out, or turns that come out unequal.
inline constexpr uint32_t kTurnsLookedAt = 4;
[[nodiscard]] Result<SynchronizedTurn> synchronize_turn(const CommandGraph& graph, const std::vector<uint32_t>& order,
                                                        const std::vector<std::vector<uint32_t>>& before);

/// Semaphores that neither a graph with fences nor a turn uses, from this one on: for what stands between them.
inline constexpr uint8_t kFirstGateSemaphore = WEFT_REMOTE_SEMAPHORE_FIRST - 16;
inline constexpr uint8_t kGateSemaphores = 4;

}  // namespace weft::compiler::command_graph
