// The copy engine's job.
#include "firmware/core/copy.hpp"

#include "firmware/admin/faults.hpp"
#include "firmware/errors.hpp"
#include "firmware/hal.hpp"
#include "firmware/queue/completion.hpp"
#include "firmware/state.hpp"

namespace weft::fw {
namespace {

using E = weft_submission_entry;

constexpr uint32_t kRunning = 0;
constexpr uint32_t kDone = 1;
constexpr uint64_t kPatternBytes = 4;

/// Hands the next piece to the engine. False: the engine did not take it.
bool start_piece(CopyJob& job) {
  job.piece_bytes = job.remaining_bytes < kCopyPieceBytes ? job.remaining_bytes : kCopyPieceBytes;
  job.piece_cycle = hal::now() + kCopyPieceCycles;
  return hal::copy_start(job.source, job.destination, job.piece_bytes);
}

void advance(CopyJob& job) {
  if (!job.fill) job.source.address += job.piece_bytes;
  job.destination.address += job.piece_bytes;
  job.remaining_bytes -= job.piece_bytes;
}

void end_job(State& state, weft_error error) {
  CopyJob& job = state.copy;
  Function& function = state.functions[job.function];
  Queue& queue = function.queues[job.queue];
  job.active = false;
  queue.in_flight = false;
  bool more = false;
  const uint64_t now = hal::now();
  if (error != WEFT_ERROR_OK) {
    weft_fault_record record{};
    record.command_id = job.entry.command_id;
    record.queue_id = static_cast<uint16_t>(job.queue);
    record.error = error;
    record.fault_address = address_of(function, job.destination);
    record.fault_cycle = now;
    record.detail0 = address_of(function, job.source);
    record.detail1 = job.remaining_bytes;
    more = write_fault_record(function, record);
    if (error_beyond_command(error) || error_class(error) == WEFT_ERROR_CLASS_UNIT) note_error(function, error);
  }
  complete(state, queue, job.entry, Completion{error, more, job.start_cycle, now});
}

Status check_ranges(const Function& function, const E& entry, const CopyJob& job) {
  if (job.fill) {
    if (entry.arg0 > UINT32_MAX) return refused(WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, arg0), entry.arg0);
    if (entry.arg1 % kPatternBytes != 0) return refused(WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, arg1), entry.arg1);
    if (entry.size % kPatternBytes != 0) return refused(WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, size), entry.size);
  } else if (!range_valid(function, job.source, 0)) {
    return refused(WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, arg0), entry.arg0);
  }
  if (!range_valid(function, job.destination, 0))
    return refused(WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, arg1), entry.arg1);
  if (entry.size == 0 || !range_valid(function, job.destination, entry.size) ||
      (!job.fill && !range_valid(function, job.source, entry.size))) {
    return refused(WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, size), entry.size);
  }
  if (!job.fill && job.source.space == WEFT_ADDRESS_SPACE_HOST && job.destination.space == WEFT_ADDRESS_SPACE_HOST) {
    return refused(WEFT_ERROR_UNSUPPORTED, offsetof(E, arg1), entry.arg1);
  }
  return kOk;
}

}  // namespace

bool copy_engine_idle(const State& state) { return !state.copy.active && !state.hbm_scrub.running; }

bool copy_of(const State& state, const Queue& queue) {
  return state.copy.active && state.copy.function == queue.function && state.copy.queue == queue.id;
}

void stop_copy_engine(State& state) {
  if (hal::copy_abort()) return;
  state.copy.engine_lost = true;
  panic(state, static_cast<uint64_t>(Waypoint::kCopy));
}

void copy_drop(State& state) {
  state.waypoint = Waypoint::kCopy;
  stop_copy_engine(state);
  state.copy.active = false;
}

Status copy_begin(State& state, Queue& queue, const E& entry) {
  state.waypoint = Waypoint::kCopy;
  Function& function = owner(state, queue);
  CopyJob job{};
  job.fill = entry.opcode == WEFT_QUEUE_OPCODE_FILL;
  job.function = queue.function;
  job.queue = queue.id;
  job.entry = entry;
  job.source = job.fill ? Location{WEFT_ADDRESS_SPACE_NONE, 0, entry.arg0} : locate(function, entry.arg0);
  job.destination = locate(function, entry.arg1);
  job.remaining_bytes = entry.size;
  const Status status = check_ranges(function, entry, job);
  if (!status.ok()) return status;
  job.start_cycle = hal::now();
  job.deadline_cycle = entry.budget_kcycles == 0 ? UINT64_MAX : job.start_cycle + entry.budget_kcycles * UINT64_C(1000);
  if (!start_piece(job)) return Status{WEFT_ERROR_DEVICE_HUNG, 0, kCopyPieceCycles};
  if (job.destination.space == WEFT_ADDRESS_SPACE_HBM) note_written(function, job.destination.address + entry.size);
  job.active = true;
  queue.in_flight = true;
  state.copy = job;
  return kOk;
}

void copy_service(State& state) {
  CopyJob& job = state.copy;
  if (!job.active) return;
  state.waypoint = Waypoint::kCopy;
  const uint32_t result = hal::copy_result();
  if (result == kRunning) {
    if (hal::now() < job.piece_cycle) return;
    stop_copy_engine(state);  // before the completion: nothing may write into the caller's buffers after it
    return end_job(state, WEFT_ERROR_DEVICE_HUNG);
  }
  if (result != kDone) return end_job(state, WEFT_ERROR_DMA_FAULT);
  advance(job);
  if (job.remaining_bytes == 0) return end_job(state, WEFT_ERROR_OK);
  if (hal::now() >= job.deadline_cycle) return end_job(state, WEFT_ERROR_BUDGET_EXCEEDED);
  if (!start_piece(job)) end_job(state, WEFT_ERROR_DEVICE_HUNG);
}

weft_error copy_reset(State& state) {
  const weft_error error = hal::now() >= state.copy.piece_cycle ? WEFT_ERROR_DEVICE_HUNG : WEFT_ERROR_ABORTED_BY_RESET;
  stop_copy_engine(state);
  end_job(state, error);
  return error;
}

void copy_cancel(State& state) {
  stop_copy_engine(state);
  end_job(state, WEFT_ERROR_CANCELLED);
}

uint64_t copy_wake_cycle(const State& state) { return state.copy.active ? state.copy.piece_cycle : UINT64_MAX; }

}  // namespace weft::fw
