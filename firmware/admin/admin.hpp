/// Commands of the admin queue: queues, programs, log level, watchdog limit.
#pragma once
#include <stdint.h>

#include "firmware/queue/queue.hpp"
#include "firmware/status.hpp"

namespace weft::fw {

struct Function;
struct State;

/// Runs a checked entry of the admin queue. `result`: what the completion's start_cycle holds (LOAD_PROGRAM: the id).
Status run_admin(State& state, Function& function, const weft_submission_entry& entry, uint64_t* result);

/// Sets up queue `id` of the function over a submission ring with all indices at zero; it feeds a ring that exists.
void open_queue(Function& function, uint32_t id, uint64_t submission_iova, uint32_t entries, uint32_t completion_ring);

/// The queue is no more; nothing of it is left in the firmware.
void close_queue(Function& function, Queue& queue);

/// Ring memory in the host that can be used: aligned, and its end does not wrap.
bool ring_memory_valid(uint64_t iova, uint32_t entries, uint32_t entry_bytes);

}  // namespace weft::fw
