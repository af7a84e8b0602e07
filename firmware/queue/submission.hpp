/// Submission rings: doorbells, fetch of entries, and the checks that every entry passes before it is looked at.
#pragma once
#include <stdint.h>

#include "firmware/queue/queue.hpp"
#include "firmware/status.hpp"

namespace weft::fw {

struct State;

/// Takes over the tail that the host wrote. A tail that went backwards or too far halts the queue with BAD_DOORBELL.
void accept_doorbell(State& state, Queue& queue);

/// The queue has an entry that was not yet taken.
bool has_entry(const Queue& queue);

/// Makes next_entry() valid, reading up to 16 entries if the batch is used up (fewer on a chip with several functions).
/// False: none, or the read failed (which halts the queue with DMA_FAULT).
bool fetch_entry(State& state, Queue& queue);

/// CRC (of an entry of this lap of its ring), opcode, flags, fields that must be zero, in this order. BAD_DESCRIPTOR
/// {byte offset, value found}; UNSUPPORTED for an opcode that has a name and is not built {0, opcode}.
Status check_entry(const weft_submission_entry& entry, bool admin, uint32_t lap);

}  // namespace weft::fw
