/// The MXUs: commands whose times come from their walks, whose data move when they are done.
#pragma once
#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "model/core/fast_core_mxu_walk.hpp"
#include "model/core/fast_core_unit.hpp"

namespace weft::core::fast {

/// All MXUs of a core, whose walks go side by side because they share VMEM. They are simulated only as far as somebody
/// asks: for counters, for the banks that they read, and in copies that run ahead to the next end of a command. What is
/// taken later changes nothing about an MXU's oldest command but through VMEM's banks, so with one MXU a copy runs
/// ahead once a command, with several at each one that is taken. Work of a call is bounded: of a command that lasts
/// longer, walks and product follow in pieces.
class MxuGroup {
 public:
  MxuGroup(golden::CoreState& state, const FastTiming& timing, Counters& counters, const VmemFlips& vmem_flips);

  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(units_.size()); }
  [[nodiscard]] bool ready(unsigned unit) const;
  void take(unsigned unit, const spec::Command& command, uint64_t cycle);
  UnitOutcome step(unsigned unit, uint64_t cycle);
  [[nodiscard]] bool active(unsigned unit) const { return !units_[unit].running.empty() || units_[unit].refusing; }
  /// First cycle from which step() has something to say; kNever: none.
  [[nodiscard]] uint64_t next_event() const;
  /// Last cycle in which a row of an oldest command enters, as far as it is known: what the watchdog takes for
  /// progress.
  [[nodiscard]] uint64_t last_progress() const { return last_row_; }
  /// Banks of VMEM that x and weights read in `cycle`, not earlier than any asked for before.
  uint32_t read_banks(uint64_t cycle);
  /// Counts all cycles before `cycle`.
  void account(uint64_t cycle);
  void reset(uint64_t cycle);

  /// The flips of the ACC that holds element `place` = row N + column, rows as the VPU counts them, as they are in
  /// `cycle`, not earlier than any asked for before.
  AccFlips& acc_flips(uint64_t place, uint64_t cycle);
  [[nodiscard]] const AccFlips& acc_flips(uint64_t place) const { return units_[unit_of(place)].walk.acc(); }
  [[nodiscard]] bool acc_idle(uint64_t cycle);
  [[nodiscard]] bool acc_armed(uint64_t cycle);
  void disarm_acc(uint64_t cycle);

 private:
  struct Unit {
    explicit Unit(MxuWalk own_walk) : walk(std::move(own_walk)) {}
    MxuWalk walk;
    std::optional<MxuWalk::Cycle> latest;  // simulated, not counted yet: cycle latest_cycle_
    std::deque<spec::Command> running;     // taken and not done
    std::deque<uint64_t> ended;            // cycles in which the walk met the last rows of running commands
    uint64_t computed = 0;                 // tiles of running.front() whose rows are all in ACC
    uint64_t front_done = kNever;          // when running.front() is done, once its last row has entered
    uint64_t drained = 0;                  // cycle after the last one of the drain under way
    uint64_t last_taken = 0;
    uint64_t ecc_fault = kNever;  // when running.front() meets an error that ECC cannot correct
    bool refusing = false;
    bool dead = false;
    uint64_t refuse_cycle = kNever;
    UnitFault refusal;
  };
  [[nodiscard]] size_t unit_of(uint64_t place) const;
  void run_walks(uint64_t end);
  void count(Unit& unit, const MxuWalk::Cycle& what, uint64_t cycle);
  void look_ahead();
  void pass_event(uint64_t cycle);
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
  uint64_t latest_cycle_ = 0;
  uint64_t next_row_ = kNever;      // the next cycle in which the last row of a command enters or ECC stops one
  uint64_t looked_until_ = kNever;  // no such cycle was found before this one, from which on it is looked for
  uint64_t last_row_ = 0;
};

}  // namespace weft::core::fast
