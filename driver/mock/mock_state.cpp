// The mock's state page and its resets below the device.
#include <cstring>

#include "driver/mock/transport_mock.hpp"

namespace weft::driver {
namespace {

using E = weft_submission_entry;

}  // namespace

/// A page with the queues table only, as an older firmware might write it.
MockTransport::Outcome MockTransport::dump_state(const E& entry) {
  const auto count = static_cast<uint16_t>(queues_.size());
  weft_state_header header{};
  header.magic = WEFT_LIMIT_STATE_MAGIC;
  header.version = WEFT_LIMIT_STATE_VERSION;
  header.sections = 5;
  header.bytes = static_cast<uint32_t>(sizeof header + count * sizeof(weft_state_queue));
  header.section_offset[0] = sizeof header;
  header.section_count[0] = count;
  header.section_record_bytes[0] = sizeof(weft_state_queue);
  header.cycle = cycle_;
  header.heartbeat = heartbeat_;
  header.progress = progress_;
  header.watchdog_cycles = WEFT_CORE_WATCHDOG_DEFAULT_CYCLES;
  std::byte* page = host(entry.arg0, header.bytes);
  if (page == nullptr || entry.size < header.bytes)
    return {WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, arg0), entry.arg0, 0};
  for (uint16_t id = 0; id < count; id++) {
    const MockQueue& q = queues_[id];
    weft_state_queue record{};
    record.queue = id;
    record.state = q.active ? WEFT_QUEUE_STATE_ACTIVE : WEFT_QUEUE_STATE_DELETED;
    record.entries = q.entries;
    record.completion_entries = rings_[q.ring].entries;
    record.head = record.tail = record.doorbell = q.head;
    record.completion_head = rings_[q.ring].head;
    record.completion_tail = rings_[q.ring].tail;
    record.completion_ring = q.ring;
    record.fetched = static_cast<uint32_t>(q.pending.size());
    if (!q.pending.empty()) {
      const E& oldest = q.pending.front();
      record.wait = oldest.wait_id != 0 ? WEFT_QUEUE_WAIT_SEMAPHORE : WEFT_QUEUE_WAIT_RUNNING;
      record.command_id = oldest.command_id;
      record.opcode = oldest.opcode;
      record.tag = oldest.tag;
      record.wait_id = oldest.wait_id;
      record.wait_value = oldest.wait_value;
      record.signal_id = oldest.signal_id;
      record.signal_value = oldest.signal_value;
    }
    std::memcpy(page + sizeof header + id * sizeof record, &record, sizeof record);
  }
  std::memcpy(page, &header, sizeof header);
  return {};
}

/// Ends the oldest entry in flight, which stands for the one on an engine.
void MockTransport::end_pending(uint32_t queue, weft_reset_record& record) {
  MockQueue& q = queues_[queue];
  if (q.pending.empty()) return;
  const E entry = q.pending.front();
  q.pending.pop_front();
  record.error = faults_.fail_next != 0 ? std::exchange(faults_.fail_next, 0) : uint32_t{WEFT_ERROR_ABORTED_BY_RESET};
  record.queue = static_cast<uint16_t>(queue);
  record.command_id = entry.command_id;
  record.tag = entry.tag;
  fail_signal(queue, entry, record.error);
  complete(queue, entry.command_id, entry.tag, {record.error, 0, 0, 0});
}

MockTransport::Outcome MockTransport::reset_queue(const E& entry) {
  if (entry.size == 0 || entry.size >= queues_.size())
    return {WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, size), entry.size, 0};
  MockQueue& q = queues_[entry.size];
  weft_reset_record record{};
  record.level = WEFT_RESET_LEVEL_QUEUE;
  record.target = static_cast<uint32_t>(entry.size);
  end_pending(record.target, record);
  record.dropped = static_cast<uint32_t>(q.pending.size());
  close_queue(record.target);
  std::byte* place = host(entry.arg0, sizeof record);
  if (place != nullptr) std::memcpy(place, &record, sizeof record);
  return {};
}

/// The mock's core belongs to the first queue that has something in flight and waits for no semaphore.
MockTransport::Outcome MockTransport::reset_engine(const E& entry) {
  weft_reset_record record{};
  record.level = WEFT_RESET_LEVEL_ENGINE;
  record.target = static_cast<uint32_t>(entry.size);
  for (uint32_t id = 1; id < queues_.size() && record.error == 0; id++) {
    const auto& pending = queues_[id].pending;
    if (!pending.empty() && !waits(pending.front())) end_pending(id, record);
  }
  std::byte* place = host(entry.arg0, sizeof record);
  if (place != nullptr) std::memcpy(place, &record, sizeof record);
  return {};
}

}  // namespace weft::driver
