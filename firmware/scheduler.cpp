// The scheduler.
#include "firmware/scheduler.hpp"

#include "firmware/admin.hpp"
#include "firmware/completion.hpp"
#include "firmware/faults.hpp"
#include "firmware/hal.hpp"
#include "firmware/state.hpp"
#include "firmware/submission.hpp"

namespace weft::fw {
namespace {

using E = weft_submission_entry;

enum class Step : uint8_t {
  kDone,     ///< the entry is taken: completed, refused or running
  kWaiting,  ///< no entry, or it waits for an engine, for room, or for the entry before it
};

constexpr bool needs_core(const E& entry) { return entry.opcode == WEFT_QUEUE_OPCODE_LAUNCH; }
constexpr bool needs_copy(const E& entry) {
  return entry.opcode == WEFT_QUEUE_OPCODE_COPY || entry.opcode == WEFT_QUEUE_OPCODE_FILL;
}

/// Another queue has a better claim to the same engine: its function had the engine longer ago, or it is of the same
/// function and has waited longer. So functions take turns, however many queues each has.
bool must_let_pass(const State& state, const Queue& queue, const E& entry) {
  const bool core = needs_core(entry);
  const uint32_t turn = state.functions[queue.function].turn[core];
  for (uint32_t f = 0; f < state.function_count; f++) {
    const uint32_t its_turn = state.functions[f].turn[core];
    if (its_turn > turn) continue;
    for (const Queue& other : state.functions[f].queues) {
      if (&other == &queue || other.ticket == 0 || other.state != QueueState::kActive) continue;
      if (needs_core(other.batch[other.batch_next]) != core) continue;
      if (its_turn < turn || queue.ticket == 0 || other.ticket < queue.ticket) return true;
    }
  }
  return false;
}

/// The entry waits for its engine: the core for a launch, the copy engine for a copy.
bool engine_busy(State& state, Queue& queue, const E& entry) {
  if (!needs_core(entry) && !needs_copy(entry)) return false;
  const bool taken = needs_core(entry) ? state.launch.active : !copy_free(state);
  if (!taken && !must_let_pass(state, queue, entry) &&
      (!needs_core(entry) || core_clean_for(state, queue.function))) {
    queue.ticket = 0;
    owner(state, queue).turn[needs_core(entry)] = ++state.turns;
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
    default: {  // NOP, TIMESTAMP, FENCE: all earlier entries of the queue have completed
      const uint64_t now = hal::now();
      complete(state, queue, entry, Completion{WEFT_ERROR_OK, false, now, now});
      return kOk;
    }
  }
}

Status run_admin_entry(State& state, Queue& queue, const E& entry) {
  uint64_t result = 0;
  const Status status = run_admin(state, owner(state, queue), entry, &result);
  if (status.ok()) {
    const uint64_t now = hal::now();
    complete(state, queue, entry, Completion{WEFT_ERROR_OK, false, result != 0 ? result : now, now});
  }
  return status;
}

Step step(State& state, Queue& queue) {
  if (queue.in_flight || !fetch_entry(state, queue) || !completion_room(state, queue)) return Step::kWaiting;
  const bool admin = queue.id == kAdminQueue;
  const E entry = queue.batch[queue.batch_next];
  state.waypoint = Waypoint::kCheck;
  Status status = kOk;
  if (!queue.head_checked) status = check_entry(entry, admin);
  if (status.ok() && !admin && engine_busy(state, queue, entry)) {
    queue.head_checked = true;
    return Step::kWaiting;
  }
  queue.head_checked = false;
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
    Queue& queue = state.functions[index / kQueues].queues[index % kQueues];
    index = index + 1 < count ? index + 1 : 0;
    for (uint32_t i = 0; i < kBatchEntries && has_entry(queue) && !state.panicked; i++) {
      if (step(state, queue) == Step::kWaiting) break;
      taken++;
      state.rotor = index;
      if (launch_streaming(state)) return true;
    }
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
      if (queue.ticket != 0 && needs_copy(queue.batch[queue.batch_next])) return true;
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
  }
}

}  // namespace weft::fw
