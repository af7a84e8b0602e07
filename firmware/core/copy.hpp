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
  bool engine_lost;  ///< it did not stop when it was told to: the firmware has panicked
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

/// Neither a job nor the clearing of HBM uses the engine.
bool copy_engine_idle(const State& state);

/// The engine works for this queue.
bool copy_of(const State& state, const Queue& queue);

/// Ends the job that the engine has, at once and without a completion: no byte moves afterwards.
void copy_drop(State& state);

/// Stops the engine, whoever uses it. An engine that does not stop is lost, and a panic: what it would still write
/// cannot be known.
void stop_copy_engine(State& state);

/// Checks the addresses and starts. Not ok: nothing started; the caller refuses the entry.
Status copy_begin(State& state, Queue& queue, const weft_submission_entry& entry);

/// Takes the engine's result, starts the next piece or completes the job. A piece that is overdue is stopped before the
/// job completes with DEVICE_HUNG.
void copy_service(State& state);

/// Aborts the engine: no byte moves afterwards. The job completes. Returns how: DEVICE_HUNG if its piece is overdue,
/// else ABORTED_BY_RESET.
weft_error copy_reset(State& state);

/// The same for a job that the host has cancelled: it completes with CANCELLED.
void copy_cancel(State& state);

/// Device cycle at which copy_service() wants to run without an event; UINT64_MAX: no job.
uint64_t copy_wake_cycle(const State& state);

}  // namespace weft::fw
