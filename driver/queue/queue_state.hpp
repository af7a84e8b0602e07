// The life of a queue: created -> active -> quiescing -> idle -> deleted, or halted, from where a reset leads back to
// active. A pure table; Queue walks it.
#pragma once
#include <optional>
#include <string_view>

#include "weft/spec/spec.h"

namespace weft::driver {

/// What happens to a queue.
enum class QueueEvent {
  kCreated,  ///< CREATE_QUEUE has completed
  kStop,     ///< takes nothing more: release, close, reset
  kDrained,  ///< nothing is in flight any more
  kFail,     ///< the device has halted it, or is gone
  kReset,    ///< its reset has ended, its rings are as new
  kDeleted,  ///< the device knows it no more
};

/// The state after `event`; nothing: the event cannot happen in this state, which stays.
std::optional<weft_queue_state> next_queue_state(weft_queue_state state, QueueEvent event);

/// Commands are taken.
constexpr bool takes_commands(weft_queue_state state) { return state == WEFT_QUEUE_STATE_ACTIVE; }

std::string_view queue_event_name(QueueEvent event);

}  // namespace weft::driver
