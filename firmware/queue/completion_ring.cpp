// Completion rings and the queues that feed them.
#include "firmware/queue/completion_ring.hpp"

#include "firmware/hal.hpp"
#include "firmware/queue/ring.hpp"
#include "firmware/state.hpp"

namespace weft::fw {

void open_completion_ring(Function& function, uint32_t id, uint64_t iova, uint32_t entries) {
  CompletionRing& ring = function.rings[id];
  __builtin_memset(&ring, 0, sizeof ring);
  ring.function = static_cast<uint8_t>(function.index);
  ring.id = static_cast<uint8_t>(id);
  ring.iova = iova;
  ring.entries = static_cast<uint16_t>(entries);
  ring.doorbell = hal::doorbell_completion(function.index, id);
  ring.stale_doorbell = ring.doorbell != 0;
}

void join_completion_ring(Function& function, Queue& queue, uint32_t ring) {
  queue.completion_ring = static_cast<uint8_t>(ring);
  function.rings[ring].queues++;
  function.rings[ring].fed_entries += queue.entries;
}

void leave_completion_ring(Function& function, Queue& queue) {
  CompletionRing& ring = function.rings[queue.completion_ring];
  flush_interrupt(function, ring);
  ring.queues--;
  ring.fed_entries -= queue.entries;
}

bool completion_ring_full(const Function& function, const CompletionRing& ring) {
  uint32_t taken = ring::used(ring.head(), ring.tail);
  if (ring.queues > 1) {  // a queue alone starts nothing while it has a command in flight
    for (const Queue& queue : function.queues) {
      if (queue.state != QueueState::kFree && queue.in_flight && queue.completion_ring == ring.id) taken++;
    }
  }
  return taken >= ring.entries;
}

void halt_completion_ring(State& state, CompletionRing& ring, Status why) {
  for (Queue& queue : state.functions[ring.function].queues) {
    if (queue.state == QueueState::kActive && queue.completion_ring == ring.id) halt_queue(state, queue, why);
  }
}

}  // namespace weft::fw
