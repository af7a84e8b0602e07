/// Telling the host what went wrong: fault records, the sticky error registers, refused entries, halted queues.
#pragma once
#include <stdint.h>

#include "firmware/queue/queue.hpp"
#include "firmware/status.hpp"

namespace weft::fw {

struct Function;
struct State;

/// A function's ring of fault records in host memory. All zero: none.
struct FaultLog {
  uint64_t iova;     ///< 0: none
  uint64_t written;  ///< records so far
  uint32_t lost;     ///< records that could not be written
  bool off;          ///< a bus error has switched it off
};

/// Numbers the record and writes it, number last. False: no ring, or a bus error (which switches the ring off, and is
/// news).
bool write_fault_record(Function& function, weft_fault_record& record);

/// FIRST_ERROR (sticky until the host clears it) and PENDING_ERRORS of a function, and the news of it.
void note_error(Function& function, weft_error error);

/// Completes an entry that was not started, with its fault record.
void refuse_entry(State& state, Queue& queue, const weft_submission_entry& entry, Status status);

/// Takes nothing more from the queue until DELETE_QUEUE. First what it has on an engine is stopped, so that nothing of
/// the queue touches memory any more when the host hears of it; then record, FIRST_ERROR, its vector and vector 0. No
/// entry of it completes any more, the one in flight included, which fails the semaphore that it should have raised.
void halt_queue(State& state, Queue& queue, Status why);

}  // namespace weft::fw
