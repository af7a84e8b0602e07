/// One pair of rings of a function: a submission ring that the host fills and a completion ring that the firmware
/// fills.
#pragma once
#include <stdint.h>

#include "firmware/queue/chain.hpp"
#include "firmware/queue/coalesce.hpp"
#include "weft/spec/spec.h"

namespace weft::fw {

inline constexpr uint32_t kAdminQueue = 0;
inline constexpr uint32_t kQueues = WEFT_LIMIT_IO_QUEUES + 1;  ///< the admin queue included
inline constexpr uint32_t kBatchEntries = 16;                  ///< submission entries fetched by one read

enum class QueueState : uint8_t { kFree = 0, kActive, kHalted, kQuiescing };

/// All zero: no queue. Indices run freely. `completion_head` is what the host is known to have consumed.
struct Queue {
  QueueState state;
  bool in_flight;       ///< a launch or a copy of this queue runs: later entries wait for it
  bool head_checked;    ///< batch[batch_next] has passed its checks and waits for an engine
  bool waits;           ///< batch[batch_next] waits for a timeline semaphore
  bool abort_all;       ///< every entry before index `abort_before` is cancelled
  bool stale_doorbell;  ///< the completion doorbell still holds what a former queue of this id left
  uint8_t priority;     ///< queue_priority
  uint8_t credit;       ///< entries left of its turn while a launch streams
  uint32_t function;
  uint32_t id;
  uint32_t entries;
  uint32_t completion_entries;
  uint64_t submission_iova;
  uint64_t completion_iova;
  uint32_t head;  ///< first entry not yet fetched
  uint32_t tail;  ///< last good doorbell
  uint32_t completion_head;
  uint32_t completion_tail;
  uint32_t stale_completion_head;
  uint64_t doorbell_cycle;  ///< of the batch
  uint64_t fetched_cycle;   ///< of the batch
  uint32_t ticket;          ///< since when batch[batch_next] waits for an engine, in order of tickets; 0: it does not
  uint64_t wait_deadline;   ///< end of that wait's budget; UINT64_MAX: none
  uint32_t abort_before;
  uint64_t share[2];  ///< of the copy engine [0] and the core [1], in strides since the firmware was idle
  Coalescing coalescing;
  Chain chain;
  uint32_t batch_next;
  uint32_t batch_count;
  weft_submission_entry batch[kBatchEntries];
};

/// Free-running index of the first entry that was not taken, which is batch[batch_next] once it is fetched.
constexpr uint32_t next_index(const Queue& queue) { return queue.head - (queue.batch_count - queue.batch_next); }

/// MSI-X vector of a queue's completion ring: 0 for the admin queue, 1 + i for completion ring i (queue id i + 1).
constexpr uint32_t completion_vector(uint32_t queue) { return queue; }

}  // namespace weft::fw
