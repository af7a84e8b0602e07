// Steps with their cycles, and a record of them.
#include "firmware/admin/reset.hpp"

#include "firmware/admin/admin.hpp"
#include "firmware/admin/hbm_scrub.hpp"
#include "firmware/core/core.hpp"
#include "firmware/core/core_scrub.hpp"
#include "firmware/hal.hpp"
#include "firmware/memory_map.hpp"
#include "firmware/queue/ring.hpp"
#include "firmware/state.hpp"

namespace weft::fw {
namespace {

using E = weft_submission_entry;

constexpr uint64_t kRecordAlignment = 8;

/// The record under way: who, and how long each step took.
struct Steps {
  weft_reset_record record;
  uint64_t since;

  void begin(weft_reset_level level, uint32_t target) {
    record = weft_reset_record{};
    record.level = level;
    record.target = target;
    record.start_cycle = since = hal::now();
  }
  void done(weft_reset_step step) {
    const uint64_t now = hal::now();
    record.step_cycles[step] = now - since;
    if (now - since > kResetStepCycles && record.failed_step == 0) record.failed_step = 1u + step;
    since = now;
  }
};

Status check_record(const E& e) {
  if (e.arg0 % kRecordAlignment != 0 || !host_range_valid(e.arg0, sizeof(weft_reset_record)))
    return refused(WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, arg0), e.arg0);
  return kOk;
}

void name_victim(weft_reset_record& record, uint32_t queue, const E& entry) {
  record.queue = static_cast<uint16_t>(queue);
  record.command_id = entry.command_id;
  record.tag = entry.tag;
}

void stop_core(State& state, Steps& steps) {
  name_victim(steps.record, state.launch.queue, state.launch.entry);
  steps.record.error = launch_reset(state);
}

void stop_copy(State& state, Steps& steps) {
  name_victim(steps.record, state.copy.queue, state.copy.entry);
  steps.record.error = copy_reset(state);
}

Status finish(const Function& function, const E& e, Steps& steps) {
  steps.record.end_cycle = hal::now();
  if (e.arg0 == 0) return kOk;
  if (hal::dma_write(host_at(function.index, e.arg0), &steps.record, sizeof steps.record)) return kOk;
  return Status{WEFT_ERROR_DMA_FAULT, e.arg0, sizeof steps.record};
}

}  // namespace

Status reset_queue(State& state, Function& function, const E& e) {
  if (Status s = check_record(e); !s.ok()) return s;
  if (e.size == kAdminQueue || e.size >= kQueues)
    return refused(WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, size), e.size);
  Queue& queue = function.queues[e.size];
  if (queue.state == QueueState::kFree)
    return refused(WEFT_ERROR_INVALID_STATE, offsetof(E, size), WEFT_QUEUE_STATE_DELETED);
  state.waypoint = Waypoint::kQueueReset;
  Steps steps;
  steps.begin(WEFT_RESET_LEVEL_QUEUE, queue.id);
  steps.record.dropped = uint32_t{queue.batch_count} - queue.batch_next + ring::used(queue.head, queue.tail);
  queue.state = QueueState::kQuiescing;  // no doorbell and no entry is taken any more
  queue.ticket = 0;
  steps.done(WEFT_RESET_STEP_STOP_DOORBELLS);
  queue.head_checked = false;
  queue.batch_next = queue.batch_count;
  steps.done(WEFT_RESET_STEP_STOP_FETCH);
  if (launch_of(state, queue)) {
    stop_core(state, steps);
  } else if (copy_of(state, queue)) {
    stop_copy(state, steps);
  }
  steps.done(WEFT_RESET_STEP_STOP_ENGINES);
  close_queue(function, queue);
  log_event(function, LogLevel::kWarning, WEFT_LOG_EVENT_QUEUE_RESET, e.size, steps.record.error);
  steps.done(WEFT_RESET_STEP_REINITIALISE);
  return finish(function, e, steps);
}

Status reset_engine(State& state, Function& function, const E& e) {
  if (Status s = check_record(e); !s.ok()) return s;
  if (e.size > WEFT_ENGINE_COPY) return refused(WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, size), e.size);
  const bool core = e.size == WEFT_ENGINE_CORE;
  const bool active = core ? state.launch.active : state.copy.active;
  const uint32_t owner_index = core ? state.launch.function : state.copy.function;
  if (active && owner_index != function.index) return refused(WEFT_ERROR_BUSY, offsetof(E, size), e.size);
  state.waypoint = Waypoint::kQueueReset;
  Steps steps;
  steps.begin(WEFT_RESET_LEVEL_ENGINE, static_cast<uint32_t>(e.size));
  if (active) {
    core ? stop_core(state, steps) : stop_copy(state, steps);
  } else if (core) {
    if (!core::reset()) panic(state, hal::csr_read(WEFT_CSR_STATUS));
    core_scrub_cancel(state);
  } else {
    stop_copy_engine(state);
    hbm_scrub_cancel(state);
  }
  steps.done(WEFT_RESET_STEP_STOP_ENGINES);
  log_event(function, LogLevel::kWarning, WEFT_LOG_EVENT_ENGINE_RESET, e.size, steps.record.error);
  return finish(function, e, steps);
}

}  // namespace weft::fw
