/// Completion rings: where the completions of one queue go, or of several.
#pragma once
#include <stdint.h>

#include "firmware/queue/coalesce.hpp"

namespace weft::fw {

struct Function;
struct Queue;
struct State;

/// All zero: no ring. Its id is that of the queue that it was made with, and so are its doorbell and its vector.
/// Indices run freely.
struct CompletionRing {
  uint8_t function;
  uint8_t id;
  uint8_t queues;       ///< that feed it; 0: no ring
  bool stale_doorbell;  ///< the doorbell still holds what a former ring of this id left
  uint16_t entries;
  uint16_t fed_entries;  ///< of the submission rings of those queues, together
  uint64_t iova;
  uint32_t doorbell;  ///< the last good one; with stale_doorbell: what the former ring left
  uint32_t tail;
  Coalescing coalescing;

  /// What the host is known to have consumed.
  constexpr uint32_t head() const { return stale_doorbell ? 0 : doorbell; }
};

/// A new ring that nobody feeds yet.
void open_completion_ring(Function& function, uint32_t id, uint64_t iova, uint32_t entries);

/// The queue feeds the ring from now on.
void join_completion_ring(Function& function, Queue& queue, uint32_t ring);

/// The queue feeds its ring no more. The ring goes with the last queue.
void leave_completion_ring(Function& function, Queue& queue);

/// The ring has no room for a completion besides those that it owes to commands in flight.
bool completion_ring_full(const Function& function, const CompletionRing& ring);

/// Halts every queue that feeds the ring.
void halt_completion_ring(State& state, CompletionRing& ring, Status why);

}  // namespace weft::fw
