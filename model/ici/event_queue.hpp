/// Events in the order of their time; those of one time in the order in which they were added.
#pragma once
#include <cstdint>
#include <queue>
#include <vector>

#include "model/ici/time.hpp"

namespace weft::ici {

struct Event {
  Femtoseconds time;
  uint32_t number;  ///< order among events of one time
  uint16_t kind;
  uint32_t subject;  ///< what it happens to
  uint32_t object;
};

class EventQueue {
 public:
  void add(Femtoseconds time, uint16_t kind, uint32_t subject, uint32_t object) {
    events_.push({time, number_++, kind, subject, object});
  }
  [[nodiscard]] bool empty() const { return events_.empty(); }
  [[nodiscard]] const Event& next() const { return events_.top(); }
  Event take() {
    const Event event = events_.top();
    events_.pop();
    return event;
  }

 private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      // numbers wrap: what matters is who was first within half of their range
      return a.time != b.time ? a.time > b.time : static_cast<int32_t>(a.number - b.number) > 0;
    }
  };
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  uint32_t number_ = 0;
};

}  // namespace weft::ici
