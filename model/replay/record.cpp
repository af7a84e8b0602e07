#include "model/replay/record.hpp"

namespace weft::replay {

chakra::Trace with_times(const chakra::Trace& trace, const RankTimes& times) {
  chakra::Trace out = trace;
  if (out.version.empty()) out.version = "0.0.4";
  for (size_t place = 0; place < out.nodes.size(); place++) {
    out.nodes[place].start_fs = times.nodes[place].begin;
    out.nodes[place].duration_fs = times.nodes[place].end - times.nodes[place].begin;
  }
  return out;
}

Job collective_job(chakra::CollectiveType type, uint64_t bytes, uint32_t ranks) {
  Job job;
  job.name = name_of(type);
  for (uint32_t rank = 0; rank < ranks; rank++) {
    auto& trace = job.ranks.emplace_back();
    trace.file = job.name + "." + std::to_string(rank) + ".et";
    trace.version = "0.0.4";
    chakra::Node node;
    node.name = job.name;
    node.type = chakra::NodeType::kCollective;
    node.collective = type;
    node.bytes = bytes;
    trace.nodes.push_back(std::move(node));
  }
  return job;
}

}  // namespace weft::replay
