/// The watchdog of the manager's processor: firmware that is awake must beat its heart.
#pragma once
#include <algorithm>
#include <cstdint>

namespace weft::chip {

/// Counts device cycles that firmware has been awake without a heartbeat, from the boot request on: before it there is
/// nothing to do, and firmware that sleeps owes no beat. Pure; the manager tells it what happens.
class FirmwareWatchdog {
 public:
  /// The processor starts anew.
  void restart() { armed_ = false; }
  /// The boot has begun.
  void arm(uint64_t cycle) {
    armed_ = true;
    since_ = cycle;
  }
  /// A heartbeat, or the firmware woke up.
  void beat(uint64_t cycle) { since_ = std::max(since_, cycle); }
  [[nodiscard]] bool expired(uint64_t cycle, uint64_t limit_cycles) const {
    return armed_ && cycle > since_ && cycle - since_ > limit_cycles;
  }

 private:
  bool armed_ = false;
  uint64_t since_ = 0;
};

}  // namespace weft::chip
