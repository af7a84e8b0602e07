// Timeline semaphores.
#include "firmware/queue/timeline.hpp"

#include "firmware/hal.hpp"
#include "firmware/memory_map.hpp"
#include "firmware/state.hpp"

namespace weft::fw {
namespace {

using E = weft_submission_entry;

constexpr uint64_t kCyclesPerBudgetUnit = 1000;

constexpr Status invalid(uint64_t offset, uint64_t value) {
  return refused(WEFT_ERROR_INVALID_ARGUMENT, offset, value);
}

/// Tells the host the value, and `root` if the semaphore fails: mirror, then vector 0. A mirror that cannot be written
/// is given up; waits of the host then end through their bounds.
void publish(const Function& function, Timeline& timeline, const RootCause* root = nullptr) {
  if (timeline.mirror_iova() == 0) return;
  weft_timeline_mirror mirror{};
  mirror.value = timeline.value();
  if (root != nullptr) {
    mirror.root = dependency_failed(*root).detail0;
    mirror.error = static_cast<uint32_t>(root->error);
    mirror.failed = 1;
  }
  static_assert(sizeof mirror <= 32, "one ordered write");
  if (!hal::dma_write(host_at(function.index, timeline.mirror_iova()), &mirror, sizeof mirror))
    timeline.forget_mirror();
  hal::raise_interrupt(function.index, completion_vector(kAdminQueue));
}

/// A command that owed the value has failed because of `root`. Nothing if the value is there, or the semaphore has
/// failed.
void fail(const Function& function, Timeline& timeline, uint64_t value, const RootCause& root) {
  if (timeline.failed() || value <= timeline.value()) return;
  publish(function, timeline, &root);
  timeline.fail_with(root);
}

bool id_valid(uint64_t id) { return id != 0 && id <= WEFT_LIMIT_TIMELINES; }

bool exists(const Function& function, uint64_t id) { return id_valid(id) && function.timeline(id).created(); }

/// Some queue's next entry waits for it.
bool waited_for(const State& state, const Function& function, uint64_t id) {
  for (const Queue& queue : function.queues) {
    if (queue.waits && next_entry(state, queue).wait_id == id) return true;
  }
  return false;
}

}  // namespace

Status create_timeline(Function& function, const E& e) {
  if (!id_valid(e.size)) return invalid(offsetof(E, size), e.size);
  if (e.arg1 % Timeline::kMirrorAlignment != 0 || !host_range_valid(e.arg1, sizeof(weft_timeline_mirror)))
    return invalid(offsetof(E, arg1), e.arg1);
  Timeline& timeline = function.timeline(e.size);
  if (timeline.created()) return refused(WEFT_ERROR_INVALID_STATE, offsetof(E, size), e.size);
  timeline.create(e.arg0, e.arg1);
  return kOk;
}

Status delete_timeline(const State& state, Function& function, const E& e) {
  if (!id_valid(e.size)) return invalid(offsetof(E, size), e.size);
  if (!exists(function, e.size)) return refused(WEFT_ERROR_INVALID_STATE, offsetof(E, size), e.size);
  if (waited_for(state, function, e.size)) return refused(WEFT_ERROR_BUSY, offsetof(E, size), e.size);
  function.timeline(e.size).remove();
  return kOk;
}

Status signal_timeline(Function& function, const E& e) {
  const auto id = static_cast<uint32_t>(e.size), error = static_cast<uint32_t>(e.size >> 32);
  if (!exists(function, id) || error > WEFT_ERROR_INTERNAL) return invalid(offsetof(E, size), e.size);
  Timeline& timeline = function.timeline(id);
  if (error != WEFT_ERROR_OK) {
    const uint32_t queue = static_cast<uint16_t>(e.arg1 >> 16);
    if (queue == kAdminQueue || queue >= kQueues) return invalid(offsetof(E, arg1), e.arg1);
    fail(function, timeline, e.arg0, root_of(Status{WEFT_ERROR_DEPENDENCY_FAILED, e.arg1, error}));
    return kOk;
  }
  if (e.arg1 != 0) return invalid(offsetof(E, arg1), e.arg1);
  if (timeline.failed()) return dependency_failed(timeline.root());
  if (e.arg0 <= timeline.value()) return invalid(offsetof(E, arg0), e.arg0);
  timeline.raise(e.arg0);
  publish(function, timeline);
  return kOk;
}

Status check_timelines(const Function& function, const E& e) {
  if (e.wait_id != 0 && !exists(function, e.wait_id)) return invalid(offsetof(E, wait_id), e.wait_id);
  if (e.signal_id != 0 && !exists(function, e.signal_id)) return invalid(offsetof(E, signal_id), e.signal_id);
  if (e.signal_id != 0 && e.signal_value <= function.timeline(e.signal_id).value())
    return invalid(offsetof(E, signal_value), e.signal_value);
  return kOk;
}

bool timeline_holds(const Function& function, Queue& queue, const E& e, Status& status) {
  if (e.wait_id == 0) return false;
  const Timeline& timeline = function.timeline(e.wait_id);
  if (!timeline.created()) {
    status = invalid(offsetof(E, wait_id), e.wait_id);
  } else if (timeline.value() < e.wait_value && timeline.failed()) {
    status = dependency_failed(timeline.root());
  } else if (timeline.value() < e.wait_value) {
    const uint64_t now = hal::now();
    if (!queue.waits) {
      const bool limited = e.opcode == WEFT_QUEUE_OPCODE_WAIT && e.budget_kcycles != 0;
      queue.waits = true;
      queue.wait_deadline = limited ? now + e.budget_kcycles * kCyclesPerBudgetUnit : UINT64_MAX;
    }
    if (now < queue.wait_deadline) return true;
    status = Status{WEFT_ERROR_BUDGET_EXCEEDED, e.budget_kcycles * kCyclesPerBudgetUnit, now - queue.wait_deadline};
  }
  return false;
}

uint64_t timeline_wake_cycle(const State& state) {
  uint64_t first = UINT64_MAX;
  for (uint32_t f = 0; f < state.function_count; f++) {
    const Function& function = state.functions[f];
    for (uint32_t queues = function.pending, id = 0; queues != 0; queues >>= 1, id++) {
      const Queue& queue = function.queues[id];
      if ((queues & 1) != 0 && queue.waits && queue.wait_deadline < first) first = queue.wait_deadline;
    }
  }
  return first;
}

weft_error timeline_end(Function& function, const E& e, weft_error error, const RootCause& root) {
  if (error == WEFT_ERROR_BAD_DESCRIPTOR || !exists(function, e.signal_id)) return error;  // its fields prove nothing
  Timeline& timeline = function.timeline(e.signal_id);
  if (error != WEFT_ERROR_OK) {
    fail(function, timeline, e.signal_value, root);
  } else if (!timeline.failed()) {
    if (e.signal_value <= timeline.value()) return WEFT_ERROR_SEMAPHORE_FAULT;
    timeline.raise(e.signal_value);
    publish(function, timeline);
  }
  return error;
}

}  // namespace weft::fw
