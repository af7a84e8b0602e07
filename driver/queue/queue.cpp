// Submission and completion of one queue.
#include "driver/queue/queue.hpp"

#include <algorithm>
#include <cstring>

#include "base/crc32c.hpp"
#include "driver/transport/registers.hpp"
#include "weft/spec/names.hpp"

namespace weft::driver {
namespace {

/// Header, every argument and the scratch, profile; a slot's list is as large as the largest.
constexpr uint64_t kListBytes = 1024;
static_assert(sizeof(weft_launch_list) + (WEFT_LIMIT_ARGUMENTS + 1) * sizeof(weft_launch_argument) +
                  sizeof(weft_launch_profile) <=
              kListBytes);

constexpr bool list_is_large(size_t arguments) { return arguments > WEFT_LIMIT_ARGUMENTS + 1; }

constexpr uint64_t list_bytes(size_t arguments) {
  return sizeof(weft_launch_list) + arguments * sizeof(weft_launch_argument);
}

/// One more fits without an allocation.
void make_room(std::vector<Finished>& finished) {
  constexpr size_t kFirst = 16;
  if (finished.size() == finished.capacity()) finished.reserve(std::max(kFirst, 2 * finished.capacity()));
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
  auto memory = HostMemory::create(transport, space, lists_offset + (with_lists ? entries * kListBytes : 0));
  if (!memory.ok()) return memory.status();
  return std::shared_ptr<Queue>(new Queue(std::move(transport), std::move(faults), std::move(memory.value()), id,
                                          entries, completion_entries, completion_offset, lists_offset, nullptr,
                                          std::move(space)));
}

Result<std::shared_ptr<Queue>> Queue::create_guest(std::shared_ptr<Transport> transport,
                                                   std::shared_ptr<IovaSpace> space,
                                                   std::shared_ptr<const FaultLog> faults, uint32_t id,
                                                   uint32_t entries, const std::shared_ptr<Queue>& host) {
  if (!ring_size_valid(entries))
    return failure(WEFT_ERROR_INVALID_ARGUMENT, "a ring of {} entries: a power of two from {} to {}", entries,
                   WEFT_LIMIT_RING_ENTRIES_MIN, WEFT_LIMIT_RING_ENTRIES_MAX);
  const uint64_t lists_offset = uint64_t{entries} * sizeof(weft_submission_entry);
  auto memory = HostMemory::create(transport, space, lists_offset + entries * kListBytes);
  if (!memory.ok()) return memory.status();
  // Made before the host is locked, so that it dies, if it must, after that: its end asks the host to forget it.
  auto queue = std::shared_ptr<Queue>(new Queue(std::move(transport), std::move(faults), std::move(memory.value()), id,
                                                entries, 0, lists_offset, lists_offset, host, std::move(space)));
  const std::lock_guard lock(host->mutex_);
  if (host->host_ != nullptr || host->state_ == WEFT_QUEUE_STATE_DELETED)
    return failure(WEFT_ERROR_INVALID_STATE, "queue {} has no completion ring to share: it {}", host->id_,
                   host->host_ != nullptr ? fmt::format("feeds that of queue {} itself", host->host_->id_)
                                          : std::string("is deleted"));
  if (entries > host->completion_.entries() - host->fed_entries_) {
    return failure(WEFT_ERROR_INVALID_ARGUMENT,
                   "the completion ring of queue {} has {} entries for queues of {} together: {} more do not fit",
                   host->id_, host->completion_.entries(), host->fed_entries_, entries);
  }
  host->guests_.push_back(queue.get());
  host->fed_entries_ += entries;
  return queue;
}

Queue::Queue(std::shared_ptr<Transport> transport, std::shared_ptr<const FaultLog> faults,
             std::unique_ptr<HostMemory> memory, uint32_t id, uint32_t entries, uint32_t completion_entries,
             uint64_t completion_offset, uint64_t lists_offset, std::shared_ptr<Queue> host,
             std::shared_ptr<IovaSpace> space)
    : transport_(std::move(transport)),
      faults_(std::move(faults)),
      memory_(std::move(memory)),
      id_(id),
      completion_offset_(completion_offset),
      lists_offset_(lists_offset),
      host_(std::move(host)),
      submission_(memory_->data(), entries),
      completion_(memory_->data() + completion_offset, completion_entries),
      ring_id_(id),
      fed_entries_(entries),
      ids_(entries),
      profiles_(entries, nullptr),
      large_lists_(transport_, std::move(space)),
      large_in_slot_(entries) {}

Queue::~Queue() { leave_host(); }

void Queue::leave_host() {
  if (host_ == nullptr) return;
  const std::lock_guard lock(host_->mutex_);
  if (std::erase(host_->guests_, this) != 0) host_->fed_entries_ -= submission_.entries();
}

bool Queue::has_guests() const {
  const std::lock_guard lock(mutex_);
  return !guests_.empty();
}

/// Of a host: it is there, or guests besides this one are.
bool Queue::feeds_beside(const Queue& guest) const {
  const std::lock_guard lock(mutex_);
  return state_ != WEFT_QUEUE_STATE_DELETED ||
         std::any_of(guests_.begin(), guests_.end(), [&](const Queue* other) { return other != &guest; });
}

uint64_t Queue::write_list(uint32_t slot, const Command& command, std::vector<LargeLists::List>& large) {
  std::byte* list = memory_->data() + lists_offset_ + slot * kListBytes;
  uint64_t iova = memory_->iova() + lists_offset_ + slot * kListBytes;
  if (list_is_large(command.arguments.size())) {
    large_in_slot_[slot] = std::move(large.back());
    large.pop_back();
    list = large_in_slot_[slot]->data();
    iova = large_in_slot_[slot]->iova();
  }
  weft_launch_list header{static_cast<uint32_t>(command.arguments.size()), 0, 0};
  header.crc32c = crc32c(command.arguments.data(), command.arguments.size_bytes(), crc32c(&header, sizeof header));
  std::memcpy(list, &header, sizeof header);
  if (!command.arguments.empty())
    std::memcpy(list + sizeof header, command.arguments.data(), command.arguments.size_bytes());
  if ((command.flags & WEFT_SUBMISSION_FLAG_PROFILE) != 0) {
    profiles_[slot] = list + list_bytes(command.arguments.size());
    std::memset(list + list_bytes(command.arguments.size()), 0, sizeof(weft_launch_profile));
  }
  return iova;
}

std::optional<weft_launch_profile> Queue::read_profile(uint32_t slot) const {
  if (profiles_[slot] == nullptr) return std::nullopt;
  weft_launch_profile profile;
  std::memcpy(&profile, profiles_[slot], sizeof profile);
  return profile;
}

/// Writes one entry; the ring has room. Returns the new tail.
uint32_t Queue::push(const Submission& submission, uint16_t id, std::vector<LargeLists::List>& large) {
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
  profiles_[slot] = nullptr;
  large_lists_.give_back(std::move(large_in_slot_[slot]));  // of a launch that did not end by a completion
  if (command.opcode == WEFT_QUEUE_OPCODE_LAUNCH) entry.arg1 = write_list(slot, command, large);
  submission.event->set_place(id, submission_.tail());
  submission.event->set_timelines({command.wait_id, command.signal_id, command.wait_value, command.signal_value});
  return submission_.push(entry);
}

Status Queue::submit(std::span<const Submission> submissions) {
  std::vector<LargeLists::List> large;
  const auto needed = static_cast<size_t>(std::count_if(
      submissions.begin(), submissions.end(), [](const auto& s) { return list_is_large(s.command.arguments.size()); }));
  if (needed == 0) return submit_with(submissions, large);
  // Before the mutex is taken: a map waits for the device's answer.
  Status status = large_lists_.acquire(needed, large);
  if (status.ok()) status = submit_with(submissions, large);
  for (LargeLists::List& list : large) large_lists_.give_back(std::move(list));
  return status;
}

/// With as many lists in `large` as the submissions need; what is left was not used.
Status Queue::submit_with(std::span<const Submission> submissions, std::vector<LargeLists::List>& large) {
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
  for (const Submission& s : submissions) tail = push(s, *ids_.acquire(s.event), large);
  counts_.submitted += count;
  submission_.publish();
  try {
    return ring_submission_doorbell(*transport_, id_, tail);
  } catch (const std::bad_alloc&) {  // it wanted to say why it could not
    return Status::without_words(WEFT_ERROR_DEVICE_LOST);
  }
}

Status Queue::words_of(const weft_completion_entry& entry, uint8_t opcode) const noexcept {
  try {
    const auto record = WEFT_STATUS_MORE(entry.status) != 0
                            ? faults_->find(static_cast<uint16_t>(id_), entry.command_id)
                            : std::nullopt;
    return describe_failure(entry, opcode, record);
  } catch (const std::bad_alloc&) {
    const uint32_t code = WEFT_STATUS_CODE(entry.status);
    const bool known = code > WEFT_ERROR_OK && code <= WEFT_ERROR_INTERNAL;
    return Status::without_words(known ? static_cast<weft_error>(code) : WEFT_ERROR_INTERNAL);
  }
}

/// The mutex is held, and `finished` has room.
void Queue::take(const weft_completion_entry& entry, std::vector<Finished>& finished) noexcept {
  if (!submission_.advance_head(entry.queue_head)) {  // torn, and its check fits by chance: heads never go back
    counts_.bad++;
    return;
  }
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
  const uint32_t slot = ids_.slot_of(entry.command_id);
  const auto profile = read_profile(slot);
  large_lists_.give_back(std::move(large_in_slot_[slot]));
  std::shared_ptr<Event> event = ids_.release(entry.command_id);
  if (profile) event->set_profile(*profile);
  counts_.completed++;
  Ending ending{{}, entry.start_cycle, entry.end_cycle};
  if (WEFT_STATUS_CODE(entry.status) != WEFT_ERROR_OK || WEFT_STATUS_CLASS(entry.status) != WEFT_ERROR_CLASS_OK)
    ending.status = words_of(entry, event->opcode());
  finished.push_back({std::move(event), std::move(ending)});
}

size_t Queue::drain(const TakenEvents::Hold&, std::vector<Finished>& finished) {
  return host_ != nullptr ? host_->drain_ring(finished) : drain_ring(finished);
}

/// Of a host: its own completions and those of its guests.
size_t Queue::drain_ring(std::vector<Finished>& finished) {
  const std::lock_guard lock(mutex_);
  const size_t before = finished.size();
  for (uint32_t i = 0; i < completion_.entries(); i++) {  // bounded: a device that writes for ever does not hold us
    const auto entry = completion_.peek();
    if (!entry) break;
    make_room(finished);  // before anything is taken
    completion_.pop();
    if (!completion_check_holds(*entry)) {
      counts_.bad++;
      continue;
    }
    if (entry->queue_id == id_) {
      take(*entry, finished);
      continue;
    }
    const auto guest =
        std::find_if(guests_.begin(), guests_.end(), [&](const Queue* q) { return q->id_ == entry->queue_id; });
    if (guest == guests_.end()) {
      counts_.bad++;
      continue;
    }
    const std::lock_guard guest_lock((*guest)->mutex_);
    (*guest)->take(*entry, finished);
    if ((*guest)->ids_.in_use() == 0) (*guest)->happens(QueueEvent::kDrained);
  }
  // Unacknowledged plus in flight stays within the ring: the device never has to wait for room.
  const uint32_t spare = completion_.entries() - fed_entries_;
  if (completion_.unacknowledged() >= std::max(spare, 1u)) {
    completion_.acknowledge();
    (void)ring_completion_doorbell(*transport_, ring_id_, completion_.head())
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

void Queue::retire(const Status& why) {
  stop(why);
  const std::lock_guard lock(mutex_);
  stopped_ = why;
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
  leave_host();
  const std::lock_guard lock(mutex_);
  happens(QueueEvent::kDeleted);
}

weft_queue_state Queue::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

/// The mutex is held.
Finished Queue::ended(std::shared_ptr<Event> event, const Status& why) noexcept {
  counts_.completed++;
  Status status = why;
  best_effort([&] {
    Detail detail = why.detail();
    detail.queue = id_;
    detail.command_id = event->command_id();
    detail.tag = event->tag();
    status = Status(why.code(), std::move(detail));
  });
  return {std::move(event), Ending{std::move(status), 0, 0}};
}

void Queue::fail(const TakenEvents::Hold&, const Status& why, std::vector<Finished>& finished) {
  const std::lock_guard lock(mutex_);
  happens(QueueEvent::kFail);
  if (stopped_.ok()) stopped_ = why;
  finished.reserve(finished.size() + ids_.in_use());
  ids_.release_all([&](std::shared_ptr<Event> event) { finished.push_back(ended(std::move(event), why)); });
}

std::optional<Finished> Queue::fail_next(const TakenEvents::Hold&, const Status& why) noexcept {
  const std::lock_guard lock(mutex_);
  happens(QueueEvent::kFail);
  if (stopped_.ok()) stopped_ = why;
  const auto event = ids_.any([](const auto&) { return true; });
  if (event == nullptr) return std::nullopt;
  return ended(ids_.release(event->command_id()), why);
}

void Queue::fail_one(const TakenEvents::Hold&, uint16_t command_id, const Status& why,
                     std::vector<Finished>& finished) {
  const std::lock_guard lock(mutex_);
  make_room(finished);
  if (ids_.match(command_id) == IdMatch::kOutstanding) finished.push_back(ended(ids_.release(command_id), why));
}

void Queue::add_owed(weft_error error, OwedSignals& owed) const {
  const std::lock_guard lock(mutex_);
  ids_.for_each([&](uint64_t order, const std::shared_ptr<Event>& event) {
    const auto& timeline = event->owed();
    const uint64_t value = event->timelines().signal_value;
    if (timeline == nullptr || timeline->failed() || timeline->value() >= value) return;
    OwedSignal signal{timeline, value, id_, event->command_id(), event->tag(), error, order};
    owed.add(signal);
  });
}

void Queue::reinitialise() {
  const bool alone = !shares_completions();
  {
    const std::lock_guard lock(mutex_);
    std::memset(memory_->data(), 0, completion_offset_);
    submission_.restart();
  }
  if (alone) (host_ != nullptr ? *host_ : *this).restart_completions(id_);
}

/// Of a host: its completion ring as new.
void Queue::restart_completions(uint32_t ring_id) {
  const std::lock_guard lock(mutex_);
  std::memset(memory_->data() + completion_offset_, 0, uint64_t{completion_.entries()} * sizeof(weft_completion_entry));
  completion_.restart();
  ring_id_ = ring_id;
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
    command.timelines = event->timelines();
    command.sequence = order;
    out.push_back(command);
  });
  std::sort(out.begin() + static_cast<std::ptrdiff_t>(first), out.end(),
            [](const auto& a, const auto& b) { return a.sequence < b.sequence; });
}

bool Queue::has_in_flight(const Event& event) const {
  const std::lock_guard lock(mutex_);
  return ids_.any([&](const std::shared_ptr<Event>& other) { return other.get() == &event; }) != nullptr;
}

std::shared_ptr<Event> Queue::any_in_flight() const {
  const std::lock_guard lock(mutex_);
  return ids_.any([](const std::shared_ptr<Event>& event) { return !event->listens(); });
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
