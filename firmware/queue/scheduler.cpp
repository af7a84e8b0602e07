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
  const E& entry = next_entry(state, queue);  // stays where it is until its queue fetches again
  state.waypoint = Waypoint::kCheck;
  Status status = kOk;
  if (!queue.head_checked) status = check_entry(entry, admin, ring::lap(next_index(queue), queue.order));
  if (!queue.head_checked && status.ok()) status = check_timelines(owner(state, queue), entry);
  if (take_abort(owner(state, queue), queue, entry)) status = Status{WEFT_ERROR_CANCELLED, 0, 0};
  if (status.ok() && queue.chain.broken) status = chain_status(queue.chain);
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

/// One turn of a queue that may have entries: true if it took one. The queue behind it is then the next to be visited
/// first.
bool take_turn(State& state, Function& function, uint32_t id) {
  Queue& queue = function.queues[id];
  bool taken = false;
  const uint32_t turn = turn_entries(queue.priority);
  for (uint32_t i = 0; i < turn && has_entry(queue) && !state.panicked; i++) {
    if (step(state, queue) == Step::kWaiting) break;
    taken = true;
    const bool last_queue = id + 1 == kQueues;
    const uint32_t next_function = function.index + 1 < state.function_count ? function.index + 1 : 0;
    state.rotor = {static_cast<uint8_t>(last_queue ? next_function : function.index),
                   static_cast<uint8_t>(last_queue ? 0 : id + 1)};
  }
  if (!has_entry(queue)) function.pending &= ~(1u << id);
  return taken;
}

}  // namespace

bool schedule(State& state) {
  const Rotor first = state.rotor;
  bool taken = false;
  uint32_t f = first.function;
  for (uint32_t n = 0; n <= state.function_count; n++) {  // the first function twice: from its first queue on, up to it
    Function& function = state.functions[f];
    uint32_t queues = function.pending;
    if (n == 0) queues &= ~0u << first.queue;
    if (n == state.function_count) queues &= (1u << first.queue) - 1;
    for (uint32_t id = 0; queues != 0; id++, queues >>= 1) {
      if ((queues & 1) == 0) continue;
      taken |= take_turn(state, function, id);
    }
    f = f + 1 < state.function_count ? f + 1 : 0;
  }
  return taken;
}

bool scheduler_idle(const State& state) {
  if (state.launch.active || state.copy.active) return false;
  for (uint32_t f = 0; f < state.function_count; f++) {
    const Function& function = state.functions[f];
    for (uint32_t queues = function.pending, id = 0; queues != 0; queues >>= 1, id++) {
      if ((queues & 1) != 0 && has_entry(function.queues[id])) return false;
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

bool core_waited_for_by_others(const State& state) {
  for (uint32_t f = 0; f < state.function_count; f++) {
    if (f == state.launch.function) continue;
    for (const Queue& queue : state.functions[f].queues) {
      Engine engine;
      const bool needs = queue.ticket != 0 && needs_engine(next_entry(state, queue), &engine);
      if (needs && engine == Engine::kCore) return true;
    }
  }
  return false;
}

void scheduler_forget(State& state) {
  state.rotor = {};
  state.tickets = 0;
  if (state.turns == 0) return;  // no share of an engine was given to anyone
  state.turns = 0;
  for (uint32_t f = 0; f < state.function_count; f++) {
    for (uint32_t& turn : state.functions[f].turn) turn = 0;
    for (uint32_t& clock : state.functions[f].share_clock) clock = 0;
    for (Queue& queue : state.functions[f].queues) queue.share[0] = queue.share[1] = 0;
  }
}

}  // namespace weft::fw
