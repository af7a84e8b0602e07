// Edges by kind of waiter; who is stuck, by fixed point; a depth-first search for the cycle among them.
#include "driver/queue/wait_graph.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "weft/spec/commands.hpp"
#include "weft/spec/names.hpp"

namespace weft::driver {
namespace {

// Byte offsets of a command's header (spec/commands.toml).
constexpr size_t kWaitSemaphore = 4;
constexpr size_t kWaitCount = 8;
constexpr size_t kWaits = 2;

const std::string kCore = "core", kCopyEngine = "copy engine", kFirmware = "firmware", kHost = "host",
                  kNobody = "nobody";

std::string queue_node(uint32_t queue) { return fmt::format("queue {}", queue); }
std::string core_queue_node(uint32_t queue) { return fmt::format("core queue {}", spec::queue_name(queue)); }
std::string semaphore_node(uint32_t semaphore) { return fmt::format("semaphore {}", semaphore); }
std::string timeline_node(uint32_t semaphore) { return fmt::format("timeline {}", semaphore); }

/// Collects edges; an edge that is there already is not added again.
class Builder {
 public:
  explicit Builder(const StatePage& page) : page_(page) {}

  void add(const std::string& from, const std::string& to, const std::string& why) {
    const bool known = std::any_of(edges_.begin(), edges_.end(),
                                   [&](const WaitEdge& e) { return e.from == from && e.to == to && e.why == why; });
    if (!known) edges_.push_back({from, to, why});
  }

  /// The heads of the core's queues, and who would post what they wait for.
  void core_queues() {
    for (const weft_state_core_queue& queue : page_.core_queues) {
      if (queue.retired >= queue.total) continue;
      const std::string node = core_queue_node(queue.queue);
      add(kCore, node, fmt::format("{} of {} commands have retired", queue.retired, queue.total));
      if (queue.running != 0) {
        add(node, fmt::format("unit of {}", spec::queue_name(queue.queue)),
            fmt::format("{} command{} taken and not retired", queue.running, queue.running == 1 ? "" : "s"));
      } else if (queue.level == 0) {
        add(node, kFirmware, fmt::format("{} commands are not pushed", queue.total - queue.pushed));
      } else if (queue.head_valid != 0) {
        head(node, queue);
      }
    }
  }

  void queues() {
    for (const weft_state_queue& queue : page_.queues) {
      const std::string node = queue_node(queue.queue);
      switch (static_cast<weft_queue_wait>(queue.wait)) {
        case WEFT_QUEUE_WAIT_NOTHING:
          break;
        case WEFT_QUEUE_WAIT_FETCH:
        case WEFT_QUEUE_WAIT_TURN:
          add(node, kFirmware,
              queue.wait == WEFT_QUEUE_WAIT_FETCH ? "its entries are not fetched" : "its entry waits for its turn");
          break;
        case WEFT_QUEUE_WAIT_CORE:
          add(node, kCore, "its launch is next");
          break;
        case WEFT_QUEUE_WAIT_COPY:
          add(node, kCopyEngine, "its copy is next");
          break;
        case WEFT_QUEUE_WAIT_RUNNING:
          running(queue, node);
          break;
        case WEFT_QUEUE_WAIT_COMPLETION_ROOM:
          add(node, kHost, "its completion ring is full");
          break;
        case WEFT_QUEUE_WAIT_SEMAPHORE:
          timeline(queue, node);
          break;
        case WEFT_QUEUE_WAIT_HALTED:
          add(node, kHost, "it is halted until it is reset");
          break;
      }
    }
  }

  /// Who will signal the timeline semaphores that somebody waits for.
  void signals(std::span<const OutstandingCommand> outstanding) {
    for (const auto& [semaphore, value] : wanted_) {
      bool found = false;
      for (const OutstandingCommand& command : outstanding) {
        if (command.timelines.signal_id != semaphore) continue;
        found = true;
        add(timeline_node(semaphore), queue_node(command.queue),
            fmt::format("command {:#x} (tag {}) sets it to {}", command.command_id, command.tag,
                        command.timelines.signal_value));
      }
      if (!found) add(timeline_node(semaphore), kHost, "no command in flight signals it");
    }
  }

  std::vector<WaitEdge> take() { return std::move(edges_); }

 private:
  void head(const std::string& node, const weft_state_core_queue& queue) {
    bool waits = false;
    for (size_t i = 0; i < kWaits; i++) {
      const uint8_t semaphore = queue.head[kWaitSemaphore + i];
      const uint32_t needed = queue.head[kWaitCount + 2 * i] | uint32_t{queue.head[kWaitCount + 2 * i + 1]} << 8;
      if (semaphore >= WEFT_SEMAPHORES || page_.semaphores[semaphore] >= needed) continue;
      waits = true;
      add(node, semaphore_node(semaphore),
          fmt::format("its command {} needs {}, it is {}", queue.head_tag & WEFT_CSR_QUEUE_HEAD_TAG_TAG, needed,
                      page_.semaphores[semaphore]));
      posters(semaphore);
    }
    if (!waits)
      add(node, fmt::format("unit of {}", spec::queue_name(queue.queue)), "its waits hold, no unit has taken it");
  }

  void posters(uint8_t semaphore) {
    bool found = false;
    for (const weft_state_core_queue& queue : page_.core_queues) {
      if ((queue.posts >> semaphore & 1) == 0) continue;
      found = true;
      add(semaphore_node(semaphore), core_queue_node(queue.queue), "one of its next commands posts it");
    }
    if (!found) add(semaphore_node(semaphore), kNobody, "no command in sight posts it");
  }

  void running(const weft_state_queue& queue, const std::string& node) {
    const weft_state_engine* copy = page_.engine(WEFT_ENGINE_COPY);
    if (copy != nullptr && copy->active != 0 && copy->queue == queue.queue) {
      add(node, kCopyEngine, fmt::format("{} bytes are not moved", copy->remaining));
    } else {
      add(node, kCore, "its launch runs there");
    }
  }

  void timeline(const weft_state_queue& queue, const std::string& node) {
    uint64_t value = 0;
    for (const weft_state_timeline& t : page_.timelines) {
      if (t.semaphore == queue.wait_id) value = t.value;
    }
    add(node, timeline_node(queue.wait_id), fmt::format("needs {}, it is {}", queue.wait_value, value));
    wanted_[queue.wait_id] = std::max(wanted_[queue.wait_id], queue.wait_value);
  }

  const StatePage& page_;
  std::vector<WaitEdge> edges_;
  std::map<uint16_t, uint64_t> wanted_;
};

/// A semaphore can go on if any of those who post it can, the core if any of its queues can; everybody else needs all
/// that it waits for.
bool needs_one(const std::string& node) {
  return node == kCore || node.starts_with("semaphore ") || node.starts_with("timeline ");
}

/// Nodes that nothing on the device can set free, by fixed point: who waits for nothing goes on.
std::set<std::string> stuck_nodes(std::span<const WaitEdge> edges) {
  std::map<std::string, std::vector<std::string>> waits;
  std::set<std::string> stuck;
  for (const WaitEdge& edge : edges) {
    waits[edge.from].push_back(edge.to);
    stuck.insert(edge.from);
    if (edge.to == kNobody) stuck.insert(edge.to);
  }
  const auto is_stuck = [&](const std::string& node) { return stuck.contains(node); };
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [node, targets] : waits) {
      if (!is_stuck(node)) continue;
      const bool held = needs_one(node) ? std::all_of(targets.begin(), targets.end(), is_stuck)
                                        : std::any_of(targets.begin(), targets.end(), is_stuck);
      if (held) continue;
      stuck.erase(node);
      changed = true;
    }
  }
  return stuck;
}

/// Depth-first; `path` holds the nodes that lead here.
bool visit(const std::string& node, std::span<const WaitEdge> edges, std::vector<std::string>& path,
           std::vector<std::string>& done) {
  if (const auto again = std::find(path.begin(), path.end(), node); again != path.end()) {
    path.erase(path.begin(), again);
    return true;
  }
  if (std::find(done.begin(), done.end(), node) != done.end()) return false;
  path.push_back(node);
  for (const WaitEdge& edge : edges) {
    if (edge.from == node && visit(edge.to, edges, path, done)) return true;
  }
  path.pop_back();
  done.push_back(node);
  return false;
}

}  // namespace

std::vector<std::string> find_cycle(std::span<const WaitEdge> all) {
  const std::set<std::string> stuck = stuck_nodes(all);
  std::vector<WaitEdge> edges;
  std::copy_if(all.begin(), all.end(), std::back_inserter(edges),
               [&](const WaitEdge& e) { return stuck.contains(e.from) && stuck.contains(e.to); });
  std::vector<std::string> path, done;
  for (const WaitEdge& edge : edges) {
    if (visit(edge.from, edges, path, done)) return path;
  }
  return {};
}

WaitGraph make_wait_graph(const StatePage& page, std::span<const OutstandingCommand> outstanding) {
  Builder builder(page);
  builder.queues();
  builder.signals(outstanding);
  builder.core_queues();
  WaitGraph graph{builder.take(), {}};
  graph.cycle = find_cycle(graph.edges);
  return graph;
}

}  // namespace weft::driver
