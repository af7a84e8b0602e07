/// Simulated time of the tensor cores of all chips, and of the interconnect between them.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <systemc>
#include <vector>

#include "model/chip/time_base.hpp"

namespace weft::chip {

class CoreHost;

/// What happens between chips. The clock calls it; one thread.
class Interconnect {
 public:
  virtual ~Interconnect() = default;
  /// Femtoseconds of the next thing to happen; UINT64_MAX: nothing.
  [[nodiscard]] virtual uint64_t next_event_fs() const = 0;
  /// Lets happen what is due at `now_fs`, all of it; never called with a time before the last one.
  virtual void run(uint64_t now_fs) = 0;
  /// What one chip does reaches another this much later, or more.
  [[nodiscard]] virtual uint64_t lookahead_fs() const = 0;
  /// Nothing acts on the core of a chip before, unless it sets out after `now_fs`, up to which all has happened;
  /// UINT64_MAX: nothing is on its way.
  [[nodiscard]] virtual uint64_t next_arrival_fs(size_t chip, uint64_t now_fs) = 0;
};

/// Clocks the cores while they are busy. Nobody else acts between now and the next pending event, and nothing that a
/// core does reaches another one within the interconnect's lookahead: so every busy core runs ahead that far at once, or
/// to what is on its way to it, and simulated time follows. Of one moment, managers act first, then the interconnect, then cores: what happens does
/// not depend on the order in which the kernel wakes them. What arrives between two edges is there at the second one.
/// Cores that are idle, or quiet (TensorCore::quiet_until), are not clocked.
class CoreClock final : public sc_core::sc_module {
 public:
  /// `time`: of all cores. `interconnect` may be nullptr, and outlives the clock.
  CoreClock(sc_core::sc_module_name name, const TimeBase& time, Interconnect* interconnect = nullptr);

  /// The core outlives every sc_start() that follows. It is due in every cycle at first. Returns its number.
  size_t add(CoreHost& core);
  /// The next cycle in which the clock has to look at a core; kNever: not before somebody acts on it.
  [[nodiscard]] uint64_t due_cycle(size_t core) const { return due_[core]; }
  void set_due(size_t core, uint64_t cycle) {
    if (due_[core] == earliest_ && cycle > earliest_) stale_ = true;
    due_[core] = cycle;
    earliest_ = std::min(earliest_, cycle);
  }
  /// Something may have become busy.
  void kick() { kick_.notify(sc_core::SC_ZERO_TIME); }

  /// Bounds of a slice of simulated time: no core runs beyond `horizon_cycle`, and once `deadline` has passed the slice
  /// is ended early (a busy RTL core may need a millisecond for twenty cycles), as it is in `hold_cycle` at the latest.
  /// None of them changes a cycle of a device.
  void begin_slice(uint64_t horizon_cycle, std::chrono::steady_clock::time_point deadline,
                   uint64_t hold_cycle = kNever);
  /// The furthest cycle that a core has been run to; never less than before.
  [[nodiscard]] uint64_t front_cycle() const { return front_cycle_; }
  void reached(uint64_t cycle) { front_cycle_ = std::max(front_cycle_, cycle); }
  /// The slice was ended early, when all others had done what they do in this cycle.
  [[nodiscard]] bool paused() const { return paused_; }

  /// A moment ahead of now.
  [[nodiscard]] sc_core::sc_time until_fs(uint64_t fs) const;

 private:
  void run();
  [[nodiscard]] bool look_at_cores(uint64_t cycle);
  [[nodiscard]] uint64_t limit() const;
  void run_ahead(size_t core, uint64_t cycle, uint64_t limit);
  [[nodiscard]] uint64_t wake_fs(uint64_t next_cycle);
  [[nodiscard]] uint64_t earliest_due();

  const TimeBase time_;
  Interconnect* interconnect_;
  std::vector<CoreHost*> cores_;
  std::vector<uint64_t> due_;   // cycles, by core
  uint64_t earliest_ = kNever;  // of them, or before it if stale_
  bool stale_ = false;
  sc_core::sc_event kick_;
  uint64_t horizon_ = kNever;
  uint64_t hold_cycle_ = kNever;
  uint64_t front_cycle_ = 0;
  bool paused_ = false;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
};

}  // namespace weft::chip
