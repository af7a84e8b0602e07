/// From L3 to the commands of five queues.
#pragma once
#include "host/compiler/command_graph/command_graph.hpp"
#include "host/compiler/program_builder.hpp"
#include "host/compiler/result.hpp"

namespace weft::compiler::command_graph {

/// Orders, places and synchronizes the graph's commands and pushes them. With less and less running ahead until VMEM
/// and the semaphores suffice; NO_DEVICE_MEMORY: the graph's own order needs more VMEM than there is. Headers keep
/// opcode, flags and tag.
[[nodiscard]] Status assemble(const CommandGraph& graph, ProgramBuilder& program);

}  // namespace weft::compiler::command_graph
