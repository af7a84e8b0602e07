/// Completion entries: room in the ring, the entry itself with its phase, the interrupt.
#pragma once
#include <stdint.h>

#include "firmware/queue/queue.hpp"

namespace weft::fw {

struct State;

/// How a command ended. Cycles are device cycles; LOAD_PROGRAM puts its program id into `start_cycle`.
struct Completion {
  weft_error error;
  bool more_information;  ///< a fault record was written
  uint64_t start_cycle;
  uint64_t end_cycle;
  RootCause root{};  ///< DEPENDENCY_FAILED: the command that failed first
};

/// True if one more completion fits into the ring that the queue feeds. Asks the doorbell only when the ring looks
/// full, or at `refresh_completion_head`.
bool completion_room(State& state, Queue& queue);

/// Takes over the head that the host wrote. A head that went backwards or past the tail halts all queues of the ring
/// with BAD_DOORBELL.
void refresh_completion_head(State& state, Queue& queue);

/// Writes the entry (last 8 bytes last, so the phase lands last), counts progress, raises the vector if the entry asks.
/// A bus error halts all queues of the ring with DMA_FAULT. The caller has checked for room. After a panic nothing is
/// written: the panic is then how every command ends.
void complete(State& state, Queue& queue, const weft_submission_entry& entry, const Completion& completion);

}  // namespace weft::fw
