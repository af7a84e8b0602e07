// Every transition there is.
#include "driver/queue/queue_state.hpp"

namespace weft::driver {
namespace {

struct Transition {
  weft_queue_state from;
  QueueEvent event;
  weft_queue_state to;
};

constexpr Transition kTransitions[] = {
    {WEFT_QUEUE_STATE_CREATED, QueueEvent::kCreated, WEFT_QUEUE_STATE_ACTIVE},
    {WEFT_QUEUE_STATE_CREATED, QueueEvent::kFail, WEFT_QUEUE_STATE_HALTED},
    {WEFT_QUEUE_STATE_CREATED, QueueEvent::kDeleted, WEFT_QUEUE_STATE_DELETED},
    {WEFT_QUEUE_STATE_ACTIVE, QueueEvent::kStop, WEFT_QUEUE_STATE_QUIESCING},
    {WEFT_QUEUE_STATE_ACTIVE, QueueEvent::kFail, WEFT_QUEUE_STATE_HALTED},
    {WEFT_QUEUE_STATE_ACTIVE, QueueEvent::kDeleted, WEFT_QUEUE_STATE_DELETED},
    {WEFT_QUEUE_STATE_QUIESCING, QueueEvent::kDrained, WEFT_QUEUE_STATE_IDLE},
    {WEFT_QUEUE_STATE_QUIESCING, QueueEvent::kFail, WEFT_QUEUE_STATE_HALTED},
    {WEFT_QUEUE_STATE_QUIESCING, QueueEvent::kReset, WEFT_QUEUE_STATE_ACTIVE},
    {WEFT_QUEUE_STATE_QUIESCING, QueueEvent::kDeleted, WEFT_QUEUE_STATE_DELETED},
    {WEFT_QUEUE_STATE_IDLE, QueueEvent::kFail, WEFT_QUEUE_STATE_HALTED},
    {WEFT_QUEUE_STATE_IDLE, QueueEvent::kReset, WEFT_QUEUE_STATE_ACTIVE},
    {WEFT_QUEUE_STATE_IDLE, QueueEvent::kDeleted, WEFT_QUEUE_STATE_DELETED},
    {WEFT_QUEUE_STATE_HALTED, QueueEvent::kReset, WEFT_QUEUE_STATE_ACTIVE},
    {WEFT_QUEUE_STATE_HALTED, QueueEvent::kDeleted, WEFT_QUEUE_STATE_DELETED},
};

}  // namespace

std::optional<weft_queue_state> next_queue_state(weft_queue_state state, QueueEvent event) {
  for (const Transition& t : kTransitions) {
    if (t.from == state && t.event == event) return t.to;
  }
  return std::nullopt;
}

std::string_view queue_event_name(QueueEvent event) {
  switch (event) {
    case QueueEvent::kCreated:
      return "created";
    case QueueEvent::kStop:
      return "stop";
    case QueueEvent::kDrained:
      return "drained";
    case QueueEvent::kFail:
      return "fail";
    case QueueEvent::kReset:
      return "reset";
    case QueueEvent::kDeleted:
      return "deleted";
  }
  return "?";
}

}  // namespace weft::driver
