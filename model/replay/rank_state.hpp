/// One rank of a job that is replayed: which of its nodes may begin, and what its chip is doing.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "base/chakra/trace.hpp"
#include "model/replay/replay.hpp"

namespace weft::replay {

/// What does one node at a time.
enum class Unit : uint8_t { kCore, kMemory, kHost };
inline constexpr size_t kUnits = 3;

/// The unit that a node needs; kUnits: none.
size_t unit_of(const chakra::Node& node);

/// One thread; the caller owns the clock, which never goes back.
class RankState {
 public:
  /// The trace outlives it.
  explicit RankState(const chakra::Trace& trace);

  /// Nodes that nothing holds back any more, in the order of their file. Each is told once.
  std::vector<uint32_t> take_free() { return std::exchange(free_, {}); }
  /// A node that needs a unit waits for it.
  void wait_for_unit(size_t unit, uint32_t node);
  /// The node that an idle unit does next, by the lowest id; kNone.
  uint32_t next_of(size_t unit);
  static constexpr uint32_t kNone = ~uint32_t{0};

  void begin(uint32_t node, Femtoseconds now);
  /// Frees its unit, and those of its followers that waited for nothing else.
  void end(uint32_t node, Femtoseconds now);

  [[nodiscard]] const chakra::Trace& trace() const { return trace_; }
  [[nodiscard]] const chakra::Node& node(uint32_t place) const { return trace_.nodes[place]; }
  [[nodiscard]] bool done() const { return left_ == 0; }
  [[nodiscard]] bool has_begun(uint32_t node) const { return begun_[node]; }
  [[nodiscard]] bool has_ended(uint32_t node) const { return ended_[node]; }
  [[nodiscard]] RankTimes& times() { return times_; }

 private:
  void account(Femtoseconds now);

  const chakra::Trace& trace_;
  std::vector<uint32_t> waits_;                   // nodes that have not ended, of each node's dependences
  std::vector<std::vector<uint32_t>> followers_;  // by node
  std::vector<uint32_t> free_;
  using Ready = std::pair<uint64_t, uint32_t>;  // id, place
  struct UnitState {
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    bool busy = false;
  };
  std::array<UnitState, kUnits> units_;
  std::vector<bool> begun_, ended_;
  uint32_t communicating_ = 0;  // nodes
  Femtoseconds since_ = 0;
  size_t left_;
  RankTimes times_;
};

}  // namespace weft::replay
