/// The MXU: commands whose times come from its walk, whose data move when they are done.
#pragma once
#include <algorithm>
#include <deque>
#include <optional>

#include "model/core/fast_core_mxu_walk.hpp"
#include "model/core/fast_core_unit.hpp"

namespace weft::core::fast {

/// The walk is simulated only as far as somebody asks: for counters, for the banks that it reads, and once in a copy
/// that runs ahead to the end of the oldest command. Commands taken later change nothing about the oldest one.
class MxuUnit {
 public:
  MxuUnit(golden::CoreState& state, const FastTiming& timing, Counters& counters, const VmemFlips& vmem_flips)
      : state_(state),
        timing_(timing),
        counters_(counters),
        vmem_flips_(vmem_flips),
        walk_(state.chip(), timing, vmem_flips) {}

  [[nodiscard]] bool ready() const { return !refusing_ && !dead_ && running_.size() < timing_.mxu_held; }
  void take(const spec::Command& command, uint64_t cycle);
  UnitOutcome step(uint64_t cycle);
  [[nodiscard]] bool active() const { return !running_.empty() || refusing_; }
  /// First cycle from which step() has something to say; kNever: none.
  [[nodiscard]] uint64_t next_event() const { return std::min({refuse_cycle_, front_done_, ecc_fault_}); }
  /// ACC's flips as they are in `cycle`, not earlier than any asked for before.
  AccFlips& acc_flips(uint64_t cycle) {
    run_walk(cycle);
    return walk_.acc();
  }
  [[nodiscard]] const AccFlips& acc_flips() const { return walk_.acc(); }
  /// Last cycle in which a row of the oldest command enters: what the watchdog takes for progress.
  [[nodiscard]] uint64_t last_progress() const { return last_row_; }
  /// Banks of VMEM that x and weights read in `cycle`, not earlier than any asked for before.
  uint32_t read_banks(uint64_t cycle);
  /// Counts all cycles before `cycle`.
  void account(uint64_t cycle);
  void reset(uint64_t cycle);

 private:
  void run_walk(uint64_t end);
  void count(const MxuWalk::Cycle& what, uint64_t cycle);
  void find_front_done(uint64_t not_before);
  UnitFault stop_by_ecc(uint64_t cycle);
  void clear(uint64_t cycle);

  golden::CoreState& state_;
  const FastTiming& timing_;
  Counters& counters_;
  const VmemFlips& vmem_flips_;
  MxuWalk walk_;
  struct Latest {
    MxuWalk::Cycle what;
    uint64_t cycle;
  };
  std::optional<Latest> latest_;       // simulated, not counted yet
  std::deque<spec::Command> running_;  // taken and not done
  std::deque<uint64_t> ended_;         // cycles in which the walk met the last rows of running commands
  uint64_t front_done_ = kNever;       // when running_.front() is done
  uint64_t last_row_ = 0;
  uint64_t drained_ = 0;  // cycle after the last one of the drain under way
  uint64_t last_taken_ = 0;
  uint64_t ecc_fault_ = kNever;  // when running_.front() meets an error that ECC cannot correct
  bool refusing_ = false;
  bool dead_ = false;
  uint64_t refuse_cycle_ = kNever;
  UnitFault refusal_;
};

}  // namespace weft::core::fast
