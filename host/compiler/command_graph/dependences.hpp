/// Which commands must have finished before which: derived from what they read and write.
#pragma once
#include <vector>

#include "host/compiler/command_graph/command_graph.hpp"

namespace weft::compiler::command_graph {

/// Where buffers begin: of VMEM in words, of ACC in rows counted over all MXUs as the VPU does.
using BufferBases = std::vector<uint64_t>;

/// By command: those before it in `order` that wrote what it reads, or read or wrote what it writes, each once.
/// Commands that one wrote over are left out: the later writer depends on them. Each buffer is by itself, and commands of
/// a queue may still change places. What only follows in the order is among them.
[[nodiscard]] std::vector<std::vector<uint32_t>> dependences(const CommandGraph& graph,
                                                             const std::vector<uint32_t>& order);

/// The same where the buffers lie, with queues that run their part of `order`.
[[nodiscard]] std::vector<std::vector<uint32_t>> placed_dependences(const CommandGraph& graph,
                                                                    const std::vector<uint32_t>& order,
                                                                    const BufferBases& bases);

}  // namespace weft::compiler::command_graph
