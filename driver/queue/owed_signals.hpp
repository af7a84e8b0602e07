// What commands owe that the driver ends itself: values which semaphores will never take.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "driver/queue/timeline.hpp"

namespace weft::driver {

struct Command;

/// A semaphore, the value that it was to take, and the command that was to give it.
struct OwedSignal {
  std::shared_ptr<const Timeline> timeline;  ///< null: nothing is owed
  uint64_t value = 0;
  uint32_t queue = 0;
  uint16_t command_id = 0;
  uint32_t tag = 0;
  weft_error error = WEFT_ERROR_OK;  ///< that the command ends with
  uint64_t order = 0;                ///< of the command in its queue
};

/// SIGNAL_TIMELINE that fails the semaphore.
Command fail_command(const OwedSignal& signal);

/// One for each semaphore: the largest value owed, and the command that failed first. Not thread-safe; allocates
/// nothing.
class OwedSignals {
 public:
  /// What was known of another semaphore with the same id, gone with a reset, comes back in `signal`.
  void add(OwedSignal& signal) {
    OwedSignal& known = by_id_[signal.timeline->id()];
    if (known.timeline == signal.timeline) {
      const uint64_t value = std::max(known.value, signal.value);
      if (known.queue == signal.queue && signal.order < known.order) std::swap(known, signal);
      known.value = value;
    } else {
      std::swap(known, signal);
    }
  }
  bool empty() const {
    return std::all_of(by_id_.begin(), by_id_.end(), [](const OwedSignal& s) { return s.timeline == nullptr; });
  }
  /// Removes one of them and returns it; a signal without a timeline if none is left.
  OwedSignal take() {
    for (OwedSignal& signal : by_id_) {
      if (signal.timeline != nullptr) return std::exchange(signal, OwedSignal{});
    }
    return {};
  }

 private:
  std::array<OwedSignal, WEFT_LIMIT_TIMELINES + 1> by_id_;
};

}  // namespace weft::driver
