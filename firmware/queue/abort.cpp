// Marks for what has not been taken, an early end for what runs.
#include "firmware/queue/abort.hpp"

#include "firmware/hal.hpp"
#include "firmware/queue/ring.hpp"
#include "firmware/state.hpp"

namespace weft::fw {
namespace {

using E = weft_submission_entry;

constexpr uint64_t kAllBefore = UINT64_C(1) << 16;
constexpr uint64_t kArg1Bits = kAllBefore | 0xffff;

constexpr Status invalid(uint64_t offset, uint64_t value) {
  return refused(WEFT_ERROR_INVALID_ARGUMENT, offset, value);
}

/// Ends what the queue has in flight, if it is `command_id` or `all`. False: it is not.
bool abort_running(State& state, Queue& queue, uint16_t command_id, bool all) {
  if (!queue.in_flight) return false;
  if (launch_of(state, queue)) {
    if (!all && state.launch.entry.command_id != command_id) return false;
    launch_cancel(state);
    return true;
  }
  if (!copy_of(state, queue)) return false;
  if (!all && state.copy.entry.command_id != command_id) return false;
  copy_service(state);  // what has ended is not cancelled any more
  if (!state.copy.active) return false;
  copy_cancel(state);
  return true;
}

Status mark(Function& function, const Queue& queue, uint16_t command_id, uint32_t index) {
  for (auto& mark : function.aborts.marks) {
    hal::charge(WEFT_MANAGER_SRAM_WORD);
    if (mark.queue != 0) continue;
    mark = {queue.id, command_id, static_cast<uint16_t>(index)};
    function.aborts.used++;
    return kOk;
  }
  return refused(WEFT_ERROR_BUSY, offsetof(E, size), index);
}

}  // namespace

Status abort_command(State& state, Function& function, const E& e, uint64_t* result) {
  *result = 0;
  if (e.arg0 >= kQueues) return invalid(offsetof(E, arg0), e.arg0);
  if ((e.arg1 & ~kArg1Bits) != 0) return invalid(offsetof(E, arg1), e.arg1);
  if (e.size > UINT32_MAX) return invalid(offsetof(E, size), e.size);
  if (e.arg0 == kAdminQueue) {  // its other commands have ended by now
    *result = cancel_listeners(function.events, static_cast<uint16_t>(e.arg1), (e.arg1 & kAllBefore) != 0) ? 1 : 0;
    return kOk;
  }
  Queue& queue = function.queues[e.arg0];
  if (queue.state != QueueState::kActive) return refused(WEFT_ERROR_INVALID_STATE, offsetof(E, arg0), e.arg0);
  const bool all = (e.arg1 & kAllBefore) != 0;
  const auto command_id = static_cast<uint16_t>(e.arg1);
  const auto index = static_cast<uint32_t>(e.size);
  const uint32_t next = next_index(queue);
  const uint32_t waiting = ring::used(next, queue.tail);
  const uint32_t ahead = ring::used(next, index);
  const bool passed = ahead > UINT32_MAX / 2;  // an index before the next entry
  if (!passed && (all ? ahead > waiting : ahead >= waiting)) return invalid(offsetof(E, size), e.size);
  bool found = abort_running(state, queue, command_id, all);
  if (all && !passed && ahead != 0) {
    queue.abort_before = index;
    queue.abort_all = found = true;
  } else if (!all && !found && !passed) {
    const Status status = mark(function, queue, command_id, index);
    if (!status.ok()) return status;
    found = true;
  }
  *result = found ? 1 : 0;
  return kOk;
}

bool take_abort(Function& function, Queue& queue, const E& entry) {
  const uint32_t index = next_index(queue);
  if (queue.abort_all) {
    if (index != queue.abort_before) return true;
    queue.abort_all = false;
  }
  if (function.aborts.used == 0) return false;
  for (auto& mark : function.aborts.marks) {
    if (mark.queue != queue.id || mark.index != static_cast<uint16_t>(index)) continue;
    const bool same = mark.command_id == entry.command_id;  // the host may have named an index of another command
    mark.queue = 0;
    function.aborts.used--;
    return same;
  }
  return false;
}

void forget_aborts(Function& function, uint32_t queue) {
  for (auto& mark : function.aborts.marks) {
    if (mark.queue != queue) continue;
    mark.queue = 0;
    function.aborts.used--;
  }
}

}  // namespace weft::fw
