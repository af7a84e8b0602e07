/// COPY and FILL between HBM and host memory, by the manager's copy engine.
#pragma once
#include <stdint.h>

#include "firmware/memory_map.hpp"
#include "firmware/queue/queue.hpp"
#include "firmware/status.hpp"

namespace weft::fw {

struct State;

/// A job goes to the engine in pieces, so that a budget ends it between two pieces and nothing is written afterwards.
inline constexpr uint64_t kCopyPieceBytes = 4u << 20;
/// A piece that takes longer has lost its engine.
inline constexpr uint64_t kCopyPieceCycles = 100'000'000;

/// The job that owns the copy engine. One at a time.
struct CopyJob {
  bool active;
  bool engine_lost;  ///< a piece did not end in time and may still be running
  bool fill;
  uint32_t function;
  uint32_t queue;
  weft_submission_entry entry;
  Location source;  ///< FILL: the pattern in `address`
  Location destination;
  uint64_t remaining_bytes;
  uint64_t piece_bytes;
  uint64_t start_cycle;
  uint64_t deadline_cycle;  ///< end of the budget; UINT64_MAX: none
  uint64_t piece_cycle;     ///< end of the piece's time
};

/// True if a new job can start. An engine that was lost is looked at again.
bool copy_free(State& state);

/// Nobody uses the engine, neither a job nor the clearing of HBM. A lost engine counts as idle.
bool copy_engine_idle(const State& state);

/// Ends the job of `function`, if it has one, at once and without a completion.
void copy_drop(State& state, uint32_t function);

/// Checks the addresses and starts. Not ok: nothing started; the caller refuses the entry.
Status copy_begin(State& state, Queue& queue, const weft_submission_entry& entry);

/// Takes the engine's result, starts the next piece or completes the job.
void copy_service(State& state);

/// Aborts the engine: no byte moves afterwards. The job completes. Returns how: DEVICE_HUNG if its piece is overdue,
/// else ABORTED_BY_RESET.
weft_error copy_reset(State& state);

/// The same for a job that the host has cancelled: it completes with CANCELLED.
void copy_cancel(State& state);

/// Device cycle at which copy_service() wants to run without an event; UINT64_MAX: no job.
uint64_t copy_wake_cycle(const State& state);

}  // namespace weft::fw
