// Who waits for whom: queues of the host, engines, queues of the core, semaphores. From a chip's state to edges, and
// the cycle among them if there is one. Pure functions.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "driver/queue/event.hpp"
#include "driver/report/state_page.hpp"

namespace weft::driver {

/// `from` cannot go on before `to` has done something. Nodes are named as a report prints them: "queue 3", "core",
/// "core queue mxu", "semaphore 7", "timeline 2", "copy engine", "firmware", "host", "nobody".
struct WaitEdge {
  std::string from;
  std::string to;
  std::string why;  ///< "needs 1, is 0", "its launch runs there"
};

struct WaitGraph {
  std::vector<WaitEdge> edges;
  std::vector<std::string> cycle;  ///< nodes in order, each waiting for the next, the last for the first; empty: none
};

/// A command in flight as the driver knows it.
struct OutstandingCommand {
  uint32_t queue = 0;
  uint16_t command_id = 0;
  uint8_t opcode = 0;
  uint32_t tag = 0;
  TimelineUse timelines;
  uint64_t sequence = 0;  ///< in its queue, in order of submission
};

/// `outstanding`: oldest first within a queue.
WaitGraph make_wait_graph(const StatePage& page, std::span<const OutstandingCommand> outstanding);

/// A cycle of nodes that nothing can set free; empty: there is none, or somebody in each can still go on.
std::vector<std::string> find_cycle(std::span<const WaitEdge> edges);

}  // namespace weft::driver
