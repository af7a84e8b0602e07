/// A queue of a function: a submission ring that the host fills. What becomes of its entries goes to a completion ring
/// (completion_ring.hpp).
#pragma once
#include <stdint.h>

#include "firmware/queue/chain.hpp"
#include "weft/spec/spec.h"

namespace weft::fw {

inline constexpr uint32_t kAdminQueue = 0;
inline constexpr uint32_t kQueues = WEFT_LIMIT_IO_QUEUES + 1;  ///< the admin queue included
inline constexpr uint32_t kBatchEntries = 16;                  ///< submission entries fetched by one read at most

enum class QueueState : uint8_t { kFree = 0, kActive, kHalted, kQuiescing };

/// All zero: no queue. Indices run freely. The entries that it has fetched, its batch, lie in State: fetched().
struct Queue {
  QueueState state;
  bool in_flight : 1;     ///< a launch or a copy of this queue runs: later entries wait for it
  bool head_checked : 1;  ///< entry batch_next has passed its checks and waits for an engine
  bool waits : 1;         ///< entry batch_next waits for a timeline semaphore
  bool abort_all : 1;     ///< every entry before index `abort_before` is cancelled
  uint8_t priority;       ///< queue_priority
  uint8_t function;
  uint8_t id;
  uint8_t completion_ring;  ///< id of the ring that it feeds
  uint8_t batch_next;       ///< first entry of the batch that was not taken
  uint8_t batch_count;
  uint8_t order;  ///< 2^order entries
  uint16_t entries;
  Chain chain;
  uint32_t head;    ///< first entry not yet fetched
  uint32_t tail;    ///< last good doorbell
  uint32_t ticket;  ///< since when entry batch_next waits for an engine, in order of tickets; 0: it does not
  uint32_t abort_before;
  uint32_t share[2];  ///< of the copy engine [0] and the core [1], in strides since the firmware was idle
  uint64_t submission_iova;
  uint64_t doorbell_cycle;  ///< of the batch
  uint64_t fetched_cycle;   ///< of the batch
  uint64_t wait_deadline;   ///< end of the wait's budget; UINT64_MAX: none
};
static_assert(WEFT_LIMIT_RING_ENTRIES_MAX <= UINT16_MAX && WEFT_LIMIT_FUNCTIONS * kQueues <= UINT16_MAX);

/// Free-running index of the first entry that was not taken, which is entry batch_next of the batch once it is fetched.
constexpr uint32_t next_index(const Queue& queue) {
  return queue.head - uint32_t{queue.batch_count} + queue.batch_next;
}

/// MSI-X vector of a completion ring: 0 for that of the admin queue.
constexpr uint32_t completion_vector(uint32_t ring) { return ring; }

}  // namespace weft::fw
