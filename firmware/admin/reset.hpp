/// RESET_QUEUE and RESET_ENGINE: the firmware's part of a reset below the whole device. The order and the rest of the
/// steps (interrupts, completions that are left, rings) are the host's, see driver/reset.hpp.
#pragma once
#include <stdint.h>

#include "firmware/status.hpp"

namespace weft::fw {

struct State;
struct Function;

/// Device cycles that one step may take; a core that does not leave its reset within them is a panic.
inline constexpr uint64_t kResetStepCycles = 200'000;

/// Takes no more entries, ends what the queue has on an engine, drops what is fetched or in the ring, deletes the
/// queue. The command on the engine completes: with its fault if the core has stopped for one, DEVICE_HUNG if nothing
/// has retired for the watchdog's limit (or the copy's piece is overdue), else ABORTED_BY_RESET. Other queues do not
/// notice. INVALID_ARGUMENT: no such queue (the admin queue goes with the device). INVALID_STATE {offset, queue_state}.
/// DMA_FAULT: the record cannot be written; the reset is done all the same.
Status reset_queue(State& state, Function& function, const weft_submission_entry& entry);

/// Ends the command on an engine, in the same way, and leaves the engine as after boot. Its queue goes on with the next
/// entry; queues that had nothing there do not notice. BUSY: the engine works for another function.
Status reset_engine(State& state, Function& function, const weft_submission_entry& entry);

}  // namespace weft::fw
