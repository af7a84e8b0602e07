// Events between their queue and their end: a close waits for the threads that hold some.
#pragma once
#include <atomic>
#include <cstdint>

namespace weft::driver {

/// Counts the threads that may hold events which no queue knows any more and which have not ended yet. Such an event is
/// in its thread's hands alone, so the thread that closes the device can neither find nor end it: it waits.
/// Thread-safe; allocates nothing.
class TakenEvents {
 public:
  /// For the time from before an event is taken off its queue until it has ended and its callback is the dispatcher's.
  /// Whatever takes events off a queue asks for one. One thread may have several.
  class Hold {
   public:
    explicit Hold(TakenEvents& taken) : taken_(taken) { taken_.holds_.fetch_add(1); }
    ~Hold() {
      if (taken_.holds_.fetch_sub(1) == 1) taken_.holds_.notify_all();
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    TakenEvents& taken_;
  };

  /// Once all queues are empty and take nothing more: when it returns, no event is in anybody's hands. Not with a Hold.
  /// A hold that begins after the queues were emptied finds nothing to take; one that began before is seen here,
  /// because it was counted before its thread locked the queue's mutex.
  void await_none() const {
    for (uint32_t holds = holds_.load(); holds != 0; holds = holds_.load()) holds_.wait(holds);
  }

 private:
  std::atomic<uint32_t> holds_{0};
};

}  // namespace weft::driver
