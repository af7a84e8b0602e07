/// Events in the order of their time; those of one time in the order in which they were added.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <queue>
#include <vector>

#include "model/ici/time.hpp"

namespace weft::ici {

struct Event {
  Femtoseconds time;
  uint32_t number;   ///< order among events of one time
  uint32_t subject;  ///< what it happens to
  uint32_t object;
  uint16_t kind;
};

/// A calendar queue (Brown 1988): time is cut into slots of 4 ns. The slots of the next 4 us lie in a ring, unsorted,
/// what is later in a heap; a slot is sorted when its turn comes. An event costs its share of the sorting of a short
/// list instead of a way through a heap of all events. One thread.
class EventQueue {
 public:
  void add(Femtoseconds time, uint16_t kind, uint32_t subject, uint32_t object) {
    const Event event{time, number_++, subject, object, kind};
    const auto slot = slot_of(time);
    if (empty()) {
      current_.assign(1, event);
      position_ = 0;
      slot_ = slot;
    } else if (slot <= slot_) {
      add_to_current(event);
    } else if (slot - slot_ < kSlots) {
      add_to_ring(slot, event);
    } else {
      later_.push(event);
    }
  }
  [[nodiscard]] bool empty() const { return position_ == current_.size(); }
  [[nodiscard]] const Event& next() const { return current_[position_]; }
  /// The event `ahead` places after the next one if it is of the same slot, else the next one: to prefetch by.
  [[nodiscard]] const Event& peek(size_t ahead) const {
    return current_[position_ + ahead < current_.size() ? position_ + ahead : position_];
  }
  Event take() {
    const Event event = current_[position_++];
    if (position_ == current_.size()) advance();
    return event;
  }

 private:
  static constexpr unsigned kSlotBits = 22;  // of femtoseconds
  static constexpr uint64_t kSlots = 1024;
  static constexpr uint64_t kWordBits = 64;

  static uint64_t slot_of(Femtoseconds time) { return time >> kSlotBits; }
  struct Earlier {
    bool operator()(const Event& a, const Event& b) const {
      // numbers wrap: what matters is who was first within half of their range
      return a.time != b.time ? a.time < b.time : static_cast<int32_t>(a.number - b.number) < 0;
    }
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const { return Earlier{}(b, a); }
  };

  void add_to_current(const Event& event) {
    const auto first = current_.begin() + static_cast<std::ptrdiff_t>(position_);
    const auto place = std::upper_bound(first, current_.end(), event, Earlier{});
    if (place == first && position_ > 0)
      current_[--position_] = event;  // where one was taken
    else
      current_.insert(place, event);
  }

  void add_to_ring(uint64_t slot, const Event& event) {
    const auto index = slot % kSlots;
    ring_[index].push_back(event);
    filled_[index / kWordBits] |= uint64_t{1} << index % kWordBits;
  }

  /// The current slot is used up: on to the next that has events.
  void advance() {
    current_.clear();
    position_ = 0;
    if (const auto ahead = next_filled(); ahead != 0) {
      slot_ += ahead;
    } else if (!later_.empty()) {
      slot_ = slot_of(later_.top().time);
    } else {
      return;
    }
    for (; !later_.empty() && slot_of(later_.top().time) - slot_ < kSlots; later_.pop())
      add_to_ring(slot_of(later_.top().time), later_.top());
    const auto index = slot_ % kSlots;
    current_.swap(ring_[index]);
    filled_[index / kWordBits] &= ~(uint64_t{1} << index % kWordBits);
    std::sort(current_.begin(), current_.end(), Earlier{});
  }

  /// Slots from the current one to the next in the ring that has events; 0: none has.
  [[nodiscard]] uint64_t next_filled() const {
    for (uint64_t ahead = 1; ahead < kSlots;) {
      const auto index = (slot_ + ahead) % kSlots;
      if (const auto rest = filled_[index / kWordBits] >> index % kWordBits; rest != 0)
        return ahead + static_cast<uint64_t>(std::countr_zero(rest));
      ahead += kWordBits - index % kWordBits;
    }
    return 0;
  }

  std::vector<Event> current_;  // of slot_ and before it, sorted; those before position_ are taken
  size_t position_ = 0;
  uint64_t slot_ = 0;
  std::array<std::vector<Event>, kSlots> ring_;  // slots slot_ + 1 to slot_ + kSlots - 1
  std::array<uint64_t, kSlots / kWordBits> filled_{};
  std::priority_queue<Event, std::vector<Event>, Later> later_;
  uint32_t number_ = 0;
};

}  // namespace weft::ici
