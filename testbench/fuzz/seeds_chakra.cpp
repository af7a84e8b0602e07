// Execution traces of a rank: each kind of node, dependences, groups.
#include <string>
#include <utility>

#include "base/chakra/trace.hpp"
#include "testbench/fuzz/seeds.hpp"

namespace weft::fuzz {
namespace {

using chakra::CollectiveType;
using chakra::Node;
using chakra::NodeType;

constexpr uint64_t kMicrosecond = 1'000'000'000;

std::vector<uint8_t> bytes_of(std::vector<Node> nodes) {
  chakra::Trace trace;
  trace.version = "0.0.4";
  for (uint64_t id = 0; id < nodes.size(); id++) nodes[id].id = id + 1;
  trace.nodes = std::move(nodes);
  const std::string bytes = chakra::write_trace(trace);
  return {bytes.begin(), bytes.end()};
}

Node node(NodeType type, std::vector<uint64_t> after = {}) {
  Node node;
  node.type = type;
  node.name = "n";
  node.after = std::move(after);
  return node;
}
Node works(NodeType type, uint64_t duration_fs, std::vector<uint64_t> after = {}) {
  Node out = node(type, std::move(after));
  out.duration_fs = duration_fs;
  return out;
}
Node collective(CollectiveType type, std::vector<uint64_t> after = {}) {
  Node out = node(NodeType::kCollective, std::move(after));
  out.collective = type;
  if (type != CollectiveType::kBarrier) out.bytes = 1024;
  return out;
}

}  // namespace

Seeds chakra_seeds() {
  Seeds seeds;
  seeds["empty"] = bytes_of({});
  Node costs = node(NodeType::kCompute);
  costs.operations = 1'000'000;
  costs.tensor_bytes = 4096;
  Node host = works(NodeType::kCompute, kMicrosecond, {1});
  host.on_host = true;
  host.start_fs = 3 * kMicrosecond;
  seeds["works"] = bytes_of({costs, host, works(NodeType::kMemoryLoad, kMicrosecond, {1, 2}),
                             works(NodeType::kMemoryStore, 7, {3}), works(NodeType::kStorage, kMicrosecond),
                             works(NodeType::kBatch, 1), works(NodeType::kCheckpoint, 1, {5, 6})});
  std::vector<Node> hours;
  for (uint64_t before = 0; before < 8; before++)
    hours.push_back(works(NodeType::kCompute, chakra::kMostDurationFs,
                          before == 0 ? std::vector<uint64_t>{} : std::vector{before}));
  seeds["hours"] = bytes_of(hours);
  Node send = node(NodeType::kSend), receive = node(NodeType::kReceive, {1});
  send.to = 1;
  receive.from = 3;
  send.bytes = receive.bytes = 5000;
  send.tag = receive.tag = 2;
  seeds["ring"] = bytes_of({send, receive, works(NodeType::kCompute, kMicrosecond, {2})});
  std::vector<Node> collectives;
  for (uint64_t type = 0; type < chakra::kCollectiveTypes; type++)
    collectives.push_back(
        collective(static_cast<CollectiveType>(type), type == 0 ? std::vector<uint64_t>{} : std::vector{type}));
  seeds["collectives"] = bytes_of(collectives);
  Node groups = node(NodeType::kMetadata);
  groups.groups_text = R"({"1": [0, 1], "2": [2, 3], "3": [0, 1, 2, 3]})";
  Node in_group = collective(CollectiveType::kAllReduce, {1});
  in_group.group = "3";
  Node rooted = collective(CollectiveType::kBroadcast, {2});
  rooted.root = 2;
  seeds["groups"] = bytes_of({groups, in_group, rooted, node(NodeType::kInvalid, {3})});
  return seeds;
}

}  // namespace weft::fuzz
