/// Jobs for tests, node by node.
#pragma once
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "model/ici/slice.hpp"
#include "model/ici/time.hpp"
#include "model/replay/job.hpp"

namespace weft::replay::test {

using chakra::CollectiveType;
using chakra::Node;
using chakra::NodeType;

inline ici::Slice slice_of(const char* name) { return std::get<ici::Slice>(ici::parse_slice(name)); }

inline Node compute(uint64_t id, uint64_t micros, std::vector<uint64_t> after = {}) {
  return {.id = id, .type = NodeType::kCompute, .after = std::move(after), .duration_fs = micros * ici::kMicrosecond};
}
inline Node collective(uint64_t id, CollectiveType type, uint64_t bytes, std::vector<uint64_t> after = {}) {
  return {.id = id, .type = NodeType::kCollective, .after = std::move(after), .collective = type, .bytes = bytes};
}
inline Node send(uint64_t id, uint64_t to, uint64_t bytes, std::vector<uint64_t> after = {}, uint64_t tag = 0) {
  return {.id = id, .type = NodeType::kSend, .after = std::move(after), .bytes = bytes, .to = to, .tag = tag};
}
inline Node receive(uint64_t id, uint64_t from, uint64_t bytes, std::vector<uint64_t> after = {}, uint64_t tag = 0) {
  return {.id = id, .type = NodeType::kReceive, .after = std::move(after), .bytes = bytes, .from = from, .tag = tag};
}

inline Job job_of(std::vector<std::vector<Node>> ranks) {
  Job job;
  job.name = "job";
  for (auto& nodes : ranks) {
    chakra::Trace trace;
    trace.file = "job." + std::to_string(job.ranks.size()) + ".et";
    trace.nodes = std::move(nodes);
    job.ranks.push_back(std::move(trace));
  }
  return job;
}

}  // namespace weft::replay::test
