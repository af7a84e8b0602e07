#include "testbench/lifetime/oracle.hpp"

namespace weft::lifetime {
namespace {

/// "Every call on what belonged to the device answers INVALID_STATE" after weft_close; beside a close it may.
bool closes(const Device& device) { return device.close.begun != 0; }

/// Beside a reset a call meets a device that is being reset, or its own work of the device ends with the reset.
void add_reset(Statuses& statuses) { statuses.add({WEFT_ERROR_INVALID_STATE, WEFT_ERROR_ABORTED_BY_RESET}); }

}  // namespace

Statuses allowed(const Before& before, const Child& object, WithReset with_reset, Statuses normal) {
  const Device& device = *object.device;
  if (before.closed) return {WEFT_ERROR_INVALID_STATE};
  if (with_reset == WithReset::kGoes) {
    // "Queues and programs are gone (calls on them answer INVALID_STATE)". More resets have returned OK than had begun
    // when the object was there: one of them began afterwards.
    if (before.resets_ok > object.born_begun) return {WEFT_ERROR_INVALID_STATE};
    if (device.reset.may_act_since(object.born_mark)) normal.add(WEFT_ERROR_INVALID_STATE);
  }
  if (device.reset.may_act_since(before.reset_mark)) add_reset(normal);
  if (closes(device)) normal.add({WEFT_ERROR_INVALID_STATE, WEFT_ERROR_CANCELLED});
  return normal;
}

Statuses allowed(const Before& before, const Device& device, Statuses normal) {
  if (device.reset.may_act_since(before.reset_mark)) add_reset(normal);
  return normal;
}

Statuses allowed_submission(const Before& before, const Queue& queue, uint32_t queue_reset, const Child* also) {
  Statuses normal{WEFT_ERROR_OK};
  // "All entries are in flight": not before so many commands were ever submitted.
  if (queue.submitted > queue.entries) normal.add(WEFT_ERROR_QUEUE_FULL);
  if (queue.reset.may_act_since(queue_reset)) normal.add(WEFT_ERROR_INVALID_STATE);
  if (queue.halts || queue.device->halts_anywhere)
    normal.add({WEFT_ERROR_INVALID_STATE, WEFT_ERROR_BAD_DOORBELL});  // scope queue: "release it and create another"
  if (also != nullptr) {  // "They go with a reset of the device (INVALID_STATE), as programs and semaphores do."
    if (before.resets_ok > also->born_begun) normal.remove(WEFT_ERROR_OK);
    if (queue.device->reset.may_act_since(also->born_mark)) normal.add(WEFT_ERROR_INVALID_STATE);
  }
  return allowed(before, queue, WithReset::kGoes, normal);
}

Statuses allowed_ends(const Event& event) {
  const Device& device = *event.device;
  Statuses ends{WEFT_ERROR_OK};
  // "Completes what is left with CANCELLED."
  if (device.close.may_act_since(event.marks.close)) ends.add(WEFT_ERROR_CANCELLED);
  // "The event ends exactly once: with CANCELLED, or as it would have."
  if (event.cancel.begun != 0) ends.add(WEFT_ERROR_CANCELLED);
  // "Commands in flight complete with ABORTED_BY_RESET."
  if (device.reset.may_act_since(event.marks.reset)) ends.add(WEFT_ERROR_ABORTED_BY_RESET);
  if (event.queue == nullptr) {  // "With QUEUE_FULL ends the one beyond WEFT_LIMIT_ASYNC_EVENTS that wait."
    if (device.listens > WEFT_LIMIT_ASYNC_EVENTS) ends.add(WEFT_ERROR_QUEUE_FULL);
    return ends;
  }
  const Queue& queue = *event.queue;
  if (queue.cancel.may_act_since(event.marks.queue_cancel)) ends.add(WEFT_ERROR_CANCELLED);
  if (queue.reset.may_act_since(event.marks.queue_reset)) ends.add(WEFT_ERROR_ABORTED_BY_RESET);
  if (event.launch && device.engine_reset.may_act_since(event.marks.engine_reset))
    ends.add(WEFT_ERROR_ABORTED_BY_RESET);
  if (event.endless) ends.add(WEFT_ERROR_DEVICE_HUNG);  // weft_device_set_watchdog
  if (event.budget) ends.add(WEFT_ERROR_BUDGET_EXCEEDED);
  if (queue.halts) ends.add(WEFT_ERROR_BAD_DOORBELL);
  // "The next command of the queue runs only if this one succeeds; otherwise it ends with DEPENDENCY_FAILED": of the
  // chain, or of a replay, some command must have been able to fail.
  const bool may_fail = ends.has(WEFT_ERROR_CANCELLED) || ends.has(WEFT_ERROR_ABORTED_BY_RESET) ||
                        ends.has(WEFT_ERROR_BAD_DOORBELL) || queue.cancels || queue.budgets;
  if ((event.recorded || queue.chained) && may_fail) ends.add(WEFT_ERROR_DEPENDENCY_FAILED);
  if (event.wait != nullptr) {
    if (event.wait->may_fail) ends.add(WEFT_ERROR_DEPENDENCY_FAILED);
    // "Completes when the semaphore has reached the value."
    if (event.wait->at_most < event.wait_value) ends.remove(WEFT_ERROR_OK);
  }
  return ends;
}

bool may_time_out(bool stalls, const weft_wait_options& options, int64_t took_ms) {
  if (options.deadline_cycles != 0) return true;
  const bool old_form = options.size < sizeof options;
  if (!old_form && options.timeout_ms != 0 && took_ms >= options.timeout_ms) return true;
  if (took_ms >= options.guard_ms) return true;
  // "The wait ends as soon as the device has nothing to do, although somebody could still signal what it waits for."
  // Without it: "As long as somebody could still signal it, the wait has no end but its own limits."
  return stalls && !old_form && options.until_idle != 0;
}

bool may_time_out(const Event& event, const weft_wait_options& options, int64_t took_ms) {
  if (event.queue == nullptr) return true;  // "a wait for it ends with TIMEOUT_WAIT once the device has nothing to do"
  return may_time_out(event.queue->stalls, options, took_ms);
}

}  // namespace weft::lifetime
