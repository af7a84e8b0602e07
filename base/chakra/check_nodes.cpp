// What must hold of a rank's nodes.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>

#include "base/chakra/schema.hpp"
#include "base/chakra/trace.hpp"
#include "base/chakra/utf8.hpp"

namespace weft::chakra {
namespace {

constexpr std::string_view kNodeTypeNames[] = {"INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
                                               "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE",
                                               "STORAGE_NODE", "BATCH_NODE",     "CHECKPOINT_NODE"};
static_assert(std::size(kNodeTypeNames) == kNodeTypes);
constexpr std::string_view kCollectiveNames[] = {
    "ALL_REDUCE", "REDUCE",         "ALL_GATHER",           "GATHER", "SCATTER", "BROADCAST",
    "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"};
static_assert(std::size(kCollectiveNames) == kCollectiveTypes);

/// The field that a node's type needs and that it has not.
std::string_view missing_field(const Node& node) {
  switch (node.type) {
    case NodeType::kSend:
      return !node.to ? kCommDst : !node.bytes ? kCommSize : "";
    case NodeType::kReceive:
      return !node.from ? kCommSrc : !node.bytes ? kCommSize : "";
    case NodeType::kCollective:
      return !node.collective ? kCommType : !node.bytes && node.collective != CollectiveType::kBarrier ? kCommSize : "";
    default:
      return "";
  }
}

/// A cycle among nodes that wait for each other for ever: from any of them, back along a dependence that waits too.
std::string describe_cycle(const Trace& trace, const std::vector<std::vector<size_t>>& after,
                           const std::vector<size_t>& waits) {
  const auto is_waiting = [&](size_t node) { return waits[node] > 0; };
  size_t at = 0;
  while (!is_waiting(at)) at++;
  std::vector<size_t> seen(trace.nodes.size());
  std::vector<size_t> way;
  while (seen[at] == 0) {
    seen[at] = way.size() + 1;
    way.push_back(at);
    at = *std::ranges::find_if(after[at], is_waiting);
  }
  std::string text;
  const size_t begin = seen[at] - 1, shown = std::min<size_t>(way.size() - begin, 8);
  for (size_t i = 0; i < shown; i++) text += fmt::format("{} after ", trace.nodes[way[begin + i]].id);
  if (begin + shown < way.size()) text += "... after ";
  return fmt::format("{}: data_deps and ctrl_deps form a cycle: {}{}", describe(trace, trace.nodes[way[begin]]), text,
                     trace.nodes[way[begin]].id);
}

std::string check_dependences(const Trace& trace) {
  std::unordered_map<uint64_t, size_t> places;
  for (size_t i = 0; i < trace.nodes.size(); i++)
    if (!places.emplace(trace.nodes[i].id, i).second)
      return fmt::format("{}: id: node {} of the file has it too", describe(trace, trace.nodes[i]),
                         places[trace.nodes[i].id] + 1);
  std::vector<std::vector<size_t>> after(trace.nodes.size()), before(trace.nodes.size());
  for (size_t i = 0; i < trace.nodes.size(); i++)
    for (const auto id : trace.nodes[i].after) {
      const auto found = places.find(id);
      if (found == places.end())
        return fmt::format("{}: data_deps or ctrl_deps: there is no node {}", describe(trace, trace.nodes[i]), id);
      after[i].push_back(found->second);
      before[found->second].push_back(i);
    }
  std::vector<size_t> waits, free;
  for (size_t i = 0; i < after.size(); i++) {
    waits.push_back(after[i].size());
    if (after[i].empty()) free.push_back(i);
  }
  for (size_t done = 0; done < free.size(); done++)
    for (const auto next : before[free[done]])
      if (--waits[next] == 0) free.push_back(next);
  return free.size() == trace.nodes.size() ? "" : describe_cycle(trace, after, waits);
}

}  // namespace

std::string_view name_of(NodeType type) { return kNodeTypeNames[static_cast<size_t>(type)]; }
std::string_view name_of(CollectiveType type) { return kCollectiveNames[static_cast<size_t>(type)]; }

std::string describe(const Trace& trace, const Node& node) {
  if (node.name.empty()) return fmt::format("{}: node {}", trace.file, node.id);
  return fmt::format("{}: node {} (\"{}\")", trace.file, node.id, printable(node.name));
}

std::string check_nodes(const Trace& trace) {
  for (const auto& node : trace.nodes)
    if (const auto field = missing_field(node); !field.empty())
      return fmt::format("{}: a {} without {}", describe(trace, node), name_of(node.type), field);
  return check_dependences(trace);
}

}  // namespace weft::chakra
