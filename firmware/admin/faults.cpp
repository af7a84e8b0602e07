// Fault records and error registers.
#include "firmware/admin/faults.hpp"

#include "firmware/errors.hpp"
#include "firmware/hal.hpp"
#include "firmware/queue/completion.hpp"
#include "firmware/state.hpp"

namespace weft::fw {

bool write_fault_record(Function& function, weft_fault_record& record) {
  FaultLog& log = function.faults;
  if (log.off) log.lost++;
  if (log.iova == 0) return false;
  static_assert((WEFT_LIMIT_FAULT_ENTRIES & (WEFT_LIMIT_FAULT_ENTRIES - 1)) == 0);
  static_assert(offsetof(weft_fault_record, record_number) == 0, "the number is written apart, after the rest");
  const uint64_t slot = log.written & (WEFT_LIMIT_FAULT_ENTRIES - 1);
  const Location place = host_at(function.index, log.iova + slot * sizeof record);
  record.record_number = log.written + 1;
  constexpr uint32_t kNumberBytes = sizeof record.record_number;
  const auto* body = reinterpret_cast<const uint8_t*>(&record) + kNumberBytes;
  const Location rest = host_at(function.index, place.address + kNumberBytes);
  if (!hal::dma_write(rest, body, sizeof record - kNumberBytes) ||
      !hal::dma_write(place, &record.record_number, kNumberBytes)) {
    log.iova = 0;
    log.off = true;
    log.lost++;
    raise_async_event(function, WEFT_ASYNC_EVENT_LOG_OFF, kAdminQueue, WEFT_ERROR_DMA_FAULT);
    return false;
  }
  log.written++;
  return true;
}

void note_error(Function& function, weft_error error) {
  uint64_t pending = 0;
  if (hal::function_read(function.index, WEFT_REG_FIRST_ERROR) == WEFT_ERROR_OK) {
    hal::function_write(function.index, WEFT_REG_FIRST_ERROR, error);
  } else {
    pending = hal::function_read(function.index, WEFT_REG_PENDING_ERRORS);
  }
  hal::function_write(function.index, WEFT_REG_PENDING_ERRORS, pending + 1);
  raise_async_event(function, WEFT_ASYNC_EVENT_UNIT_ERROR, kAdminQueue, error);
}

void refuse_entry(State& state, Queue& queue, const weft_submission_entry& entry, Status status) {
  Function& function = owner(state, queue);
  weft_fault_record record{};
  record.command_id = entry.command_id;
  record.queue_id = static_cast<uint16_t>(queue.id);
  record.error = status.error;
  record.fault_cycle = hal::now();
  record.detail0 = status.detail0;
  record.detail1 = status.detail1;
  const bool more = write_fault_record(function, record);
  if (error_beyond_command(status.error) || error_class(status.error) == WEFT_ERROR_CLASS_UNIT)
    note_error(function, status.error);
  Completion completion{status.error, more, record.fault_cycle, record.fault_cycle};
  if (status.error == WEFT_ERROR_DEPENDENCY_FAILED) {
    completion.root = root_of(status);
  } else if (status.error != WEFT_ERROR_CANCELLED) {  // what the host asked for, and what follows from it, is no news
    log_event(function, LogLevel::kWarning, WEFT_LOG_EVENT_ENTRY_REFUSED, queue.id, status.error);
  }
  complete(state, queue, entry, completion);
}

namespace {

/// Takes the queue's command off its engine without a completion: the halt is how it ends.
void drop_in_flight(State& state, Queue& queue, weft_error why) {
  const bool launch = launch_of(state, queue);
  if (!launch && !copy_of(state, queue)) return;
  const weft_submission_entry& entry = launch ? state.launch.entry : state.copy.entry;
  launch ? launch_drop(state) : copy_drop(state);
  queue.in_flight = false;
  const RootCause root{queue.id, why, entry.command_id, entry.tag};
  (void)timeline_end(owner(state, queue), entry, why, root);
}

}  // namespace

void halt_queue(State& state, Queue& queue, Status why) {
  if (queue.state != QueueState::kActive) return;
  queue.state = QueueState::kHalted;
  drop_in_flight(state, queue, why.error);
  queue.head_checked = queue.waits = false;
  queue.ticket = 0;
  queue.batch_next = queue.batch_count;
  Function& function = owner(state, queue);
  weft_fault_record record{};
  record.queue_id = static_cast<uint16_t>(queue.id);
  record.error = why.error;
  record.fault_cycle = hal::now();
  record.detail0 = why.detail0;
  record.detail1 = why.detail1;
  write_fault_record(function, record);
  if (why.error == WEFT_ERROR_BAD_DOORBELL) {
    log_event(function, LogLevel::kError, WEFT_LOG_EVENT_BAD_DOORBELL, queue.id, why.detail0);
  } else {
    log_event(function, LogLevel::kError, WEFT_LOG_EVENT_ENTRY_REFUSED, queue.id, why.error);
  }
  function.errors.halted++;
  count_error(function.errors, why.error, {record.fault_cycle, 0, 0, record.queue_id});
  raise_async_event(function, WEFT_ASYNC_EVENT_QUEUE_HALTED, queue.id, why.error);
  note_error(function, why.error);
  hal::raise_interrupt(function.index, completion_vector(queue.completion_ring));
  if (queue.completion_ring != kAdminQueue) hal::raise_interrupt(function.index, completion_vector(kAdminQueue));
}

}  // namespace weft::fw
