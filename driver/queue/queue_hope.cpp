// Which commands of a queue somebody can still end, on a device that has nothing to do.
#include <algorithm>

#include "driver/queue/queue.hpp"

namespace weft::driver {

/// Orders of commands in flight, UINT64_MAX: none.
struct Queue::Obstacles {
  uint64_t first_wait = UINT64_MAX;     ///< the oldest that waits for a semaphore
  uint64_t first_in_vain = UINT64_MAX;  ///< the oldest that waits for what cannot be attained
};

/// The mutex is held. An idle device holds nothing back but commands that wait for a semaphore and what is behind them:
/// what is before the oldest of them has been lost.
Queue::Obstacles Queue::obstacles(const Attainable& values) const {
  Obstacles found;
  ids_.for_each([&](uint64_t order, const std::shared_ptr<Event>& event) {
    if (!event->waits()) return;
    found.first_wait = std::min(found.first_wait, order);
    if (!values.reaches(*event)) found.first_in_vain = std::min(found.first_in_vain, order);
  });
  return found;
}

bool Queue::add_attainable(Attainable& values) const {
  const std::lock_guard lock(mutex_);
  const Obstacles found = obstacles(values);
  bool more = false;
  ids_.for_each([&](uint64_t order, const std::shared_ptr<Event>& event) {
    const TimelineUse& use = event->timelines();
    if (order < found.first_wait || order >= found.first_in_vain || use.signal_id == 0) return;
    more = values.add(use.signal_id, use.signal_value) || more;
  });
  return more;
}

Hope Queue::hope_of(const Event& event, const Attainable& values) const {
  const std::lock_guard lock(mutex_);
  const Obstacles found = obstacles(values);
  Hope hope = Hope::kNoSemaphore;
  ids_.for_each([&](uint64_t order, const std::shared_ptr<Event>& other) {
    if (other.get() != &event || order < found.first_wait) return;
    hope = order < found.first_in_vain ? Hope::kSignal : Hope::kNobody;
  });
  return hope;
}

}  // namespace weft::driver
