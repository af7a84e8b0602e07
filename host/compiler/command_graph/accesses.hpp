/// What a command reads and writes: runs of VMEM words and ACC rows of its buffers, of 16-byte granules of a segment.
#pragma once
#include <functional>

#include "host/compiler/command_graph/command_graph.hpp"

namespace weft::compiler::command_graph {

inline constexpr uint64_t kGranuleBytes = 16;  // of HBM: all offsets and sizes are multiples

struct Access {
  BufferId buffer = kNoBuffer;  ///< none: the segment
  uint8_t segment = 0;
  bool writes = false;
  uint64_t first = 0, count = 0;  ///< words or rows from the buffer's beginning; granules of the segment
};

/// Calls `visit` for each run, reads before writes.
void for_each_access(const spec::Chip& chip, const GraphCommand& command,
                     const std::function<void(const Access&)>& visit);

}  // namespace weft::compiler::command_graph
