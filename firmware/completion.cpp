// Completion rings.
#include "firmware/completion.hpp"

#include "firmware/errors.hpp"
#include "firmware/faults.hpp"
#include "firmware/hal.hpp"
#include "firmware/ring.hpp"
#include "firmware/state.hpp"

namespace weft::fw {

void refresh_completion_head(State& state, Queue& queue) {
  const uint32_t head = hal::doorbell_completion(queue.function, queue.id);
  if (queue.stale_doorbell) {
    if (head == queue.stale_completion_head) return;
    queue.stale_doorbell = false;
  }
  if (!ring::head_valid(queue.completion_head, head, queue.completion_tail)) {
    halt_queue(state, queue, Status{WEFT_ERROR_BAD_DOORBELL, head, queue.completion_head});
    return;
  }
  queue.completion_head = head;
}

bool completion_room(State& state, Queue& queue) {
  if (ring::used(queue.completion_head, queue.completion_tail) < queue.completion_entries) return true;
  refresh_completion_head(state, queue);
  return queue.state == QueueState::kActive &&
         ring::used(queue.completion_head, queue.completion_tail) < queue.completion_entries;
}

void complete(State& state, Queue& queue, const weft_submission_entry& entry, const Completion& completion) {
  state.waypoint = Waypoint::kCompletion;
  weft_completion_entry out{};
  out.start_cycle = completion.start_cycle;
  out.end_cycle = completion.end_cycle;
  out.tag = entry.tag;
  out.queue_head = queue.head;
  out.command_id = entry.command_id;
  out.queue_id = static_cast<uint16_t>(queue.id);
  out.status = completion_status(completion.error, ring::phase(queue.completion_tail, queue.completion_entries),
                                 completion.more_information);
  const uint64_t address =
      queue.completion_iova + uint64_t{ring::slot(queue.completion_tail, queue.completion_entries)} * sizeof out;
  queue.completion_tail++;
  Function& function = owner(state, queue);
  function.completed++;
  hal::function_write(function.index, WEFT_REG_PROGRESS, function.completed);
  if (!hal::dma_write(host_at(queue.function, address), &out, sizeof out)) {
    halt_queue(state, queue, Status{WEFT_ERROR_DMA_FAULT, address, sizeof out});
    return;
  }
  if ((entry.flags & WEFT_SUBMISSION_FLAG_INTERRUPT) != 0)
    hal::raise_interrupt(queue.function, completion_vector(queue.id));
}

}  // namespace weft::fw
