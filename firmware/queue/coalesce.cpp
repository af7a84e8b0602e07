// Interrupt coalescing.
#include "firmware/queue/coalesce.hpp"

#include "firmware/hal.hpp"
#include "firmware/state.hpp"

namespace weft::fw {
namespace {

using E = weft_submission_entry;

constexpr Status invalid(uint64_t offset, uint64_t value) {
  return refused(WEFT_ERROR_INVALID_ARGUMENT, offset, value);
}

}  // namespace

Status set_coalescing(Function& function, const E& e) {
  if (e.size == kAdminQueue || e.size >= kQueues) return invalid(offsetof(E, size), e.size);
  Queue& queue = function.queues[e.size];
  if (queue.state != QueueState::kActive) return refused(WEFT_ERROR_INVALID_STATE, offsetof(E, size), e.size);
  if (e.arg0 > queue.completion_entries) return invalid(offsetof(E, arg0), e.arg0);
  if (e.arg1 > UINT32_MAX || (e.arg0 > 1 && e.arg1 == 0)) return invalid(offsetof(E, arg1), e.arg1);
  flush_interrupt(function, queue);
  queue.coalescing.count = static_cast<uint32_t>(e.arg0);
  queue.coalescing.cycles = static_cast<uint32_t>(e.arg1);
  return kOk;
}

void request_interrupt(Function& function, Queue& queue) {
  Coalescing& c = queue.coalescing;
  if (c.count > 1) {
    if (c.pending == 0) {
      c.deadline = hal::now() + c.cycles;
      function.interrupts_held++;
    }
    if (++c.pending < c.count) return;
    c.pending = 0;
    function.interrupts_held--;
  }
  hal::raise_interrupt(queue.function, completion_vector(queue.id));
}

void flush_interrupt(Function& function, Queue& queue) {
  if (queue.coalescing.pending == 0) return;
  queue.coalescing.pending = 0;
  function.interrupts_held--;
  hal::raise_interrupt(queue.function, completion_vector(queue.id));
}

void coalesce_service(State& state) {
  const uint64_t now = hal::now();
  for (uint32_t f = 0; f < state.function_count; f++) {
    Function& function = state.functions[f];
    if (function.interrupts_held == 0) continue;
    for (Queue& queue : function.queues) {
      if (queue.coalescing.pending != 0 && queue.coalescing.deadline <= now) flush_interrupt(function, queue);
    }
  }
}

uint64_t coalesce_wake_cycle(const State& state) {
  uint64_t first = UINT64_MAX;
  for (uint32_t f = 0; f < state.function_count; f++) {
    if (state.functions[f].interrupts_held == 0) continue;
    for (const Queue& queue : state.functions[f].queues) {
      if (queue.coalescing.pending != 0 && queue.coalescing.deadline < first) first = queue.coalescing.deadline;
    }
  }
  return first;
}

}  // namespace weft::fw
