/// From L3 to the commands of five queues.
#pragma once
#include <array>

#include "host/compiler/command_graph/command_graph.hpp"
#include "host/compiler/executable/program_builder.hpp"
#include "host/compiler/result.hpp"

namespace weft::compiler::command_graph {

/// Orders, places and synchronizes the graph's commands and pushes them. With less and less running ahead until VMEM
/// and the semaphores suffice; NO_DEVICE_MEMORY: the graph's own order needs more VMEM than there is. Headers keep
/// opcode, flags and tag.
[[nodiscard]] Status assemble(const CommandGraph& graph, ProgramBuilder& program);

/// Of a loop: the commands of a turn, and the semaphores between turns (synchronize_turn()).
struct AssembledTurn {
  Block commands;
  std::array<uint16_t, WEFT_SEMAPHORES> credits{};
};

/// The same for commands that run turn after turn, as a block of its own. Buffers with a fixed place have it in each.
/// Errors of assemble(), and UNSUPPORTED of synchronize_turn().
[[nodiscard]] Result<AssembledTurn> assemble_turn(const CommandGraph& graph, ProgramBuilder& program);

}  // namespace weft::compiler::command_graph
