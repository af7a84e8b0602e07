/// Timing of collectives on a slice: who sends how much to which neighbour after what. No data travels; see README.md
/// for the algorithms.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "model/ici/network.hpp"

namespace weft::ici {

enum class CollectiveKind : uint8_t { kAllGather, kReduceScatter, kAllReduce };

/// bytes: of the whole array that is gathered, or that each chip holds before a reduction, in the group of one chip.
/// axes: one bit for each axis that takes part; chips that differ in another axis form groups of their own, which run
/// side by side.
struct CollectiveOptions {
  CollectiveKind kind = CollectiveKind::kAllGather;
  uint64_t bytes = 0;
  unsigned axes = 1;
  /// A chip goes on to the next axis with all parts at once. Else a part that is early takes bandwidth from
  /// one that the others wait for, which long arrays on axes of different length feel (up to 1.6 times); short ones end
  /// some hops earlier that way.
  bool in_step = true;
};

/// One collective on all groups of a slice, by rings in both directions (lines where an axis does not wrap). With
/// several axes the data is cut into as many parts, as large as their axes are fast (axis_shares), and each part takes
/// the axes in another order, so that every axis works at once (the bucket algorithm: Jain and Sabharwal 2010).
///
/// Sends through `send` and wants every delivery told. One thread.
class Collective {
 public:
  using Send = std::function<void(const Message&)>;

  Collective(const Topology& topology, const CollectiveOptions& options, Send send);

  void start();
  void delivered(const Message& message);
  /// True when every chip has what it should; nothing is sent any more then.
  [[nodiscard]] bool finished() const { return chips_finished_ == topology_.chips() * parts_; }

 private:
  enum class Step : uint8_t { kGather, kReduce };
  struct Phase {
    Step step;
    unsigned axis;
  };
  /// Where a chip is with one part of the data.
  struct State {
    uint8_t phase = 0;
    bool waits = false;          // to begin that phase, for the other parts of its chip
    std::vector<uint8_t> units;  // of each phase, arrived; see start_gather
    std::vector<uint64_t> held;  // reductions that came before this chip was in their phase: tags
  };
  struct Tag {
    unsigned part, phase;
    bool up;
    unsigned hops_left;  // after the one that the message makes
  };
  static uint64_t pack(const Tag& tag);
  static Tag unpack(uint64_t tag);

  [[nodiscard]] unsigned reach(uint32_t chip, unsigned axis, bool up) const;
  [[nodiscard]] bool halves(unsigned axis) const { return topology_.wraps(axis) && topology_.size(axis) % 2 == 0; }
  [[nodiscard]] const Phase& phase_of(unsigned part, unsigned phase) const {
    return phases_[part * phase_count_ + phase];
  }
  [[nodiscard]] uint64_t block_bytes(unsigned part, unsigned phase) const {
    return block_bytes_[part * phase_count_ + phase];
  }
  State& state(unsigned part, uint32_t chip) { return states_[size_t{part} * topology_.chips() + chip]; }
  void enter_phase(unsigned part, uint32_t chip);
  [[nodiscard]] bool others_behind(unsigned part, uint32_t chip);
  void start_phase(unsigned part, uint32_t chip);
  void start_gather(unsigned part, uint32_t chip);
  void start_reduce(unsigned part, uint32_t chip);
  void pass_on_reduction(uint32_t chip, const Tag& tag);
  void hop(uint32_t from, const Tag& tag, bool half);
  void arrived(unsigned part, uint32_t chip, unsigned phase, unsigned units);
  [[nodiscard]] unsigned units_wanted(uint32_t chip, const Phase& phase) const;

  Topology topology_;
  Send send_;
  bool in_step_;
  unsigned parts_ = 0, phase_count_ = 0;
  std::vector<Phase> phases_;          // of each part
  std::vector<uint64_t> block_bytes_;  // what one ring step moves, of each part and phase
  std::vector<State> states_;
  uint64_t chips_finished_ = 0;
};

}  // namespace weft::ici
