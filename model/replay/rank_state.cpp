#include "model/replay/rank_state.hpp"

#include <unordered_map>

namespace weft::replay {

using chakra::NodeType;

size_t unit_of(const chakra::Node& node) {
  const auto unit = [](Unit which) { return static_cast<size_t>(which); };
  switch (node.type) {
    case NodeType::kCompute:
      return unit(node.on_host ? Unit::kHost : Unit::kCore);
    case NodeType::kMemoryLoad:
    case NodeType::kMemoryStore:
      return unit(node.on_host ? Unit::kHost : Unit::kMemory);
    case NodeType::kStorage:
    case NodeType::kBatch:
    case NodeType::kCheckpoint:
      return unit(Unit::kHost);
    case NodeType::kInvalid:
    case NodeType::kMetadata:
    case NodeType::kSend:
    case NodeType::kReceive:
    case NodeType::kCollective:
      break;
  }
  return kUnits;
}

namespace {

bool communicates(const chakra::Node& node) {
  return node.type == NodeType::kSend || node.type == NodeType::kReceive || node.type == NodeType::kCollective;
}

}  // namespace

RankState::RankState(const chakra::Trace& trace)
    : trace_(trace),
      followers_(trace.nodes.size()),
      begun_(trace.nodes.size()),
      ended_(trace.nodes.size()),
      left_(trace.nodes.size()) {
  times_.nodes.resize(trace.nodes.size());
  std::unordered_map<uint64_t, uint32_t> places;
  for (uint32_t place = 0; place < trace.nodes.size(); place++) places.emplace(trace.nodes[place].id, place);
  for (uint32_t place = 0; place < trace.nodes.size(); place++) {
    const auto& after = trace.nodes[place].after;
    waits_.push_back(static_cast<uint32_t>(after.size()));
    if (after.empty()) free_.push_back(place);
    for (const auto id : after) followers_[places.at(id)].push_back(place);
  }
}

void RankState::wait_for_unit(size_t unit, uint32_t node) { units_[unit].ready.emplace(trace_.nodes[node].id, node); }

uint32_t RankState::next_of(size_t unit) {
  auto& state = units_[unit];
  if (state.busy || state.ready.empty()) return kNone;
  const auto node = state.ready.top().second;
  state.ready.pop();
  return node;
}

/// The time since the last change goes to what the chip was doing.
void RankState::account(Femtoseconds now) {
  const auto spent = now - std::exchange(since_, now);
  const bool works = units_[static_cast<size_t>(Unit::kCore)].busy || units_[static_cast<size_t>(Unit::kMemory)].busy;
  times_.working += works ? spent : 0;
  times_.communicating += communicating_ > 0 ? spent : 0;
  times_.hidden += works && communicating_ > 0 ? spent : 0;
  times_.host += units_[static_cast<size_t>(Unit::kHost)].busy ? spent : 0;
}

void RankState::begin(uint32_t place, Femtoseconds now) {
  account(now);
  begun_[place] = true;
  times_.nodes[place].begin = now;
  const auto& node = trace_.nodes[place];
  if (communicates(node)) communicating_++;
  if (const auto unit = unit_of(node); unit != kUnits) units_[unit].busy = true;
}

void RankState::end(uint32_t place, Femtoseconds now) {
  account(now);
  ended_[place] = true;
  times_.nodes[place].end = now;
  times_.end = now;
  left_--;
  const auto& node = trace_.nodes[place];
  if (communicates(node)) communicating_--;
  if (const auto unit = unit_of(node); unit != kUnits) units_[unit].busy = false;
  for (const auto follower : followers_[place])
    if (--waits_[follower] == 0) free_.push_back(follower);
}

}  // namespace weft::replay
