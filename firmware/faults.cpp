// Fault records and error registers.
#include "firmware/faults.hpp"

#include "firmware/completion.hpp"
#include "firmware/errors.hpp"
#include "firmware/hal.hpp"
#include "firmware/state.hpp"

namespace weft::fw {

bool write_fault_record(State& state, weft_fault_record& record) {
  FaultLog& log = state.faults;
  if (log.iova == 0) return false;
  static_assert((WEFT_LIMIT_FAULT_ENTRIES & (WEFT_LIMIT_FAULT_ENTRIES - 1)) == 0);
  static_assert(offsetof(weft_fault_record, record_number) == 0, "the number is written apart, after the rest");
  const uint64_t address = log.iova + (log.written & (WEFT_LIMIT_FAULT_ENTRIES - 1)) * sizeof record;
  record.record_number = log.written + 1;
  constexpr uint32_t kNumberBytes = sizeof record.record_number;
  const auto* body = reinterpret_cast<const uint8_t*>(&record) + kNumberBytes;
  if (!hal::dma_write(WEFT_ADDRESS_SPACE_HOST, address + kNumberBytes, body, sizeof record - kNumberBytes) ||
      !hal::dma_write(WEFT_ADDRESS_SPACE_HOST, address, &record.record_number, kNumberBytes)) {
    log.iova = 0;
    return false;
  }
  log.written++;
  return true;
}

void note_error(weft_error error) {
  uint64_t pending = 0;
  if (hal::function_read(WEFT_REG_FIRST_ERROR) == WEFT_ERROR_OK) {
    hal::function_write(WEFT_REG_FIRST_ERROR, error);
  } else {
    pending = hal::function_read(WEFT_REG_PENDING_ERRORS);
  }
  hal::function_write(WEFT_REG_PENDING_ERRORS, pending + 1);
}

void refuse_entry(State& state, Queue& queue, const weft_submission_entry& entry, Status status) {
  weft_fault_record record{};
  record.command_id = entry.command_id;
  record.queue_id = static_cast<uint16_t>(queue.id);
  record.error = status.error;
  record.fault_cycle = hal::now();
  record.detail0 = status.detail0;
  record.detail1 = status.detail1;
  const bool more = write_fault_record(state, record);
  if (error_beyond_command(status.error) || error_class(status.error) == WEFT_ERROR_CLASS_UNIT)
    note_error(status.error);
  log_event(state, LogLevel::kWarning, WEFT_LOG_EVENT_ENTRY_REFUSED, queue.id, status.error);
  complete(state, queue, entry, Completion{status.error, more, record.fault_cycle, record.fault_cycle});
}

void halt_queue(State& state, Queue& queue, Status why) {
  if (queue.state != QueueState::kActive) return;
  queue.state = QueueState::kHalted;
  queue.head_checked = false;
  queue.ticket = 0;
  queue.batch_next = queue.batch_count;
  weft_fault_record record{};
  record.queue_id = static_cast<uint16_t>(queue.id);
  record.error = why.error;
  record.fault_cycle = hal::now();
  record.detail0 = why.detail0;
  record.detail1 = why.detail1;
  write_fault_record(state, record);
  if (why.error == WEFT_ERROR_BAD_DOORBELL) {
    log_event(state, LogLevel::kError, WEFT_LOG_EVENT_BAD_DOORBELL, queue.id, why.detail0);
  } else {
    log_event(state, LogLevel::kError, WEFT_LOG_EVENT_ENTRY_REFUSED, queue.id, why.error);
  }
  note_error(why.error);
  hal::raise_interrupt(completion_vector(queue.id));
  if (queue.id != kAdminQueue) hal::raise_interrupt(completion_vector(kAdminQueue));
}

}  // namespace weft::fw
