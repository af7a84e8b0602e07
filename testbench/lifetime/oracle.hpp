/// Which outcomes weft.h allows. Written from its text alone: each rule quotes the sentence that it stands for. A rule
/// takes what was known before the call (Before) and what is known after it.
#pragma once
#include "testbench/lifetime/calls.hpp"
#include "testbench/lifetime/objects.hpp"

namespace weft::lifetime {

/// What was known of a device before a call.
struct Before {
  explicit Before(const Device& device)
      : closed(device.closed), resets_ok(device.resets_ok), reset_mark(device.reset.mark()) {}
  bool closed;
  uint32_t resets_ok;
  uint32_t reset_mark;
};

/// Whether an object goes with a reset of its device: queues, programs, semaphores and command buffers do.
enum class WithReset { kStays, kGoes };

/// Outcomes of a call on `object`; `normal`: those that the call has on a device that is open and stays so.
Statuses allowed(const Before& before, const Child& object, WithReset with_reset, Statuses normal);
/// Of a call on the device itself, whose handle no thread gives back meanwhile.
Statuses allowed(const Before& before, const Device& device, Statuses normal);
/// Of a submission to `queue`, whose resets had the mark `queue_reset`, of a command that uses `also` (a semaphore,
/// program or recording; may be null).
Statuses allowed_submission(const Before& before, const Queue& queue, uint32_t queue_reset, const Child* also);

/// Ends of a command, with what is known now that it has ended.
Statuses allowed_ends(const Event& event);

/// Whether weft_event_wait with `options`, which took so long, may have returned TIMEOUT_WAIT.
bool may_time_out(const Event& event, const weft_wait_options& options, int64_t took_ms);
/// The same of a wait for what the host will signal (`stalls`), or for what cannot stall.
bool may_time_out(bool stalls, const weft_wait_options& options, int64_t took_ms);

}  // namespace weft::lifetime
