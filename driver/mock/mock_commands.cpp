// The mock's firmware side: rings, commands, completions, fault records.
#include <algorithm>
#include <cstring>

#include "base/crc32c.hpp"
#include "driver/mock/transport_mock.hpp"
#include "driver/queue/ring.hpp"

namespace weft::driver {
namespace {

using E = weft_submission_entry;

constexpr uint64_t kCyclesPerCommand = 100;

/// The command as the root of a failure, as in fault records.
uint64_t root_of(uint32_t queue, const E& entry) {
  return uint64_t{entry.command_id} | uint64_t{queue} << 16 | uint64_t{entry.tag} << 32;
}

}  // namespace

void MockTransport::doorbell(uint32_t queue, uint32_t tail) {
  MockQueue& q = queues_[queue];
  if (!q.active) return;
  while (q.head != tail) {
    const std::byte* place = host(q.submission_iova + uint64_t{q.head & (q.entries - 1)} * sizeof(E), sizeof(E));
    if (place == nullptr || tail - q.head > q.entries) {
      write_fault(queue, 0, {WEFT_ERROR_BAD_DOORBELL, tail, q.head, 0});
      q.active = false;
      return raise(queue);
    }
    E entry;
    std::memcpy(&entry, place, sizeof entry);
    // From here on its place in the ring does not matter: what is before it may be cancelled.
    const uint32_t seal = submission_seal(entry, 0);
    entry.crc32c = entry.crc32c == submission_seal(entry, ring_lap(q.head, q.entries)) ? seal : ~seal;
    q.pending.push_back(entry);
    q.head++;
  }
  if (!faults_.paused || queue == 0) run_pending(~0u);
}

/// Admin commands always run, the others unless paused.
void MockTransport::run_pending(uint32_t limit, uint32_t queue) {
  do {
    signalled_ = false;
    for (uint32_t id = 0; id < queues_.size(); id++) {
      if (queue == kAllQueues || id == queue) run_queue(id, limit);
    }
  } while (signalled_ && limit == ~0u);
}

void MockTransport::run_queue(uint32_t id, uint32_t limit) {
  MockQueue& q = queues_[id];
  for (uint32_t done = 0;
       q.active && !q.pending.empty() && rings_[q.ring].tail - rings_[q.ring].head < rings_[q.ring].entries; done++) {
    if (id == 0 && faults_.silent) break;
    if (id != 0 && (done >= limit || (faults_.paused && limit == ~0u))) break;
    const E entry = q.pending.front();
    if (waits(entry)) break;
    q.pending.pop_front();
    if (id == 0 && entry.opcode == WEFT_ADMIN_OPCODE_ASYNC_EVENT) {
      listen(entry);
      continue;
    }
    end(id, entry, run_entry(id, entry));
  }
  MockRing& ring = rings_[q.ring];
  if (ring.coalesced != 0) raise(q.ring);  // nothing more happens now, so the timer fires
  ring.coalesced = 0;
}

MockTransport::Outcome MockTransport::run_entry(uint32_t queue, const E& entry) {
  MockQueue& q = queues_[queue];
  cycle_ += kCyclesPerCommand;
  Outcome outcome{WEFT_ERROR_OK, 0, 0, cycle_ - kCyclesPerCommand};
  if (submission_seal(entry, 0) != entry.crc32c)
    return {WEFT_ERROR_BAD_DESCRIPTOR, offsetof(E, crc32c), entry.crc32c, 0};
  if (const auto timeline = timelines_.find(entry.wait_id);
      timeline != timelines_.end() && timeline->second.now.value < entry.wait_value)
    return {WEFT_ERROR_DEPENDENCY_FAILED, timeline->second.now.root, timeline->second.now.error, 0};
  if (q.broken_detail1 != 0) return {WEFT_ERROR_DEPENDENCY_FAILED, q.broken_detail0, q.broken_detail1, 0};
  if (queue != 0 && faults_.fail_next != 0) return {std::exchange(faults_.fail_next, 0), 0, 0, 0};
  const Outcome executed = queue == 0 ? execute_admin(entry) : execute(entry);
  if (executed.error != WEFT_ERROR_OK || executed.start != 0) outcome = executed;
  return outcome;
}

/// The end of the entry whose turn it was: what it means for the chain, and the rest.
void MockTransport::end(uint32_t queue, const E& entry, const Outcome& outcome) {
  MockQueue& q = queues_[queue];
  if ((entry.flags & WEFT_SUBMISSION_FLAG_CHAIN) == 0) {
    q.broken_detail0 = q.broken_detail1 = 0;
  } else if (outcome.error != WEFT_ERROR_OK && q.broken_detail1 == 0) {
    q.broken_detail0 = root_of(queue, entry);
    q.broken_detail1 = outcome.error;
  }
  finish(queue, entry, outcome);
}

/// Completion, interrupt, and what the end means for a semaphore.
void MockTransport::finish(uint32_t queue, const E& entry, Outcome outcome) {
  MockQueue& q = queues_[queue];
  signal(queue, entry, outcome);
  complete(queue, entry.command_id, entry.tag, outcome);
  if (faults_.duplicate_completions && queue != 0) complete(queue, entry.command_id, entry.tag, outcome);
  if ((entry.flags & WEFT_SUBMISSION_FLAG_INTERRUPT) == 0) return;
  MockRing& ring = rings_[q.ring];
  if (++ring.coalesced < ring.coalesce_count) return;
  ring.coalesced = 0;
  raise(q.ring);
}

/// What is in flight in a paused mock counts as running: it ends at once.
MockTransport::Outcome MockTransport::abort(const E& entry) {
  if (entry.arg0 == 0) {
    stop_listening(static_cast<uint16_t>(entry.arg1), entry.arg1 == 0x10000);
    return {};
  }
  if (entry.arg0 >= queues_.size() || !queues_[entry.arg0].active)
    return {WEFT_ERROR_INVALID_STATE, offsetof(E, arg0), entry.arg0, 0};
  MockQueue& q = queues_[entry.arg0];
  const bool all = entry.arg1 == 0x10000;
  for (size_t i = 0; i < q.pending.size();) {
    if (all || q.pending[i].command_id == entry.arg1) {
      cancel_entry(static_cast<uint32_t>(entry.arg0), i);
    } else {
      i++;
    }
  }
  return {};
}

/// Takes the entry out of its turn, and the links of its chain that are behind it; what is before it does not notice.
void MockTransport::cancel_entry(uint32_t queue, size_t index) {
  MockQueue& q = queues_[queue];
  const auto place = q.pending.begin() + static_cast<std::ptrdiff_t>(index);
  auto last = place;
  while ((last->flags & WEFT_SUBMISSION_FLAG_CHAIN) != 0 && last + 1 != q.pending.end()) ++last;
  const std::vector<E> links(place, last + 1);
  q.pending.erase(place, last + 1);
  if (index == 0 && (links.back().flags & WEFT_SUBMISSION_FLAG_CHAIN) == 0) q.broken_detail0 = q.broken_detail1 = 0;
  finish(queue, links.front(), {WEFT_ERROR_CANCELLED, 0, 0, 0});
  for (size_t i = 1; i < links.size(); i++)
    finish(queue, links[i], {WEFT_ERROR_DEPENDENCY_FAILED, root_of(queue, links[0]), WEFT_ERROR_CANCELLED, 0});
}

MockTransport::Outcome MockTransport::execute(const E& entry) {
  switch (entry.opcode) {
    case WEFT_QUEUE_OPCODE_NOP:
    case WEFT_QUEUE_OPCODE_FENCE:
    case WEFT_QUEUE_OPCODE_TIMESTAMP:
    case WEFT_QUEUE_OPCODE_WAIT:
    case WEFT_QUEUE_OPCODE_SIGNAL:
      return {};
    case WEFT_QUEUE_OPCODE_COPY: {
      const std::byte* source = memory(entry.arg0, entry.size);
      std::byte* destination = memory(entry.arg1, entry.size);
      if (source == nullptr || destination == nullptr) return {WEFT_ERROR_DMA_FAULT, entry.arg0, entry.size, 0};
      std::memmove(destination, source, entry.size);
      return {};
    }
    case WEFT_QUEUE_OPCODE_FILL: {
      std::byte* destination = memory(entry.arg1, entry.size);
      if (destination == nullptr) return {WEFT_ERROR_DMA_FAULT, entry.arg1, entry.size, 0};
      const auto pattern = static_cast<uint32_t>(entry.arg0);
      for (uint64_t i = 0; i < entry.size; i += sizeof pattern) std::memcpy(destination + i, &pattern, sizeof pattern);
      return {};
    }
    case WEFT_QUEUE_OPCODE_LAUNCH:
      return execute_launch(entry);
    default:
      return {WEFT_ERROR_BAD_DESCRIPTOR, offsetof(E, opcode), entry.opcode, 0};
  }
}

/// Checks what the firmware checks of an argument list, and writes the profile.
MockTransport::Outcome MockTransport::execute_launch(const E& entry) {
  const auto program = programs_.find(entry.arg0);
  if (program == programs_.end()) return {WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, arg0), entry.arg0, 0};
  if (entry.size >= program->second.size()) return {WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, size), entry.size, 0};
  const weft_program_kernel& kernel = program->second[entry.size];
  const uint32_t count = kernel.argument_count + (kernel.scratch_bytes != 0 ? 1 : 0);
  const uint64_t bytes = sizeof(weft_launch_list) + count * sizeof(weft_launch_argument);
  const std::byte* list = host(entry.arg1, bytes);
  if (list == nullptr) return {WEFT_ERROR_DMA_FAULT, entry.arg1, bytes, 0};
  weft_launch_list header;
  std::memcpy(&header, list, sizeof header);
  if (header.count != count) return {WEFT_ERROR_INVALID_ARGUMENT, 0, header.count, 0};
  const uint32_t seal = std::exchange(header.crc32c, 0);
  if (crc32c(list + sizeof header, bytes - sizeof header, crc32c(&header, sizeof header)) != seal)
    return {WEFT_ERROR_BAD_DESCRIPTOR, offsetof(weft_launch_list, crc32c), seal, 0};
  for (uint32_t i = 0; i < count; i++) {
    weft_launch_argument a;
    std::memcpy(&a, list + sizeof header + i * sizeof a, sizeof a);
    const std::byte* memory =
        a.space == WEFT_ADDRESS_SPACE_HBM ? hbm(a.address, a.size_bytes) : host(a.address, a.size_bytes);
    if (memory == nullptr || a.address % 16 != 0 || a.size_bytes % 16 != 0)
      return {WEFT_ERROR_INVALID_ARGUMENT, sizeof header + i * sizeof a, a.address, 0};
  }
  if ((entry.flags & WEFT_SUBMISSION_FLAG_PROFILE) != 0) {
    std::byte* place = host(entry.arg1 + bytes, sizeof(weft_launch_profile));
    if (place == nullptr) return {WEFT_ERROR_DMA_FAULT, entry.arg1 + bytes, sizeof(weft_launch_profile), 0};
    const weft_launch_profile profile{cycle_ - 5, cycle_ - 4, cycle_ - 3, cycle_ - 2, cycle_ - 1, cycle_, 0, 0};
    std::memcpy(place, &profile, sizeof profile);
  }
  return {};
}

MockTransport::Outcome MockTransport::load_program(const E& entry) {
  const std::byte* image = hbm(entry.arg0, entry.size);
  if (image == nullptr) return {WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, arg0), entry.arg0, 0};
  weft_program_header header;
  std::memcpy(&header, image, sizeof header);
  if (header.magic != WEFT_MAGIC || header.image_bytes != entry.size)
    return {WEFT_ERROR_EXECUTABLE_INVALID, 0, header.magic, 0};
  if (header.chip_fingerprint != chip_.fingerprint)
    return {WEFT_ERROR_EXECUTABLE_INVALID, offsetof(weft_program_header, chip_fingerprint), header.chip_fingerprint, 0};
  std::vector<weft_program_kernel> kernels(header.kernel_count);
  std::memcpy(kernels.data(), image + sizeof header, kernels.size() * sizeof kernels[0]);
  const uint64_t id = next_program_++;
  programs_[id] = std::move(kernels);
  return {WEFT_ERROR_OK, 0, 0, id};
}

void MockTransport::open_queue(uint32_t id, uint64_t submission_iova, uint32_t entries, uint32_t ring) {
  queues_[id] = {};
  queues_[id].active = true;
  queues_[id].submission_iova = submission_iova;
  queues_[id].entries = entries;
  queues_[id].ring = ring;
  rings_[ring].queues++;
  rings_[ring].fed_entries += entries;
}

/// A halted queue counts too. The ring goes with its last queue.
void MockTransport::close_queue(uint32_t id) {
  MockQueue& q = queues_[id];
  if (q.entries == 0) return;
  MockRing& ring = rings_[q.ring];
  ring.fed_entries -= q.entries;
  if (--ring.queues == 0) ring = {};
  q = {};
}

MockTransport::Outcome MockTransport::create_queue(const E& entry) {
  const auto entries = static_cast<uint32_t>(entry.size & 0xffff);
  const auto completion_entries = static_cast<uint32_t>(entry.size >> 16 & 0xffff);
  const auto id = static_cast<uint32_t>(entry.size >> 32 & 0xffff);
  const auto shared = static_cast<uint32_t>(entry.size >> 56);
  const Outcome refused{WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, size), entry.size, 0};
  if (id == 0 || id >= queues_.size() || queues_[id].entries != 0 || shared >= rings_.size()) return refused;
  MockRing& ring = rings_[shared != 0 ? shared : id];
  if ((ring.queues != 0) != (shared != 0)) return {WEFT_ERROR_INVALID_STATE, offsetof(E, size), entry.size, 0};
  if (shared == 0) ring = {entry.arg1, completion_entries};
  if (entries > ring.entries - ring.fed_entries) return refused;
  open_queue(id, entry.arg0, entries, shared != 0 ? shared : id);
  return {};
}

MockTransport::Outcome MockTransport::execute_admin(const E& entry) {
  switch (entry.opcode) {
    case WEFT_ADMIN_OPCODE_CREATE_QUEUE:
      return create_queue(entry);
    case WEFT_ADMIN_OPCODE_DELETE_QUEUE:
      if (!queues_.at(entry.size).pending.empty()) return {WEFT_ERROR_BUSY, offsetof(E, size), entry.size, 0};
      close_queue(static_cast<uint32_t>(entry.size));
      return {};
    case WEFT_ADMIN_OPCODE_LOAD_PROGRAM:
      return load_program(entry);
    case WEFT_ADMIN_OPCODE_UNLOAD_PROGRAM:
      if (programs_.erase(entry.arg0) == 0) return {WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, arg0), entry.arg0, 0};
      return {};
    case WEFT_ADMIN_OPCODE_DUMP_STATE:
      return dump_state(entry);
    case WEFT_ADMIN_OPCODE_RESET_QUEUE:
      return reset_queue(entry);
    case WEFT_ADMIN_OPCODE_RESET_ENGINE:
      return reset_engine(entry);
    case WEFT_ADMIN_OPCODE_CREATE_TIMELINE:
    case WEFT_ADMIN_OPCODE_DELETE_TIMELINE:
    case WEFT_ADMIN_OPCODE_SIGNAL_TIMELINE:
      return execute_timeline(entry);
    case WEFT_ADMIN_OPCODE_SET_COALESCING:
      rings_[queues_.at(entry.size).ring].coalesce_count = entry.arg0;
      return {};
    case WEFT_ADMIN_OPCODE_ABORT:
      return abort(entry);
    case WEFT_ADMIN_OPCODE_GET_LOG:
      return get_log(entry);
    case WEFT_ADMIN_OPCODE_SET_LOG_LEVEL:
    case WEFT_ADMIN_OPCODE_SET_TIMEOUT:
      return {};
    default:
      return {WEFT_ERROR_UNSUPPORTED, offsetof(E, opcode), entry.opcode, 0};
  }
}

void MockTransport::complete(uint32_t queue, uint16_t command_id, uint32_t tag, const Outcome& outcome) {
  weft_completion_entry entry{};
  entry.start_cycle = outcome.start;
  entry.end_cycle = cycle_;
  entry.tag = tag;
  entry.queue_head = queues_[queue].head;
  entry.command_id = command_id;
  entry.queue_id = static_cast<uint16_t>(queue);
  const bool more = outcome.error != WEFT_ERROR_OK && write_fault(queue, command_id, outcome);
  entry.status = WEFT_STATUS(0, outcome.error == WEFT_ERROR_OK ? WEFT_ERROR_CLASS_OK : WEFT_ERROR_CLASS_FIRMWARE,
                             outcome.error, 0, more);
  if (outcome.error != WEFT_ERROR_OK) {
    error_log_.failed++;
    if (outcome.error < error_entries_.size())
      error_entries_[outcome.error] = {
          error_entries_[outcome.error].count + 1, cycle_, tag, command_id, entry.queue_id, 0};
  }
  write_completion(queue, entry);
  progress_++;
}

void MockTransport::write_completion(uint32_t queue, weft_completion_entry entry) {
  MockRing& ring = rings_[queues_[queue].ring];
  const uint32_t index = ring.tail++;
  const uint32_t phase = (index & ring.entries) == 0 ? 1 : 0;
  entry.status = (entry.status & ~1u) | (faults_.wrong_phase && queue != 0 ? 1 - phase : phase);
  entry.status = WEFT_STATUS_WITH_CHECK(entry.status, 0);
  entry.status = WEFT_STATUS_WITH_CHECK(entry.status, crc32c(&entry, sizeof entry));
  std::byte* place = host(ring.iova + uint64_t{index & (ring.entries - 1)} * sizeof entry, sizeof entry);
  if (place == nullptr) return;
  constexpr size_t kLastWord = offsetof(weft_completion_entry, command_id);
  std::memcpy(place, &entry, kLastWord);
  uint64_t last = 0;
  std::memcpy(&last, reinterpret_cast<const char*>(&entry) + kLastWord, sizeof last);
  // Release: pairs with the acquire load in CompletionRing::peek.
  __atomic_store_n(reinterpret_cast<uint64_t*>(place + kLastWord), last, __ATOMIC_RELEASE);
}

bool MockTransport::write_fault(uint32_t queue, uint16_t command_id, const Outcome& outcome) {
  std::byte* place = host(fault_iova_ + fault_records_ % WEFT_LIMIT_FAULT_ENTRIES * sizeof(weft_fault_record),
                          sizeof(weft_fault_record));
  if (place == nullptr) return false;
  weft_fault_record record{};
  record.command_id = command_id;
  record.queue_id = static_cast<uint16_t>(queue);
  record.error = outcome.error;
  record.fault_cycle = cycle_;
  record.detail0 = outcome.detail0;
  record.detail1 = outcome.detail1;
  if (outcome.error == WEFT_ERROR_COMPUTE_FAULT) {
    record.fault_code = WEFT_FAULT_ILLEGAL_FIELD;
    record.fault_unit = WEFT_UNIT_MXU;
    record.fault_queue = WEFT_QUEUE_MXU;
    record.fault_tag = 7;
    record.fault_address = 36;
  }
  std::memcpy(place + sizeof(uint64_t), reinterpret_cast<const char*>(&record) + sizeof(uint64_t),
              sizeof record - sizeof(uint64_t));
  // Release: pairs with the acquire load in FaultLog.
  __atomic_store_n(reinterpret_cast<uint64_t*>(place), ++fault_records_, __ATOMIC_RELEASE);
  return true;
}

void MockTransport::log(weft_log_event event, uint64_t arg0, uint64_t arg1) {
  std::byte* place =
      host(log_iova_ + log_records_ % WEFT_LIMIT_LOG_ENTRIES * sizeof(weft_log_record), sizeof(weft_log_record));
  if (place == nullptr) return;
  const weft_log_record record{cycle_, static_cast<uint16_t>(event), 2, ++log_records_, arg0, arg1};
  std::memcpy(place, &record, sizeof record);
}

}  // namespace weft::driver
