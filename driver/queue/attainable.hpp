// What semaphores can still reach on a device that has nothing to do: who could signal, and who cannot.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>

#include "driver/queue/event.hpp"
#include "driver/queue/timeline.hpp"

namespace weft::driver {

/// What an event waits for, on a device that has nothing to do.
enum class Hope {
  kNoSemaphore,  ///< no semaphore is in its way: the device has forgotten it
  kNobody,       ///< a semaphore that nobody can signal
  kSignal,       ///< semaphores that the host, or commands that are as hopeful, can still signal
  kAbort,        ///< a reset or a close of the device is under way, and ends it
};

/// Values that commands in flight can still give to semaphores whose handles the host has released. It grows until no
/// queue adds anything more. Not thread-safe; allocates nothing.
class Attainable {
 public:
  /// The event waits for nothing, or for what the host or these commands can still signal.
  bool reaches(const Event& event) const {
    return !event.waits() || event.awaited()->host_can_signal() ||
           values_[event.awaited()->id()] >= event.awaited_value();
  }
  /// A command can signal the value. True: that was not known.
  bool add(uint32_t semaphore, uint64_t value) {
    const bool more = value > values_[semaphore];
    values_[semaphore] = std::max(values_[semaphore], value);
    return more;
  }

 private:
  std::array<uint64_t, WEFT_LIMIT_TIMELINES + 1> values_{};  ///< by id
};

}  // namespace weft::driver
