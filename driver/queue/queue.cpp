// Submission and completion of one queue.
#include "driver/queue/queue.hpp"

#include <algorithm>
#include <cstring>

#include "driver/queue/crc32c.hpp"
#include "driver/transport/registers.hpp"
#include "weft/spec/names.hpp"

namespace weft::driver {
namespace {

/// Header, every argument and the scratch, profile; a slot's list is as large as the largest.
constexpr uint64_t kListBytes = 1024;
static_assert(sizeof(weft_launch_list) + (WEFT_LIMIT_ARGUMENTS + 1) * sizeof(weft_launch_argument) +
                  sizeof(weft_launch_profile) <=
              kListBytes);

constexpr uint64_t list_bytes(size_t arguments) {
  return sizeof(weft_launch_list) + arguments * sizeof(weft_launch_argument);
}

}  // namespace

CompletionCounts& CompletionCounts::operator+=(const CompletionCounts& other) {
  submitted += other.submitted;
  completed += other.completed;
  duplicate += other.duplicate;
  late += other.late;
  unknown += other.unknown;
  bad += other.bad;
  return *this;
}

Result<std::shared_ptr<Queue>> Queue::create(std::shared_ptr<Transport> transport, std::shared_ptr<IovaSpace> space,
                                             std::shared_ptr<const FaultLog> faults, uint32_t id, uint32_t entries,
                                             uint32_t completion_entries, bool with_lists) {
  if (!ring_size_valid(entries) || !ring_size_valid(completion_entries) || completion_entries < entries) {
    return failure(WEFT_ERROR_INVALID_ARGUMENT,
                   "rings of {} and {} entries: powers of two from {} to {}, the second at least the first", entries,
                   completion_entries, WEFT_LIMIT_RING_ENTRIES_MIN, WEFT_LIMIT_RING_ENTRIES_MAX);
  }
  const uint64_t completion_offset = uint64_t{entries} * sizeof(weft_submission_entry);
  const uint64_t lists_offset = completion_offset + uint64_t{completion_entries} * sizeof(weft_completion_entry);
  auto memory = HostMemory::create(transport, std::move(space), lists_offset + (with_lists ? entries * kListBytes : 0));
  if (!memory.ok()) return memory.status();
  return std::shared_ptr<Queue>(new Queue(std::move(transport), std::move(faults), std::move(memory.value()), id,
                                          entries, completion_entries, completion_offset, lists_offset));
}

Queue::Queue(std::shared_ptr<Transport> transport, std::shared_ptr<const FaultLog> faults,
             std::unique_ptr<HostMemory> memory, uint32_t id, uint32_t entries, uint32_t completion_entries,
             uint64_t completion_offset, uint64_t lists_offset)
    : transport_(std::move(transport)),
      faults_(std::move(faults)),
      memory_(std::move(memory)),
      id_(id),
      completion_offset_(completion_offset),
      lists_offset_(lists_offset),
      // Unacknowledged plus in flight stays within the completion ring: the device never has to wait for room.
      acknowledge_limit_(completion_entries > entries ? completion_entries - entries : 1),
      submission_(memory_->data(), entries),
      completion_(memory_->data() + completion_offset, completion_entries),
      ids_(entries),
      profile_offset_(entries, 0) {}

uint64_t Queue::write_list(uint32_t slot, const Command& command) {
  std::byte* list = memory_->data() + lists_offset_ + slot * kListBytes;
  const weft_launch_list header{static_cast<uint32_t>(command.arguments.size()), 0, 0};
  std::memcpy(list, &header, sizeof header);
  if (!command.arguments.empty())
    std::memcpy(list + sizeof header, command.arguments.data(), command.arguments.size_bytes());
  profile_offset_[slot] = 0;
  if ((command.flags & WEFT_SUBMISSION_FLAG_PROFILE) != 0) {
    profile_offset_[slot] = lists_offset_ + slot * kListBytes + list_bytes(command.arguments.size());
    std::memset(memory_->data() + profile_offset_[slot], 0, sizeof(weft_launch_profile));
  }
  return memory_->iova() + lists_offset_ + slot * kListBytes;
}

std::optional<weft_launch_profile> Queue::read_profile(uint32_t slot) const {
  if (profile_offset_[slot] == 0) return std::nullopt;
  weft_launch_profile profile;
  std::memcpy(&profile, memory_->data() + profile_offset_[slot], sizeof profile);
  return profile;
}

/// Writes one entry; the ring has room. Returns the new tail.
uint32_t Queue::push(const Submission& submission, uint16_t id) {
  const Command& command = submission.command;
  weft_submission_entry entry{};
  entry.opcode = command.opcode;
  entry.flags = static_cast<uint8_t>(command.flags | (command.interrupt ? WEFT_SUBMISSION_FLAG_INTERRUPT : 0));
  entry.command_id = id;
  entry.budget_kcycles = command.budget_kcycles;
  entry.arg0 = command.arg0;
  entry.arg1 = command.arg1;
  entry.size = command.size;
  entry.wait_id = command.wait_id;
  entry.signal_id = command.signal_id;
  entry.wait_value = command.wait_value;
  entry.signal_value = command.signal_value;
  entry.tag = command.tag;
  const uint32_t slot = ids_.slot_of(id);
  profile_offset_[slot] = 0;
  if (command.opcode == WEFT_QUEUE_OPCODE_LAUNCH) entry.arg1 = write_list(slot, command);
  entry.crc32c = crc32c(&entry, offsetof(weft_submission_entry, crc32c));
  submission.event->set_place(id, submission_.tail());
  return submission_.push(entry);
}

Status Queue::submit(std::span<const Submission> submissions) {
  const auto count = static_cast<uint32_t>(submissions.size());
  const std::lock_guard lock(mutex_);
  if (!takes_commands(state_)) return refusal_locked();
  if (count > submission_.entries()) {
    return failure(WEFT_ERROR_INVALID_ARGUMENT, "a batch of {} commands for queue {}, which has {} entries", count, id_,
                   submission_.entries());
  }
  // Every entry in the ring holds an id, and an id may outlive its entry: ids run out first.
  const uint32_t room = std::min(submission_.entries() - submission_.used(), ids_.free());
  if (count > room) {
    return failure(WEFT_ERROR_QUEUE_FULL, "queue {} is full: head {}, tail {}, size {}, {} commands in flight, {} more",
                   id_, submission_.head(), submission_.tail(), submission_.entries(), ids_.in_use(), count);
  }
  uint32_t tail = submission_.tail();
  for (const Submission& s : submissions) tail = push(s, *ids_.acquire(s.event));
  counts_.submitted += count;
  submission_.publish();
  return ring_submission_doorbell(*transport_, id_, tail);
}

void Queue::take(const weft_completion_entry& entry, std::vector<Finished>& finished) {
  if (!submission_.advance_head(entry.queue_head) || entry.queue_id != id_) counts_.bad++;
  switch (ids_.match(entry.command_id)) {
    case IdMatch::kOutstanding:
      break;
    case IdMatch::kDuplicate:
      counts_.duplicate++;
      return;
    case IdMatch::kLate:
      counts_.late++;
      return;
    case IdMatch::kUnknown:
      counts_.unknown++;
      return;
  }
  const auto profile = read_profile(ids_.slot_of(entry.command_id));
  std::shared_ptr<Event> event = ids_.release(entry.command_id);
  if (profile) event->set_profile(*profile);
  counts_.completed++;
  Ending ending{{}, entry.start_cycle, entry.end_cycle};
  if (WEFT_STATUS_CODE(entry.status) != WEFT_ERROR_OK || WEFT_STATUS_CLASS(entry.status) != WEFT_ERROR_CLASS_OK) {
    const auto record = WEFT_STATUS_MORE(entry.status) != 0
                            ? faults_->find(static_cast<uint16_t>(id_), entry.command_id)
                            : std::nullopt;
    ending.status = describe_failure(entry, event->opcode(), record);
  }
  finished.push_back({std::move(event), std::move(ending)});
}

size_t Queue::drain(std::vector<Finished>& finished) {
  const std::lock_guard lock(mutex_);
  const size_t before = finished.size();
  for (uint32_t i = 0; i < completion_.entries(); i++) {  // bounded: a device that writes for ever does not hold us
    const auto entry = completion_.peek();
    if (!entry) break;
    completion_.pop();
    take(*entry, finished);
  }
  if (completion_.unacknowledged() >= acknowledge_limit_) {
    completion_.acknowledge();
    (void)ring_completion_doorbell(*transport_, id_, completion_.head())
        .ok();  // a lost device is noticed by its hang-up
  }
  if (finished.size() != before && ids_.in_use() == 0) happens(QueueEvent::kDrained);
  return finished.size() - before;
}

/// The mutex is held, or nobody else knows the queue. An event that cannot happen in this state changes nothing.
void Queue::happens(QueueEvent event) {
  if (const auto next = next_queue_state(state_, event)) state_ = *next;
}

void Queue::created() {
  const std::lock_guard lock(mutex_);
  happens(QueueEvent::kCreated);
}

void Queue::stop(const Status& why) {
  const std::lock_guard lock(mutex_);
  happens(QueueEvent::kStop);
  if (ids_.in_use() == 0) happens(QueueEvent::kDrained);
  if (stopped_.ok()) stopped_ = why;
}

Status Queue::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_locked();
}

Status Queue::refusal_locked() const {
  const std::string_view name = spec::queue_state_name(state_);
  if (stopped_.ok()) return failure(WEFT_ERROR_INVALID_STATE, "queue {} is {}", id_, name);
  Detail detail = stopped_.detail();
  detail.message = fmt::format("queue {} is {}: {}", id_, name, stopped_.message());
  return Status(stopped_.code(), std::move(detail));
}

void Queue::deleted() {
  const std::lock_guard lock(mutex_);
  happens(QueueEvent::kDeleted);
}

weft_queue_state Queue::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

/// The mutex is held.
Finished Queue::ended(std::shared_ptr<Event> event, const Status& why) {
  Detail detail = why.detail();
  detail.queue = id_;
  detail.command_id = event->command_id();
  detail.tag = event->tag();
  counts_.completed++;
  return {std::move(event), Ending{Status(why.code(), std::move(detail)), 0, 0}};
}

void Queue::fail(const Status& why, std::vector<Finished>& finished) {
  const std::lock_guard lock(mutex_);
  happens(QueueEvent::kFail);
  if (stopped_.ok()) stopped_ = why;
  ids_.release_all([&](std::shared_ptr<Event> event) { finished.push_back(ended(std::move(event), why)); });
}

void Queue::fail_one(uint16_t command_id, const Status& why, std::vector<Finished>& finished) {
  const std::lock_guard lock(mutex_);
  if (ids_.match(command_id) == IdMatch::kOutstanding) finished.push_back(ended(ids_.release(command_id), why));
}

void Queue::reinitialise() {
  const std::lock_guard lock(mutex_);
  std::memset(memory_->data(), 0, lists_offset_);
  submission_ = SubmissionRing(memory_->data(), submission_.entries());
  completion_ = CompletionRing(memory_->data() + completion_offset_, completion_.entries());
}

void Queue::rearm() {
  const std::lock_guard lock(mutex_);
  happens(QueueEvent::kReset);
  stopped_ = Status();
}

void Queue::outstanding(std::vector<OutstandingCommand>& out) const {
  const size_t first = out.size();
  const std::lock_guard lock(mutex_);
  ids_.for_each([&](uint64_t order, const std::shared_ptr<Event>& event) {
    OutstandingCommand command;
    command.queue = id_;
    command.command_id = event->command_id();
    command.opcode = event->opcode();
    command.tag = event->tag();
    command.sequence = order;
    out.push_back(command);
  });
  std::sort(out.begin() + static_cast<std::ptrdiff_t>(first), out.end(),
            [](const auto& a, const auto& b) { return a.sequence < b.sequence; });
}

std::shared_ptr<Event> Queue::any_in_flight() const {
  const std::lock_guard lock(mutex_);
  return ids_.any();
}

std::shared_ptr<Event> Queue::oldest_in_flight() const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Event> oldest;
  uint64_t first = UINT64_MAX;
  ids_.for_each([&](uint64_t order, const std::shared_ptr<Event>& event) {
    if (order >= first) return;
    first = order;
    oldest = event;
  });
  return oldest;
}

Queue::Snapshot Queue::snapshot() const {
  const std::lock_guard lock(mutex_);
  return {submission_.head(), submission_.tail(), ids_.in_use(), counts_};
}

}  // namespace weft::driver
