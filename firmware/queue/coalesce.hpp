/// Interrupt coalescing: one interrupt for several completions of a ring, by count or by time, whichever comes first.
#pragma once
#include <stdint.h>

#include "firmware/status.hpp"

namespace weft::fw {

struct State;
struct Function;
struct CompletionRing;

/// Of one completion ring. All zero: every completion that asks for an interrupt raises its own.
struct Coalescing {
  uint16_t count;
  uint16_t pending;  ///< completions since the last interrupt
  uint32_t cycles;
  uint64_t deadline;  ///< device cycle at which they raise one; only with pending
};

/// SET_COALESCING, for the ring that a queue feeds. INVALID_ARGUMENT {offset, value}: no such queue, a count above the
/// ring's entries, or one without a time, which could hold an interrupt back for ever. INVALID_STATE: the queue is not
/// active.
Status set_coalescing(Function& function, const weft_submission_entry& entry);

/// A completion of the ring asks for an interrupt.
void request_interrupt(Function& function, CompletionRing& ring);

/// Raises what is held back for the ring.
void flush_interrupt(Function& function, CompletionRing& ring);

/// Raises what is due.
void coalesce_service(State& state);

/// Device cycle at which coalesce_service() wants to run; UINT64_MAX: nothing is held back.
uint64_t coalesce_wake_cycle(const State& state);

}  // namespace weft::fw
