/// The tensor core in simulated time.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <systemc>

#include "model/chip/core_clock.hpp"
#include "model/chip/time_base.hpp"
#include "model/core/tensor_core.hpp"

namespace weft::chip {

/// Who hears of the core; called at the simulated time of the event.
class CoreHostEvents {
 public:
  virtual ~CoreHostEvents() = default;
  /// The interrupt line rose.
  virtual void core_interrupt() = 0;
  /// The lockstep core found a difference; once.
  virtual void core_mismatch(const core::Mismatch& mismatch) = 0;
};

using FindMismatch = std::function<core::Mismatch(const core::TensorCore&)>;

/// A core that its clock lets run ahead of simulated time up to a limit; an interrupt ends the run. An idle core is not
/// clocked: it jumps when somebody looks at it.
///
/// After a lockstep mismatch the core reads as stopped by a fault until its next reset, so that the firmware fails the
/// launch: STATUS faulted and stopped, INTERRUPT fault, FAULT_CODE kMismatchFault.
class CoreHost final {
 public:
  /// Not a code of spec/faults.toml, so the firmware reports INTERNAL; FIRST_ERROR says GOLDEN_MISMATCH.
  static constexpr uint64_t kMismatchFault = 0xff;

  /// Joins `clock`.
  CoreHost(const TimeBase& time, std::unique_ptr<core::TensorCore> core, FindMismatch find_mismatch,
           CoreHostEvents& events, CoreClock& clock);

  /// Register accesses and pushes of the manager, at the current simulated time.
  [[nodiscard]] uint64_t read_csr(uint32_t offset);
  /// For who only looks on, at any moment: the core stays where it is, up to a slice behind or ahead of simulated time.
  [[nodiscard]] uint64_t peek_csr(uint32_t offset) const;
  void write_csr(uint32_t offset, uint64_t value);
  [[nodiscard]] bool push(unsigned queue, const spec::Command& command);
  /// Level of the interrupt line at the current simulated time.
  [[nodiscard]] bool interrupt();

  /// Counters as of now. Clocks the core a little: simulated time follows by as much.
  void snapshot(std::array<uint64_t, WEFT_COUNTERS>& counters);

  /// The same in two steps that hurry nobody: time goes on as it would between them, at least kSnapshotCycles.
  static constexpr uint64_t kSnapshotCycles = 2;  // the write, and the cycle in which it has taken effect
  void take_snapshot();
  void read_snapshot(std::array<uint64_t, WEFT_COUNTERS>& counters);

  /// Core reset, held until it is over: the core may then be some cycles ahead of simulated time, which follows.
  void reset();

  /// Cycle of simulated time, or of the core if it is ahead.
  [[nodiscard]] uint64_t cycle() const { return std::max(now(), core_->cycle()); }

  [[nodiscard]] core::TensorCore& core() { return *core_; }
  [[nodiscard]] const core::TensorCore& core() const { return *core_; }

  /// Brings a core that lags behind to the current cycle, for somebody who is about to act on it. One that is ahead
  /// stays there, and so does its interrupt.
  void catch_up() {
    advance_to(now());
    clock_.set_due(number_, 0);
  }

  // The clock's
  /// Looks at a core that is due: brings it to the current cycle and tells of its interrupt or mismatch. True: it is
  /// busy there, and has to be run.
  [[nodiscard]] bool look(uint64_t now_cycle);
  /// Runs a busy core towards `limit`, as far as one look at the wall clock allows.
  void run_ahead(uint64_t limit);

 private:
  [[nodiscard]] uint64_t now() const { return time_.cycle_at(sc_core::sc_time_stamp().value()); }
  /// Brings the core to `cycle`. Tells of what it has to say unless it is ahead of `now_cycle`.
  void advance_to(uint64_t cycle, uint64_t now_cycle);
  void advance_to(uint64_t cycle) { advance_to(cycle, now()); }
  void look_at_core();

  const TimeBase& time_;
  std::unique_ptr<core::TensorCore> core_;
  FindMismatch find_mismatch_;
  CoreHostEvents& events_;
  CoreClock& clock_;
  size_t number_;           // at the clock
  uint64_t stride_cycles_;  // of one advance(), so that the clock is looked at in between
  bool interrupt_seen_ = false;
  bool mismatch_reported_ = false;
  bool stopped_by_mismatch_ = false;
};

}  // namespace weft::chip
