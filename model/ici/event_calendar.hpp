/// Events in any order: a calendar queue.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <queue>
#include <vector>

#include "model/ici/event.hpp"

namespace weft::ici {

/// A calendar queue (Brown 1988): time is cut into slots of 4 ns. The slots of the next 4 us lie in a ring, unsorted,
/// what is later in a heap; a slot is sorted when its turn comes. An event costs its share of the sorting of a short
/// list instead of a way through a heap of all events. One thread.
class EventCalendar {
 public:
  void add(const Event& event) {
    const auto slot = slot_of(event.time);
    if (slot <= slot_)
      add_to_current(event);
    else
      add_to_later_slot(slot, event);
  }
  /// The slot of the first event becomes the current one if that is not after `limit`.
  void advance_to(Femtoseconds limit) {
    if (position_ == current_.size() && next_slot_ <= slot_of(limit)) advance();
  }
  /// Nothing will be added before `now` any more, and no event is before it.
  void forget_before(Femtoseconds now) {
    if (position_ != current_.size()) return;
    const auto slot = std::min(slot_of(now), next_slot_ - 1);
    if (slot > slot_) slot_ = slot;
  }
  /// The first event of the current slot; kNoEvent if it has none.
  [[nodiscard]] const Event& front() const { return position_ == current_.size() ? kNoEvent : current_[position_]; }
  void drop_front() {
    if (++position_ < current_.size()) return;
    current_.clear();
    position_ = 0;
    find_next_slot();
  }
  [[nodiscard]] bool empty() const { return position_ == current_.size() && next_slot_ == kNoSlot; }
  /// Of the first event, whatever its slot; kNever: there is none.
  [[nodiscard]] Femtoseconds first_time() const {
    if (position_ != current_.size()) return current_[position_].time;
    Femtoseconds first = later_.empty() ? kNever : later_.top().time;
    if (next_slot_ != kNoSlot)
      for (const Event& event : ring_[next_slot_ % kSlots]) first = std::min(first, event.time);
    return first;
  }
  /// The event `ahead` places after the first one if it is of the same slot, else the first one: to prefetch by.
  [[nodiscard]] const Event& peek(size_t ahead) const {
    return current_[position_ + ahead < current_.size() ? position_ + ahead : position_];
  }

 private:
  static constexpr unsigned kSlotBits = 22;  // of femtoseconds
  static constexpr uint64_t kSlots = 1024;
  static constexpr uint64_t kWordBits = 64;
  static constexpr uint64_t kNoSlot = ~uint64_t{0};

  static uint64_t slot_of(Femtoseconds time) { return time >> kSlotBits; }
  struct Later {
    bool operator()(const Event& a, const Event& b) const { return is_earlier(b, a); }
  };

  void add_to_current(const Event& event) {
    const auto first = current_.begin() + static_cast<std::ptrdiff_t>(position_);
    const auto place = std::upper_bound(first, current_.end(), event, is_earlier);
    if (place == first && position_ > 0)
      current_[--position_] = event;  // where one was taken
    else
      current_.insert(place, event);
  }

  void add_to_later_slot(uint64_t slot, const Event& event) {
    next_slot_ = std::min(next_slot_, slot);
    if (slot - slot_ < kSlots)
      add_to_ring(slot, event);
    else
      later_.push(event);
  }

  void add_to_ring(uint64_t slot, const Event& event) {
    const auto index = slot % kSlots;
    ring_[index].push_back(event);
    filled_[index / kWordBits] |= uint64_t{1} << index % kWordBits;
  }

  /// The current slot is used up: on to the next that has events.
  void advance() {
    slot_ = next_slot_;
    for (; !later_.empty() && slot_of(later_.top().time) - slot_ < kSlots; later_.pop())
      add_to_ring(slot_of(later_.top().time), later_.top());
    const auto index = slot_ % kSlots;
    current_.swap(ring_[index]);
    filled_[index / kWordBits] &= ~(uint64_t{1} << index % kWordBits);
    std::sort(current_.begin(), current_.end(), is_earlier);
  }

  void find_next_slot() {
    next_slot_ = later_.empty() ? kNoSlot : slot_of(later_.top().time);
    for (uint64_t ahead = 1; ahead < kSlots;) {
      const auto index = (slot_ + ahead) % kSlots;
      if (const auto rest = filled_[index / kWordBits] >> index % kWordBits; rest != 0) {
        next_slot_ = std::min(next_slot_, slot_ + ahead + static_cast<uint64_t>(std::countr_zero(rest)));
        return;
      }
      ahead += kWordBits - index % kWordBits;
    }
  }

  std::vector<Event> current_;  // of slot_ and before it, sorted; those before position_ are taken
  size_t position_ = 0;
  uint64_t slot_ = 0, next_slot_ = kNoSlot;      // the next that has events, once the current one has none
  std::array<std::vector<Event>, kSlots> ring_;  // slots slot_ + 1 to slot_ + kSlots - 1
  std::array<uint64_t, kSlots / kWordBits> filled_{};
  std::priority_queue<Event, std::vector<Event>, Later> later_;
};

}  // namespace weft::ici
