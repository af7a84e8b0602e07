// The scheduler.
#include "firmware/queue/scheduler.hpp"

#include "firmware/admin/admin.hpp"
#include "firmware/admin/faults.hpp"
#include "firmware/hal.hpp"
#include "firmware/queue/arbiter.hpp"
#include "firmware/queue/completion.hpp"
#include "firmware/queue/ring.hpp"
#include "firmware/queue/submission.hpp"
#include "firmware/state.hpp"

namespace weft::fw {
namespace {

using E = weft_submission_entry;

enum class Step : uint8_t {
  kDone,     ///< the entry is taken: completed, refused or running
  kWaiting,  ///< no entry, or it waits for an engine, for room, or for the entry before it
};

/// The entry waits for its engine: the core for a launch, the copy engine for a copy.
bool engine_busy(State& state, Queue& queue, const E& entry) {
  Engine engine;
  if (!needs_engine(entry, &engine)) return false;
  const bool taken = engine == Engine::kCore ? state.launch.active : !copy_engine_idle(state);
  join_engine(state, queue, engine);
  if (!taken && !must_let_pass(state, queue, engine) &&
      (engine != Engine::kCore || core_clean_for(state, queue.function))) {
    grant_engine(state, queue, engine);
    return false;
  }
  if (queue.ticket == 0) queue.ticket = ++state.tickets;
  return true;
}

/// Runs a checked entry of an I/O queue. Ok: it has completed or is running.
Status run_entry(State& state, Queue& queue, const E& entry) {
  switch (entry.opcode) {
    case WEFT_QUEUE_OPCODE_LAUNCH:
      return launch_begin(state, queue, entry);
    case WEFT_QUEUE_OPCODE_COPY:
    case WEFT_QUEUE_OPCODE_FILL:
      return copy_begin(state, queue, entry);
    default: {  // NOP, TIMESTAMP, FENCE, WAIT, SIGNAL: all earlier entries of the queue have completed
      const uint64_t now = hal::now();
      complete(state, queue, entry, Completion{WEFT_ERROR_OK, false, now, now});
      return kOk;
    }
  }
}

Status run_admin_entry(State& state, Queue& queue, const E& entry) {
  uint64_t result = 0;
  const Status status = run_admin(state, owner(state, queue), entry, &result);
  if (status.ok() && entry.opcode != WEFT_ADMIN_OPCODE_ASYNC_EVENT) {  // which ends when there is news
    const uint64_t now = hal::now();
    complete(state, queue, entry, Completion{WEFT_ERROR_OK, false, result != 0 ? result : now, now});
  }
  return status;
}

/// The entry is looked at again in the next pass; its checks hold.
Step wait_at_head(Queue& queue) {
  queue.head_checked = true;
  return Step::kWaiting;
}

Step step(State& state, Queue& queue) {
  if (queue.in_flight || !fetch_entry(state, queue) || !completion_room(state, queue)) return Step::kWaiting;
  const bool admin = queue.id == kAdminQueue;
  const E entry = next_entry(state, queue);
  state.waypoint = Waypoint::kCheck;
  Status status = kOk;
  if (!queue.head_checked) status = check_entry(entry, admin, ring::lap(next_index(queue), queue.entries));
  if (!queue.head_checked && status.ok()) status = check_timelines(owner(state, queue), entry);
  if (take_abort(owner(state, queue), queue, entry)) status = Status{WEFT_ERROR_CANCELLED, 0, 0};
  if (status.ok()) status = chain_status(queue.chain);
  if (status.ok() && timeline_holds(owner(state, queue), queue, entry, status)) return wait_at_head(queue);
  queue.waits = false;
  if (status.ok() && !admin && engine_busy(state, queue, entry)) return wait_at_head(queue);
  queue.head_checked = false;
  queue.ticket = 0;
  queue.batch_next++;
  if (status.ok()) status = admin ? run_admin_entry(state, queue, entry) : run_entry(state, queue, entry);
  if (!status.ok()) refuse_entry(state, queue, entry, status);
  return Step::kDone;
}

}  // namespace

bool schedule(State& state) {
  const uint32_t count = state.function_count * kQueues;
  uint32_t index = state.rotor;
  uint32_t taken = 0;
  for (uint32_t n = 0; n < count; n++) {
    const uint32_t own = index;
    Queue& queue = state.functions[own / kQueues].queues[own % kQueues];
    index = own + 1 < count ? own + 1 : 0;
    const uint32_t turn = turn_entries(queue.priority);
    for (uint32_t i = 0; i < turn && has_entry(queue) && !state.panicked; i++) {
      if (step(state, queue) == Step::kWaiting) break;
      taken++;
      state.rotor = index;
      if (!launch_streaming(state)) continue;
      if (queue.credit == 0) queue.credit = static_cast<uint8_t>(streaming_entries(queue.priority));
      queue.credit--;
      if (queue.credit != 0 && has_entry(queue)) state.rotor = own;
      return true;
    }
    queue.credit = 0;
  }
  return taken != 0;
}

bool scheduler_idle(const State& state) {
  if (state.launch.active || state.copy.active) return false;
  for (uint32_t f = 0; f < state.function_count; f++) {
    for (const Queue& queue : state.functions[f].queues) {
      if (has_entry(queue)) return false;
    }
  }
  return true;
}

bool copy_waits(const State& state) {
  for (uint32_t f = 0; f < state.function_count; f++) {
    for (const Queue& queue : state.functions[f].queues) {
      Engine engine;
      const bool needs = queue.ticket != 0 && needs_engine(next_entry(state, queue), &engine);
      if (needs && engine == Engine::kCopy) return true;
    }
  }
  return false;
}

void scheduler_forget(State& state) {
  state.rotor = 0;
  state.tickets = 0;
  state.turns = 0;
  for (uint32_t f = 0; f < state.function_count; f++) {
    for (uint32_t& turn : state.functions[f].turn) turn = 0;
    for (uint32_t& clock : state.functions[f].share_clock) clock = 0;
    for (Queue& queue : state.functions[f].queues) queue.share[0] = queue.share[1] = 0;
  }
}

}  // namespace weft::fw
