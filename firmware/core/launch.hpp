/// LAUNCH: argument list, segment table, start, service while the core works, end.
#pragma once
#include <stdint.h>

#include "firmware/queue/queue.hpp"
#include "firmware/status.hpp"

namespace weft::fw {

struct State;

/// The launch that owns the core. One at a time.
struct Launch {
  bool active;
  bool control;  ///< its kernel has a control list: State::control
  uint32_t function;
  uint32_t queue;
  weft_submission_entry entry;
  uint32_t program_id;
  uint32_t kernel_index;
  uint32_t segments;  ///< bit i: segment i is mapped
  uint64_t profile_iova;
  weft_launch_profile profile;
  uint32_t queue_total[WEFT_CORE_QUEUES];  ///< commands of its kernel, if that has no control list
  uint64_t deadline_cycle;                 ///< end of the budget; UINT64_MAX: none
  uint64_t poll_cycle;                     ///< next look at the core without an interrupt
};

/// Cycles between two looks at the core without an interrupt: a lost interrupt costs this much.
inline constexpr uint64_t kPollCycles = 50000;
/// The core's own watchdog counts no progress. If the core neither retires nor faults for so long beyond its limit, the
/// watchdog is dead.
inline constexpr uint64_t kBackstopCycles = UINT64_C(256) * WEFT_CORE_WATCHDOG_DEFAULT_CYCLES;

/// Checks the entry, its program and its arguments, maps segments and starts the core: each of its
/// queues reads its commands from HBM by itself. A
/// kernel without commands completes within the call. Not ok: nothing runs and nothing is mapped; the caller refuses
/// the entry.
Status launch_begin(State& state, Queue& queue, const weft_submission_entry& entry);

/// The core works for this queue.
bool launch_of(const State& state, const Queue& queue);

/// Ends the launch that runs without a completion: the core is reset and reaches no memory afterwards.
void launch_drop(State& state);

/// Serves the core: faults, budget, end. The launch may be over afterwards.
void launch_service(State& state);

/// Ends the launch that runs and resets the core; it completes. Returns how: with its fault if the core has stopped for
/// one; DEVICE_HUNG if nothing has retired for the watchdog's limit; else ABORTED_BY_RESET.
weft_error launch_reset(State& state);

/// Ends the active launch with CANCELLED. The core is clean afterwards.
void launch_cancel(State& state);

/// Of a chip that several functions share: while another one waits for the core, the launch has at most
/// WEFT_CORE_MAX_HOLD_KCYCLES left, and ends with BUDGET_EXCEEDED then.
void launch_limit_hold(State& state);

/// What core queue `queue` has of the kernel that runs, or of that one of its blocks whose command is the next to retire
/// from the queue.
struct QueueProgress {
  uint32_t first;  ///< of a block: its first command among the program's
  uint32_t total;
  uint32_t retired;
  uint32_t beyond;  ///< commands of the block behind it

  /// Its commands that have come into the queue, when `left` of the fetches' have not.
  constexpr uint32_t pushed(uint32_t left) const { return left > beyond ? total - (left - beyond) : total; }
};
QueueProgress launch_progress(const State& state, uint32_t queue);

/// Device cycle at which launch_service() wants to run without an interrupt; UINT64_MAX: no launch.
uint64_t launch_wake_cycle(const State& state);

}  // namespace weft::fw
