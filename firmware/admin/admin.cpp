// Admin commands. All are short and complete at once.
#include "firmware/admin/admin.hpp"

#include "firmware/admin/reset.hpp"
#include "firmware/admin/state_dump.hpp"
#include "firmware/hal.hpp"
#include "firmware/memory_map.hpp"
#include "firmware/queue/arbiter.hpp"
#include "firmware/queue/ring.hpp"
#include "firmware/queue/submission.hpp"
#include "firmware/state.hpp"

namespace weft::fw {
namespace {

using E = weft_submission_entry;

constexpr uint64_t kRingAlignment = 64;

constexpr Status invalid(uint64_t offset, uint64_t value) {
  return refused(WEFT_ERROR_INVALID_ARGUMENT, offset, value);
}

Status create_queue(Function& function, const E& e) {
  const uint32_t entries = static_cast<uint32_t>(e.size) & 0xffff;
  const uint32_t completion_entries = static_cast<uint32_t>(e.size >> 16) & 0xffff;
  const uint32_t id = static_cast<uint32_t>(e.size >> 32) & 0xffff;
  const uint32_t priority = static_cast<uint32_t>(e.size >> 48) & 0xff;
  const uint32_t shared = static_cast<uint32_t>(e.size >> 56);
  if (!priority_valid(priority)) return invalid(offsetof(E, size), e.size);
  if (id == kAdminQueue || id >= kQueues || shared >= kQueues) return invalid(offsetof(E, size), e.size);
  if (!ring::size_valid(entries)) return invalid(offsetof(E, size), e.size);
  if (!ring_memory_valid(e.arg0, entries, sizeof(E))) return invalid(offsetof(E, arg0), e.arg0);
  if (shared == 0) {
    if (!ring::size_valid(completion_entries) || completion_entries < entries)
      return invalid(offsetof(E, size), e.size);
    if (!ring_memory_valid(e.arg1, completion_entries, sizeof(weft_completion_entry)))
      return invalid(offsetof(E, arg1), e.arg1);
  } else {
    if (completion_entries != 0) return invalid(offsetof(E, size), e.size);
    if (e.arg1 != 0) return invalid(offsetof(E, arg1), e.arg1);
  }
  const uint32_t ring = shared != 0 ? shared : id;
  const bool ring_exists = function.rings[ring].queues != 0;
  if (function.queues[id].state != QueueState::kFree || ring_exists != (shared != 0))
    return refused(WEFT_ERROR_INVALID_STATE, offsetof(E, size), e.size);
  if (shared == 0) {
    open_completion_ring(function, id, e.arg1, completion_entries);
  } else if (entries + function.rings[ring].fed_entries > function.rings[ring].entries) {
    return invalid(offsetof(E, size), e.size);
  }
  open_queue(function, id, e.arg0, entries, ring);
  function.queues[id].priority = static_cast<uint8_t>(priority);
  log_event(function, LogLevel::kInfo, WEFT_LOG_EVENT_QUEUE_CREATED, id, entries);
  return kOk;
}

Status delete_queue(Function& function, const E& e) {
  if (e.size == kAdminQueue || e.size >= kQueues) return invalid(offsetof(E, size), e.size);
  Queue& queue = function.queues[e.size];
  if (queue.state == QueueState::kFree) return refused(WEFT_ERROR_INVALID_STATE, offsetof(E, size), e.size);
  if (queue.in_flight || has_entry(queue)) return refused(WEFT_ERROR_BUSY, offsetof(E, size), e.size);
  close_queue(function, queue);
  log_event(function, LogLevel::kInfo, WEFT_LOG_EVENT_QUEUE_DELETED, e.size);
  return kOk;
}

Status set_log_level(Function& function, const E& e) {
  if (e.size > static_cast<uint64_t>(LogLevel::kDebug)) return invalid(offsetof(E, size), e.size);
  function.log.level = static_cast<LogLevel>(e.size);
  return kOk;
}

}  // namespace

bool ring_memory_valid(uint64_t iova, uint32_t entries, uint32_t entry_bytes) {
  return iova % kRingAlignment == 0 && host_range_valid(iova, uint64_t{entries} * entry_bytes);
}

void open_queue(Function& function, uint32_t id, uint64_t submission_iova, uint32_t entries, uint32_t completion_ring) {
  Queue& queue = function.queues[id];
  __builtin_memset(&queue, 0, sizeof queue);
  queue.function = static_cast<uint8_t>(function.index);
  queue.id = static_cast<uint8_t>(id);
  queue.state = QueueState::kActive;
  queue.entries = static_cast<uint16_t>(entries);
  queue.order = static_cast<uint8_t>(ring::order(entries));
  queue.submission_iova = submission_iova;
  join_completion_ring(function, queue, completion_ring);
}

void close_queue(Function& function, Queue& queue) {
  leave_completion_ring(function, queue);
  queue.state = QueueState::kFree;
  queue.waits = false;
  forget_aborts(function, queue.id);
}

Status run_admin(State& state, Function& function, const E& e, uint64_t* result) {
  state.waypoint = Waypoint::kAdmin;
  *result = 0;
  switch (static_cast<weft_admin_opcode>(e.opcode)) {
    case WEFT_ADMIN_OPCODE_CREATE_QUEUE:
      return create_queue(function, e);
    case WEFT_ADMIN_OPCODE_DELETE_QUEUE:
      return delete_queue(function, e);
    case WEFT_ADMIN_OPCODE_LOAD_PROGRAM: {
      uint32_t id = 0;
      const Status status = load_program(state, function, e.arg0, e.size, &id);
      *result = id;
      return status;
    }
    case WEFT_ADMIN_OPCODE_UNLOAD_PROGRAM:
      return unload_program(state, function, e.arg0);
    case WEFT_ADMIN_OPCODE_SET_LOG_LEVEL:
      return set_log_level(function, e);
    case WEFT_ADMIN_OPCODE_SET_TIMEOUT:
      function.watchdog_cycles = e.size != 0 ? e.size : WEFT_CORE_WATCHDOG_DEFAULT_CYCLES;
      return kOk;
    case WEFT_ADMIN_OPCODE_DUMP_STATE:
      return dump_state(state, function, e);
    case WEFT_ADMIN_OPCODE_ABORT:
      return abort_command(state, function, e, result);
    case WEFT_ADMIN_OPCODE_CREATE_TIMELINE:
      return create_timeline(function, e);
    case WEFT_ADMIN_OPCODE_DELETE_TIMELINE:
      return delete_timeline(state, function, e);
    case WEFT_ADMIN_OPCODE_SIGNAL_TIMELINE:
      return signal_timeline(function, e);
    case WEFT_ADMIN_OPCODE_SET_COALESCING:
      return set_coalescing(function, e);
    case WEFT_ADMIN_OPCODE_RESET_QUEUE:
      return reset_queue(state, function, e);
    case WEFT_ADMIN_OPCODE_RESET_ENGINE:
      return reset_engine(state, function, e);
    case WEFT_ADMIN_OPCODE_GET_LOG:
      return get_log(state, function, e);
    case WEFT_ADMIN_OPCODE_ASYNC_EVENT:
      return listen(function.events, e);
    case WEFT_ADMIN_OPCODE_BIND_CONTEXT:
    case WEFT_ADMIN_OPCODE_RELEASE_CONTEXT:
      break;
  }
  return refused(WEFT_ERROR_UNSUPPORTED, offsetof(E, opcode), e.opcode);
}

}  // namespace weft::fw
