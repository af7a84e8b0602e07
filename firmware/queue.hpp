/// One pair of rings of a function: a submission ring that the host fills and a completion ring that the firmware fills.
#pragma once
#include <stdint.h>

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
  bool stale_doorbell;  ///< the completion doorbell still holds what a former queue of this id left
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
  uint32_t batch_next;
  uint32_t batch_count;
  weft_submission_entry batch[kBatchEntries];
};

/// MSI-X vector of a queue's completion ring: 0 for the admin queue, 1 + i for completion ring i (queue id i + 1).
constexpr uint32_t completion_vector(uint32_t queue) { return queue; }

}  // namespace weft::fw
