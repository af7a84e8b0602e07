/// Timeline semaphores: 64-bit values that only grow, between queues and host. An entry may wait for a value before it
/// starts and raise a value when it has succeeded.
#pragma once
#include <stdint.h>

#include "firmware/queue/chain.hpp"
#include "firmware/queue/queue.hpp"
#include "firmware/status.hpp"

namespace weft::fw {

struct State;
struct Function;

inline constexpr uint32_t kTimelines = WEFT_LIMIT_TIMELINES + 1;  ///< by id; 0 stands for none

/// All zero: not created.
struct Timeline {
  bool created;
  bool failed;  ///< who was to raise it has failed: the value stays, whoever waits for more fails, until it is deleted
  uint64_t value;
  uint64_t mirror_iova;  ///< weft_timeline_mirror in host memory, 0: none
  RootCause root;        ///< of the failure
};

/// Admin commands. INVALID_ARGUMENT {offset, value}; INVALID_STATE: exists already, or does not exist; BUSY: an entry
/// that waits for it is at the head of a queue.
Status create_timeline(Function& function, const weft_submission_entry& entry);
Status delete_timeline(Function& function, const weft_submission_entry& entry);
/// The host raises a value. INVALID_ARGUMENT: it would not grow. DEPENDENCY_FAILED: the semaphore has failed.
Status signal_timeline(Function& function, const weft_submission_entry& entry);

/// The semaphores that an entry names exist, and its signal can still grow. INVALID_ARGUMENT {offset, value}.
Status check_timelines(const Function& function, const weft_submission_entry& entry);

/// True: batch[batch_next], which is `entry`, has to wait. False: it may be taken; `status` says if the wait has failed
/// (DEPENDENCY_FAILED; BUDGET_EXCEEDED for a WAIT; INVALID_ARGUMENT: the semaphore is gone).
bool timeline_holds(const Function& function, Queue& queue, const weft_submission_entry& entry, Status& status);

/// Device cycle at which the budget of a wait ends; UINT64_MAX: none.
uint64_t timeline_wake_cycle(const State& state);

/// The entry ends with `error`: raises its semaphore, or fails it with `root`. Returns what it ends with in the end:
/// SEMAPHORE_FAULT, if another has raised the semaphore to that value or beyond while it ran.
weft_error timeline_end(Function& function, const weft_submission_entry& entry, weft_error error,
                        const RootCause& root);

}  // namespace weft::fw
