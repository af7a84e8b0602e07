// Errors by code.
#include "firmware/admin/error_log.hpp"

#include "firmware/admin/function.hpp"
#include "firmware/hal.hpp"
#include "firmware/memory_map.hpp"
#include "firmware/state.hpp"

namespace weft::fw {
namespace {

using E = weft_submission_entry;

constexpr uint32_t kAlignment = 64;

}  // namespace

void count_error(ErrorLog& log, weft_error error, const ErrorPlace& place) {
  if (static_cast<uint32_t>(error) >= kErrorCodes) {
    log.unknown++;
    return;
  }
  if (log.count[error] != UINT32_MAX) log.count[error]++;
  log.cycle[error] = place.cycle;
  log.tag[error] = place.tag;
  log.command_id[error] = place.command_id;
  log.queue_id[error] = static_cast<uint8_t>(place.queue_id);
}

Status get_log(State& state, const Function& function, const E& e) {
  constexpr uint32_t kEntryBytes = WEFT_LIMIT_ERROR_LOG_ENTRIES * sizeof(weft_error_log_entry);
  static_assert(kEntryBytes <= sizeof state.scratch);
  constexpr uint32_t kBytes = sizeof(weft_error_log) + kEntryBytes;
  if (e.arg0 % kAlignment != 0 || !host_range_valid(e.arg0, kBytes))
    return refused(WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, arg0), e.arg0);
  if (e.size < kBytes) return refused(WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, size), e.size);
  weft_error_log log{};
  log.cycle = hal::now();
  log.completed = function.completed;
  log.failed = function.errors.failed;
  log.halted = function.errors.halted;
  log.unknown = function.errors.unknown;
  log.log_records = function.log.sequence;
  log.fault_records = static_cast<uint32_t>(function.faults.written);
  log.log_lost = function.log.lost;
  log.fault_lost = function.faults.lost;
  log.events = function.events.raised;
  log.events_waiting = function.events.waiting;
  const Location head = host_at(function.index, e.arg0);
  const Location rest = host_at(function.index, e.arg0 + sizeof log);
  __builtin_memset(state.scratch, 0, kEntryBytes);
  for (uint32_t error = 0; error < kErrorCodes; error++) {
    const weft_error_log_entry entry = error_log_entry(function.errors, error);
    __builtin_memcpy(state.scratch + error * sizeof entry, &entry, sizeof entry);
  }
  if (hal::dma_write(head, &log, sizeof log) && hal::dma_write(rest, state.scratch, kEntryBytes)) return kOk;
  return Status{WEFT_ERROR_DMA_FAULT, e.arg0, kBytes};
}

}  // namespace weft::fw
