/// News of a function for whoever listens: ASYNC_EVENT commands wait here, outside of their queue, until there is some.
#pragma once
#include <stdint.h>

#include "firmware/status.hpp"
#include "weft/spec/spec.h"

namespace weft::fw {

struct Function;
struct State;

inline constexpr uint32_t kAsyncEvents = WEFT_ASYNC_EVENT_LOG_OFF + 1;

/// All zero: nobody listens, no news.
struct AsyncEvents {
  /// What its completion needs of the entry.
  struct Listener {
    uint8_t flags;
    bool cancelled;
    uint16_t command_id;
    uint32_t tag;
  };
  struct News {
    uint64_t what;  ///< start of the completion that tells it
    uint64_t cycle;
  };
  Listener listeners[WEFT_LIMIT_ASYNC_EVENTS];  ///< the oldest first
  uint32_t listener_count;
  uint32_t waiting;  ///< bit weft_async_event: news[bit] was not told yet
  uint32_t raised;   ///< news of all kinds
  News news[kAsyncEvents];
};

/// Keeps news until somebody listens; the newest of each kind. A panic is none: nothing completes after it.
void raise_async_event(Function& function, weft_async_event event, uint32_t queue, weft_error error);

/// ASYNC_EVENT: the entry listens from now on. QUEUE_FULL: as many do as may.
Status listen(AsyncEvents& events, const weft_submission_entry& e);

/// Cancels the listener with this command id, or all of them. False: there is none.
bool cancel_listeners(AsyncEvents& events, uint16_t command_id, bool all);

/// Completes listeners that were cancelled, and those for whom there is news. What finds no room in the admin queue's
/// completion ring stays for the next pass.
void async_event_service(State& state);

}  // namespace weft::fw
