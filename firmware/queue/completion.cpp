// Completion rings.
#include "firmware/queue/completion.hpp"

#include "firmware/admin/faults.hpp"
#include "firmware/errors.hpp"
#include "firmware/hal.hpp"
#include "firmware/queue/ring.hpp"
#include "firmware/state.hpp"

namespace weft::fw {
namespace {

/// The record of a command that has done its work and could not raise its semaphore any more.
bool write_overtaken(State& state, const Queue& queue, const weft_submission_entry& entry, weft_error error,
                     uint64_t cycle) {
  weft_fault_record record{};
  record.command_id = entry.command_id;
  record.queue_id = static_cast<uint16_t>(queue.id);
  record.error = error;
  record.fault_cycle = cycle;
  record.detail0 = entry.signal_id;
  record.detail1 = owner(state, queue).timeline(entry.signal_id).value();
  return write_fault_record(owner(state, queue), record);
}

}  // namespace

void refresh_completion_head(State& state, Queue& queue) {
  CompletionRing& ring = owner(state, queue).rings[queue.completion_ring];
  const uint32_t head = hal::doorbell_completion(ring.function, ring.id);
  // A ring that was made anew starts from 0, and the host's last doorbell to the one before it counts for nothing.
  // Without branches: the first command of a ring takes the cycles of those after it.
  const uint32_t stale = ring.stale_doorbell ? 1 : 0;
  const uint32_t kept = stale & static_cast<uint32_t>(head == ring.doorbell);
  const uint32_t from = ring.doorbell & (stale - 1);
  if ((kept | static_cast<uint32_t>(ring::head_valid(from, head, ring.tail))) == 0) {
    halt_completion_ring(state, ring, Status{WEFT_ERROR_BAD_DOORBELL, head, from});
    return;
  }
  ring.stale_doorbell = kept != 0;
  ring.doorbell = head;
}

bool completion_room(State& state, Queue& queue) {
  const Function& function = owner(state, queue);
  const CompletionRing& ring = function.rings[queue.completion_ring];
  if (!completion_ring_full(function, ring)) return true;
  refresh_completion_head(state, queue);
  return queue.state == QueueState::kActive && !completion_ring_full(function, ring);
}

void complete(State& state, Queue& queue, const weft_submission_entry& entry, const Completion& completion) {
  if (state.panicked) return;
  state.waypoint = Waypoint::kCompletion;
  const bool dependant = completion.error == WEFT_ERROR_DEPENDENCY_FAILED;
  const RootCause self{queue.id, completion.error, entry.command_id, entry.tag};
  const RootCause& root = dependant ? completion.root : self;
  const weft_error error = timeline_end(owner(state, queue), entry, completion.error, root);
  bool more = completion.more_information;
  if (error != completion.error) more = write_overtaken(state, queue, entry, error, completion.end_cycle);
  chain_advance(queue.chain, entry, error, root);
  if (error != WEFT_ERROR_OK) {
    const ErrorPlace place{completion.end_cycle, entry.tag, entry.command_id, static_cast<uint16_t>(queue.id)};
    owner(state, queue).errors.failed++;
    count_error(owner(state, queue).errors, error, place);
  }
  weft_completion_entry out{};
  out.start_cycle = completion.start_cycle;
  out.end_cycle = completion.end_cycle;
  out.tag = entry.tag;
  out.queue_head = queue.head;
  out.command_id = entry.command_id;
  out.queue_id = static_cast<uint16_t>(queue.id);
  Function& function = owner(state, queue);
  CompletionRing& ring = function.rings[queue.completion_ring];
  out.status = completion_status(error, ring::phase(ring.tail, ring.entries), more);
  out.status = WEFT_STATUS_WITH_CHECK(out.status, hal::crc32c(&out, sizeof out));
  const uint64_t address = ring.iova + uint64_t{ring::slot(ring.tail, ring.entries)} * sizeof out;
  ring.tail++;
  function.completed++;
  hal::function_write(function.index, WEFT_REG_PROGRESS, function.completed);
  if (!hal::completion_write(queue.function, queue.id, address, &out)) {
    halt_completion_ring(state, ring, Status{WEFT_ERROR_DMA_FAULT, address, sizeof out});
    return;
  }
  if ((entry.flags & WEFT_SUBMISSION_FLAG_INTERRUPT) != 0) request_interrupt(function, ring);
}

}  // namespace weft::fw
