/// The watchdog of the manager's processor: firmware that is awake must beat its heart.
#pragma once
#include <algorithm>
#include <cstdint>

namespace weft::chip {

/// Counts device cycles that firmware has been awake without a heartbeat, from its reset on; firmware that sleeps owes
/// none. Pure; the manager tells it what happens.
class FirmwareWatchdog {
 public:
  /// The processor starts anew.
  void restart(uint64_t cycle) { since_ = cycle; }
  /// A heartbeat, the beginning of the boot, or the firmware woke up.
  void beat(uint64_t cycle) { since_ = std::max(since_, cycle); }
  [[nodiscard]] bool expired(uint64_t cycle, uint64_t limit_cycles) const {
    return cycle > since_ && cycle - since_ > limit_cycles;
  }

 private:
  uint64_t since_ = 0;
};

}  // namespace weft::chip
