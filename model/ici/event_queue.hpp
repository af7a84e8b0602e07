/// Events in the order of their time; those of one time in the order in which they were added.
#pragma once
#include <algorithm>
#include <cstdint>

#include "model/ici/event.hpp"
#include "model/ici/event_calendar.hpp"
#include "model/ici/event_lane.hpp"

namespace weft::ici {

/// What is added in the order of time waits in lanes, where it costs nothing to sort: events of this very moment, and
/// those that come a fixed time after it. All others go into a calendar. The next event is the first of three. One
/// thread.
class EventQueue {
 public:
  enum class Source : uint8_t { kNow, kStream, kCalendar };

  void add(Femtoseconds time, uint16_t kind, uint32_t subject, uint32_t object) {
    const Event event{time, number_++, subject, object, kind};
    if (time == now_ && at_once_.takes(time))
      at_once_.add(event);
    else
      calendar_.add(event);
  }
  /// The same for events that mostly are not before the last one that was added by this.
  void add_to_stream(Femtoseconds time, uint16_t kind, uint32_t subject, uint32_t object) {
    const Event event{time, number_++, subject, object, kind};
    if (stream_.takes(time))
      stream_.add(event);
    else
      calendar_.add(event);
  }
  [[nodiscard]] bool empty() const {
    return at_once_.front().time == kNever && stream_.front().time == kNever && calendar_.empty();
  }
  /// Of the next event; kNever: there is none.
  [[nodiscard]] Femtoseconds next_time() const {
    return std::min({at_once_.front().time, stream_.front().time, calendar_.first_time()});
  }
  /// Where the next event is, if there is one.
  [[nodiscard]] Source next_source() {
    const bool now = is_earlier(at_once_.front(), stream_.front());
    const Event& first = now ? at_once_.front() : stream_.front();
    calendar_.advance_to(first.time);
    if (is_earlier(calendar_.front(), first)) return Source::kCalendar;
    return now ? Source::kNow : Source::kStream;
  }
  /// The first event of a source; its time is kNever if it has none.
  [[nodiscard]] const Event& front(Source source) const {
    return source == Source::kStream ? stream_.front() : source == Source::kNow ? at_once_.front() : calendar_.front();
  }
  /// Takes the first event of next_source().
  Event take(Source source) {
    const Event event = front(source);
    now_ = event.time;
    if (source == Source::kCalendar) {
      calendar_.drop_front();
    } else {
      (source == Source::kStream ? stream_ : at_once_).drop_front();
      calendar_.forget_before(now_);
    }
    return event;
  }
  Event take() { return take(next_source()); }
  /// An event that comes soon, about `ahead` events of its source later: to prefetch by.
  [[nodiscard]] const Event& peek(Source source, size_t ahead) const {
    return source == Source::kStream ? stream_.peek(ahead)
           : source == Source::kNow  ? at_once_.peek(ahead)
                                     : calendar_.peek(ahead);
  }

 private:
  EventLane at_once_, stream_;
  EventCalendar calendar_;
  Femtoseconds now_ = 0;  // of the last event that was taken
  uint32_t number_ = 0;
};

}  // namespace weft::ici
