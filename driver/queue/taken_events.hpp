// Events between their queue and their end: a close, and the verdict that a wait is over, wait for the threads that
// hold some.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace weft::driver {

/// Knows the threads that may hold events which no queue knows any more and which have not ended yet. Such an event is
/// in its thread's hands alone, so no other thread can find or end it: it waits. Thread-safe; allocates nothing.
class TakenEvents {
 public:
  /// For the time from before an event is taken off its queue until it has ended and its callback is the dispatcher's.
  /// Whatever takes events off a queue asks for one. One thread may have several.
  class Hold {
   public:
    explicit Hold(TakenEvents& taken) : taken_(taken) {
      const std::lock_guard lock(taken_.mutex_);
      number_ = taken_.begun_++;
      previous_ = taken_.newest_;
      (previous_ != nullptr ? previous_->next_ : taken_.oldest_) = this;
      taken_.newest_ = this;
    }
    ~Hold() {
      const std::lock_guard lock(taken_.mutex_);
      (previous_ != nullptr ? previous_->next_ : taken_.oldest_) = next_;
      (next_ != nullptr ? next_->previous_ : taken_.newest_) = previous_;
      taken_.ended_.notify_all();
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    friend class TakenEvents;
    TakenEvents& taken_;
    uint64_t number_ = 0;  ///< of holds that began before
    Hold* previous_ = nullptr;
    Hold* next_ = nullptr;
  };

  /// Once all queues are empty and take nothing more: when it returns, no event is in anybody's hands. Not with a Hold.
  /// A hold that begins after the queues were emptied finds nothing to take; one that began before is seen here,
  /// because it was counted before its thread locked the queue's mutex.
  void await_none() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return oldest_ == nullptr; });
  }

  /// When it returns, every event that was taken before the call has ended. Later holds are not waited for, so it
  /// returns however busy other threads are. Not with a Hold.
  void await_earlier() {
    std::unique_lock lock(mutex_);
    const uint64_t first_later = begun_;
    ended_.wait(lock, [&] { return oldest_ == nullptr || oldest_->number_ >= first_later; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  Hold* oldest_ = nullptr;  ///< of a list in the order in which they began
  Hold* newest_ = nullptr;
  uint64_t begun_ = 0;
};

}  // namespace weft::driver
