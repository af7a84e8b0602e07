/// Events that are added in the order of their time: a ring that grows, and nothing to sort.
#pragma once
#include <cstddef>

#include "model/ici/event.hpp"
#include "model/ici/large_vector.hpp"

namespace weft::ici {

/// One thread.
class EventLane {
 public:
  /// True if an event of this time may be added behind the others.
  [[nodiscard]] bool takes(Femtoseconds time) const { return time >= last_; }
  void add(const Event& event) {
    ring_[tail_] = event;
    last_ = event.time;
    tail_ = (tail_ + 1) & mask();
    if (tail_ == head_) grow();
    ring_[tail_] = kNoEvent;
    __builtin_prefetch(&ring_[(tail_ + kAhead) & mask()], 1);
  }
  /// kNoEvent: there is none.
  [[nodiscard]] const Event& front() const { return ring_[head_]; }
  /// An event behind the first one, to prefetch by; any old one beyond the last.
  [[nodiscard]] const Event& peek(size_t ahead) const { return ring_[(head_ + ahead) & mask()]; }
  void drop_front() { head_ = (head_ + 1) & mask(); }

 private:
  static constexpr size_t kFew = 64, kAhead = 16;
  [[nodiscard]] size_t mask() const { return ring_.size() - 1; }
  void grow() {  // full: the first stands where the next would
    LargeVector<Event> larger(2 * ring_.size(), kNoEvent);
    for (size_t i = 0; i < ring_.size(); i++) larger[i] = ring_[(head_ + i) & mask()];
    tail_ = ring_.size();
    head_ = 0;
    ring_.swap(larger);
  }

  LargeVector<Event> ring_ = LargeVector<Event>(kFew, kNoEvent);  // a power of two; kNoEvent behind the last
  size_t head_ = 0, tail_ = 0;
  Femtoseconds last_ = 0;
};

}  // namespace weft::ici
