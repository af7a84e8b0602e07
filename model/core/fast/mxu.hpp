/// The MXUs: commands whose times come from their walks, whose data move when they are done.
#pragma once
#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "model/core/fast/mxu_walk.hpp"
#include "model/core/fast/unit.hpp"

namespace weft::core::fast {

/// All MXUs of a core, whose walks go side by side because they share VMEM. A cycle is request() and then clock(), or,
/// while all rest, skip(). A product is computed when it is done, or in pieces where it takes long, so that the work of
/// a call is bounded.
class MxuGroup {
 public:
  MxuGroup(golden::CoreState& state, const FastTiming& timing, Counters& counters, const VmemFlips& vmem_flips);

  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(units_.size()); }
  [[nodiscard]] bool ready(unsigned unit) const;
  void take(unsigned unit, const spec::Command& command, uint64_t cycle);
  [[nodiscard]] bool active(unsigned unit) const { return !units_[unit].running.empty() || units_[unit].refusing; }

  /// x of all, then weights of all, ask VMEM for the words of the next cycle.
  void request(VmemArbiter& vmem);
  /// Simulates the next cycle, `cycle`, with what request() was granted.
  void clock(uint64_t cycle);
  /// The next cycle, `cycle`, is one of those that skip() counts.
  [[nodiscard]] bool rests_in(uint64_t cycle) const {
    return std::ranges::all_of(units_, [&](const Unit& u) { return u.walk.exhausted() && u.checked != cycle; });
  }
  /// outcome() of a unit has something to say in `cycle`, after clock().
  [[nodiscard]] bool reports(uint64_t cycle) const { return next_event_ <= cycle || stopped_; }
  /// No walk moves: a cycle is drain or idle for each.
  [[nodiscard]] bool resting() const;
  /// Counts cycles [from, to), in which all rest.
  void skip(uint64_t from, uint64_t to);
  /// What a unit reports in `cycle`, after clock().
  UnitOutcome outcome(unsigned unit, uint64_t cycle);
  /// First cycle in which outcome() has something to say, as far as it is known; kNever: none.
  [[nodiscard]] uint64_t next_event() const { return next_event_; }
  /// A row entered or a word was read in the last cycle: what the watchdog takes for progress.
  [[nodiscard]] bool progressed() const { return progressed_; }
  /// The VPU may read row `row` of ACC, as it counts them, in `cycle`: the last one that was simulated.
  [[nodiscard]] bool acc_free(uint32_t row, uint64_t cycle) const;
  void reset(uint64_t cycle);

  /// The flips of the ACC that holds element `place` = row N + column, rows as the VPU counts them.
  AccFlips& acc_flips(uint64_t place) { return units_[unit_of(place)].walk.acc(); }
  [[nodiscard]] const AccFlips& acc_flips(uint64_t place) const { return units_[unit_of(place)].walk.acc(); }
  [[nodiscard]] bool acc_idle() const;
  [[nodiscard]] bool acc_armed() const;
  void disarm_acc();

 private:
  struct Unit {
    explicit Unit(MxuWalk own_walk) : walk(std::move(own_walk)) {}
    MxuWalk walk;
    std::deque<spec::Command> running;  // taken and not done
    std::deque<uint64_t> ended;         // cycles in which the walk met the last rows of running commands
    uint64_t computed = 0;              // tiles of running.front() whose rows are all in ACC
    uint64_t compute_at = kNever;       // when tiles that have entered are computed, if running.front() is not done
    uint64_t front_done = kNever;       // when running.front() is done, once its last row has entered
    uint64_t drained = 0;               // cycle after the last one of the drain under way
    uint64_t checked = kNever;          // cycle in which the command taken last is checked
    uint64_t ecc_fault = kNever;        // the cycle of its fault
    bool refusing = false;
    bool dead = false;
    uint64_t refuse_cycle = kNever;
    UnitFault refusal;
  };
  [[nodiscard]] size_t unit_of(uint64_t place) const;
  void count(Unit& unit, const MxuWalk::Cycle& what, uint64_t cycle);
  void refuse_in(Unit& unit, uint64_t cycle);
  void find_next_event();
  void compute_entered(Unit& unit);
  void compute_tiles(Unit& unit, uint64_t end);
  [[nodiscard]] spec::MxuCommand tiles_from(const Unit& unit, uint64_t tile) const;
  UnitFault stop_by_ecc(Unit& unit, uint64_t cycle);
  void clear(Unit& unit, uint64_t cycle);

  golden::CoreState& state_;
  const FastTiming& timing_;
  Counters& counters_;
  const VmemFlips& vmem_flips_;
  std::vector<Unit> units_;
  uint64_t next_event_ = kNever;
  bool progressed_ = false;
  bool stopped_ = false;  // ECC has stopped a unit, and its fault has not been reported
};

}  // namespace weft::core::fast
