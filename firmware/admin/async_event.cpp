// Listeners and news.
#include "firmware/admin/async_event.hpp"

#include "firmware/admin/faults.hpp"
#include "firmware/hal.hpp"
#include "firmware/queue/completion.hpp"
#include "firmware/state.hpp"

namespace weft::fw {
namespace {

using E = weft_submission_entry;

E take_listener(AsyncEvents& events, uint32_t index) {
  const AsyncEvents::Listener listener = events.listeners[index];
  E entry{};
  entry.opcode = WEFT_ADMIN_OPCODE_ASYNC_EVENT;
  entry.flags = listener.flags;
  entry.command_id = listener.command_id;
  entry.tag = listener.tag;
  events.listener_count--;
  for (uint32_t i = index; i < events.listener_count; i++) events.listeners[i] = events.listeners[i + 1];
  return entry;
}

/// The first bit that is set; `mask` is not 0.
uint32_t first_bit(uint32_t mask) {
  uint32_t bit = 0;
  while (((mask >> bit) & 1) == 0) bit++;
  return bit;
}

/// One completion. False: there is nothing to tell, or no room.
bool tell_one(State& state, Function& function) {
  AsyncEvents& events = function.events;
  Queue& admin = function.queues[kAdminQueue];
  uint32_t index = 0;
  while (index < events.listener_count && !events.listeners[index].cancelled) index++;
  const bool cancelled = index < events.listener_count;
  if (!cancelled && (events.listener_count == 0 || events.waiting == 0)) return false;
  if (!completion_room(state, admin)) return false;
  if (cancelled) {
    refuse_entry(state, admin, take_listener(events, index), refused(WEFT_ERROR_CANCELLED, 0, 0));
    return true;
  }
  const uint32_t event = first_bit(events.waiting);
  events.waiting &= ~(1u << event);
  const AsyncEvents::News news = events.news[event];
  complete(state, admin, take_listener(events, 0), Completion{WEFT_ERROR_OK, false, news.what, news.cycle});
  return true;
}

}  // namespace

void raise_async_event(Function& function, weft_async_event event, uint32_t queue, weft_error error) {
  AsyncEvents& events = function.events;
  const uint64_t what =
      static_cast<uint64_t>(event) | static_cast<uint64_t>(queue) << 16 | static_cast<uint64_t>(error) << 32;
  events.news[event] = {what, hal::now()};
  events.waiting |= 1u << event;
  events.raised++;
}

Status listen(AsyncEvents& events, const E& e) {
  if (events.listener_count == WEFT_LIMIT_ASYNC_EVENTS)
    return refused(WEFT_ERROR_QUEUE_FULL, offsetof(E, opcode), events.listener_count);
  events.listeners[events.listener_count++] = {e.flags, false, e.command_id, e.tag};
  return kOk;
}

bool cancel_listeners(AsyncEvents& events, uint16_t command_id, bool all) {
  bool found = false;
  for (uint32_t i = 0; i < events.listener_count; i++) {
    if (!all && events.listeners[i].command_id != command_id) continue;
    found = events.listeners[i].cancelled = true;
  }
  return found;
}

void async_event_service(State& state) {
  for (uint32_t i = 0; i < state.function_count && !state.panicked; i++) {
    Function& function = state.functions[i];
    if (function.state != FunctionState::kReady) continue;
    for (uint32_t n = 0; n < WEFT_LIMIT_ASYNC_EVENTS; n++) {
      if (!tell_one(state, function)) break;
    }
  }
}

}  // namespace weft::fw
