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
  CompletionRing& ring = function.rings[queue.completion_ring];
  if (e.arg0 > ring.entries) return invalid(offsetof(E, arg0), e.arg0);
  if (e.arg1 > UINT32_MAX || (e.arg0 > 1 && e.arg1 == 0)) return invalid(offsetof(E, arg1), e.arg1);
  flush_interrupt(function, ring);
  ring.coalescing.count = static_cast<uint16_t>(e.arg0);
  ring.coalescing.cycles = static_cast<uint32_t>(e.arg1);
  return kOk;
}

void request_interrupt(Function& function, CompletionRing& ring) {
  Coalescing& c = ring.coalescing;
  if (c.count > 1) {
    if (c.pending == 0) {
      c.deadline = hal::now() + c.cycles;
      function.interrupts_held++;
    }
    if (++c.pending < c.count) return;
    c.pending = 0;
    function.interrupts_held--;
  }
  hal::raise_interrupt(ring.function, completion_vector(ring.id));
}

void flush_interrupt(Function& function, CompletionRing& ring) {
  if (ring.coalescing.pending == 0) return;
  ring.coalescing.pending = 0;
  function.interrupts_held--;
  hal::raise_interrupt(ring.function, completion_vector(ring.id));
}

void coalesce_service(State& state) {
  for (uint32_t f = 0; f < state.function_count; f++) {
    Function& function = state.functions[f];
    if (function.interrupts_held == 0) continue;
    const uint64_t now = hal::now();
    for (CompletionRing& ring : function.rings) {
      if (ring.coalescing.pending != 0 && ring.coalescing.deadline <= now) flush_interrupt(function, ring);
    }
  }
}

uint64_t coalesce_wake_cycle(const State& state) {
  uint64_t first = UINT64_MAX;
  for (uint32_t f = 0; f < state.function_count; f++) {
    if (state.functions[f].interrupts_held == 0) continue;
    for (const CompletionRing& ring : state.functions[f].rings) {
      if (ring.coalescing.pending != 0 && ring.coalescing.deadline < first) first = ring.coalescing.deadline;
    }
  }
  return first;
}

}  // namespace weft::fw
