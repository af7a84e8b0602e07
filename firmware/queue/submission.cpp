// Submission entries come from the host: nothing in them is believed before it is checked.
#include "firmware/queue/submission.hpp"

#include "firmware/admin/faults.hpp"
#include "firmware/hal.hpp"
#include "firmware/queue/completion.hpp"
#include "firmware/queue/ring.hpp"
#include "firmware/state.hpp"

namespace weft::fw {
namespace {

using E = weft_submission_entry;

enum : uint8_t {
  kArg0 = 1,
  kArg1 = 2,
  kSize = 4,
  kBuilt = 8,
  kProfile = 16,
  kAdmin = 32,
  kWaits = 64,
  kSignals = 128,
};

/// An opcode that has a name, and which fields it uses. The others must be zero. kWaits, kSignals: it names a
/// semaphore, as all I/O opcodes may.
struct Rule {
  uint8_t opcode;
  uint8_t uses;
};

constexpr Rule kRules[] = {
    {WEFT_QUEUE_OPCODE_LAUNCH, kBuilt | kArg0 | kArg1 | kSize | kProfile},
    {WEFT_QUEUE_OPCODE_COPY, kBuilt | kArg0 | kArg1 | kSize},
    {WEFT_QUEUE_OPCODE_FILL, kBuilt | kArg0 | kArg1 | kSize},
    {WEFT_QUEUE_OPCODE_SIGNAL, kBuilt | kSignals},
    {WEFT_QUEUE_OPCODE_WAIT, kBuilt | kWaits},
    {WEFT_QUEUE_OPCODE_FENCE, kBuilt},
    {WEFT_QUEUE_OPCODE_TIMESTAMP, kBuilt},
    {WEFT_QUEUE_OPCODE_NOP, kBuilt},
    {WEFT_QUEUE_OPCODE_COLLECTIVE, 0},
    {WEFT_ADMIN_OPCODE_CREATE_QUEUE, kAdmin | kBuilt | kArg0 | kArg1 | kSize},
    {WEFT_ADMIN_OPCODE_DELETE_QUEUE, kAdmin | kBuilt | kSize},
    {WEFT_ADMIN_OPCODE_LOAD_PROGRAM, kAdmin | kBuilt | kArg0 | kSize},
    {WEFT_ADMIN_OPCODE_UNLOAD_PROGRAM, kAdmin | kBuilt | kArg0},
    {WEFT_ADMIN_OPCODE_ABORT, kAdmin | kBuilt | kArg0 | kArg1 | kSize},
    {WEFT_ADMIN_OPCODE_GET_LOG, kAdmin | kBuilt | kArg0 | kSize},
    {WEFT_ADMIN_OPCODE_SET_LOG_LEVEL, kAdmin | kBuilt | kSize},
    {WEFT_ADMIN_OPCODE_DUMP_STATE, kAdmin | kBuilt | kArg0 | kSize},
    {WEFT_ADMIN_OPCODE_CREATE_TIMELINE, kAdmin | kBuilt | kArg0 | kArg1 | kSize},
    {WEFT_ADMIN_OPCODE_DELETE_TIMELINE, kAdmin | kBuilt | kSize},
    {WEFT_ADMIN_OPCODE_SIGNAL_TIMELINE, kAdmin | kBuilt | kArg0 | kArg1 | kSize},
    {WEFT_ADMIN_OPCODE_SET_COALESCING, kAdmin | kBuilt | kArg0 | kArg1 | kSize},
    {WEFT_ADMIN_OPCODE_RESET_QUEUE, kAdmin | kBuilt | kArg0 | kSize},
    {WEFT_ADMIN_OPCODE_RESET_ENGINE, kAdmin | kBuilt | kArg0 | kSize},
    {WEFT_ADMIN_OPCODE_SET_TIMEOUT, kAdmin | kBuilt | kSize},
    {WEFT_ADMIN_OPCODE_ASYNC_EVENT, kAdmin | kBuilt},
    {WEFT_ADMIN_OPCODE_BIND_CONTEXT, kAdmin},
    {WEFT_ADMIN_OPCODE_RELEASE_CONTEXT, kAdmin},
};

const Rule* find_rule(uint8_t opcode, bool admin) {
  for (const Rule& rule : kRules) {
    if (rule.opcode == opcode && ((rule.uses & kAdmin) != 0) == admin) return &rule;
  }
  return nullptr;
}

constexpr Status bad(uint64_t offset, uint64_t value) { return refused(WEFT_ERROR_BAD_DESCRIPTOR, offset, value); }

}  // namespace

void accept_doorbell(State& state, Queue& queue) {
  state.waypoint = Waypoint::kDoorbell;
  if (queue.state != QueueState::kActive) return;
  const uint32_t tail = hal::doorbell_submission(queue.function, queue.id);
  if (!ring::tail_valid(queue.head, queue.tail, tail, queue.entries)) {
    halt_queue(state, queue, Status{WEFT_ERROR_BAD_DOORBELL, tail, queue.head});
    return;
  }
  queue.tail = tail;
  owner(state, queue).pending |= 1u << queue.id;
}

bool has_entry(const Queue& queue) {
  return queue.state == QueueState::kActive && (queue.batch_next != queue.batch_count || queue.head != queue.tail);
}

bool fetch_entry(State& state, Queue& queue) {
  if (queue.state != QueueState::kActive) return false;
  if (queue.batch_next != queue.batch_count) return true;
  const uint32_t count = ring::contiguous(queue.head, queue.tail, queue.entries, state.batch_entries);
  if (count == 0) return false;
  state.waypoint = Waypoint::kFetch;
  queue.doorbell_cycle = hal::doorbell_cycle(queue.function, queue.id);
  const uint64_t address = queue.submission_iova + uint64_t{ring::slot(queue.head, queue.entries)} * sizeof(E);
  const uint32_t bytes = count * static_cast<uint32_t>(sizeof(E));
  if (!hal::dma_read(host_at(queue.function, address), batch_of(state, queue), bytes)) {
    halt_queue(state, queue, Status{WEFT_ERROR_DMA_FAULT, address, bytes});
    return false;
  }
  queue.fetched_cycle = hal::now();
  queue.head += count;
  queue.batch_next = 0;
  queue.batch_count = static_cast<uint8_t>(count);
  refresh_completion_head(state,
                          queue);  // once a batch and always, so that cycles do not depend on how full the ring is
  return queue.state == QueueState::kActive;
}

Status check_entry(const E& e, bool admin, uint32_t lap) {
  const uint32_t crc = hal::crc32c(&e, offsetof(E, crc32c)) ^ lap;
  if (e.crc32c != crc) return bad(offsetof(E, crc32c), e.crc32c);
  const Rule* rule = find_rule(e.opcode, admin);
  if (rule == nullptr) return bad(offsetof(E, opcode), e.opcode);
  if ((rule->uses & kBuilt) == 0) return refused(WEFT_ERROR_UNSUPPORTED, offsetof(E, opcode), e.opcode);
  const uint32_t flags = WEFT_SUBMISSION_FLAG_FENCE_BEFORE | WEFT_SUBMISSION_FLAG_INTERRUPT |
                         (admin ? 0u : uint32_t{WEFT_SUBMISSION_FLAG_CHAIN}) |
                         ((rule->uses & kProfile) != 0 ? uint32_t{WEFT_SUBMISSION_FLAG_PROFILE} : 0u);
  if ((e.flags & ~flags) != 0) return bad(offsetof(E, flags), e.flags);
  if (e.context != 0) return bad(offsetof(E, context), e.context);
  const bool waits = (rule->uses & kWaits) != 0, signals = (rule->uses & kSignals) != 0;
  if (admin ? e.wait_id != 0 : waits && e.wait_id == 0) return bad(offsetof(E, wait_id), e.wait_id);
  if (admin ? e.signal_id != 0 : signals && e.signal_id == 0) return bad(offsetof(E, signal_id), e.signal_id);
  if (e.reserved != 0) return bad(offsetof(E, reserved), e.reserved);
  if ((rule->uses & kArg0) == 0 && e.arg0 != 0) return bad(offsetof(E, arg0), e.arg0);
  if ((rule->uses & kArg1) == 0 && e.arg1 != 0) return bad(offsetof(E, arg1), e.arg1);
  if ((rule->uses & kSize) == 0 && e.size != 0) return bad(offsetof(E, size), e.size);
  if (e.wait_id == 0 && e.wait_value != 0) return bad(offsetof(E, wait_value), e.wait_value);
  if (e.signal_id == 0 && e.signal_value != 0) return bad(offsetof(E, signal_value), e.signal_value);
  hal::charge(WEFT_MANAGER_SRAM_WORD * sizeof(E) / 4);
  return kOk;
}

}  // namespace weft::fw
