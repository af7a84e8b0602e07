/// Which commands must have finished before which: derived from what they read and write.
#pragma once
#include <vector>

#include "host/compiler/command_graph/command_graph.hpp"

namespace weft::compiler::command_graph {

/// Where buffers begin: of VMEM in words, of ACC in rows counted over all MXUs as the VPU does.
using BufferBases = std::vector<uint64_t>;

/// Each buffer in a place that it shares with none.
[[nodiscard]] BufferBases separate_bases(const CommandGraph& graph);

/// Whether commands of a queue may still change places.
enum class QueueOrder : uint8_t { kOpen, kGiven };

/// By command: those before it in `order` that wrote what it reads, or read or wrote what it writes, each once.
/// Commands that one wrote over are left out: the later writer depends on them.
[[nodiscard]] std::vector<std::vector<uint32_t>> dependences(const CommandGraph& graph,
                                                             const std::vector<uint32_t>& order,
                                                             const BufferBases& bases, QueueOrder queues);

}  // namespace weft::compiler::command_graph
