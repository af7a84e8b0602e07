// What callers ask of a device: buffers, queues, commands, waits, registers.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "driver/device/device.hpp"
#include "driver/transport/registers.hpp"
#include "weft/spec/names.hpp"

namespace weft::driver {
namespace {

/// Device cycles that an admin command gets; the longest takes less than a hundred thousand.
constexpr uint64_t kAdminCycles = 20'000'000;
constexpr int kMemoryTries = 1000;  ///< of what must not be given up half-way, a millisecond apart

}  // namespace

Result<std::shared_ptr<Buffer>> Device::create_buffer(bool on_host, uint64_t bytes) {
  if (Status s = check(); !s.ok()) return s;
  if (bytes == 0) return failure(WEFT_ERROR_INVALID_ARGUMENT, "a buffer of 0 bytes");
  if (on_host) {
    auto memory = HostMemory::create(transport_, iova_space_, bytes);
    if (!memory.ok()) return memory.status();
    return std::make_shared<Buffer>(std::move(memory.value()), bytes);
  }
  auto range = HbmRange::allocate(hbm_, bytes);
  if (range.status().code() == WEFT_ERROR_NO_DEVICE_MEMORY) {
    collect();
    range = HbmRange::allocate(hbm_, bytes);
  }
  if (!range.ok()) return range.status();
  log_.line(LogModule::kDriverMemory, LogLevel::kDebug, {}, "{} bytes of HBM at {:#x}", bytes, range.value().address());
  return std::make_shared<Buffer>(std::move(range.value()), bytes);
}

Result<std::shared_ptr<Buffer>> Device::import_buffer(int descriptor, uint64_t offset, uint64_t bytes) {
  if (Status s = check(); !s.ok()) return s;
  auto memory = HostMemory::import(transport_, iova_space_, descriptor, offset, bytes);
  if (!memory.ok()) return memory.status();
  return std::make_shared<Buffer>(std::move(memory.value()), bytes);
}

/// A queue id in use; given back with what has become of its queue, unless it is kept.
class Device::QueueId {
 public:
  QueueId(Device& device, uint32_t id) : device_(device), id_(id) {}
  QueueId(const QueueId&) = delete;
  QueueId& operator=(const QueueId&) = delete;
  ~QueueId() {
    if (kept_) return;
    const std::unique_lock lock(device_.queues_mutex_);
    device_.remove_queue(id_);
  }
  void keep() { kept_ = true; }

 private:
  Device& device_;
  const uint32_t id_;
  bool kept_ = false;
};

Result<uint32_t> Device::reserve_queue_id() {
  const std::unique_lock lock(queues_mutex_);
  for (uint32_t id = 1; id < queue_id_used_.size(); id++) {
    if (queue_id_used_[id]) continue;
    queue_id_used_[id] = true;
    return id;
  }
  return failure(WEFT_ERROR_BUSY, "all {} queues of the device are in use", WEFT_LIMIT_IO_QUEUES);
}

Result<std::shared_ptr<Queue>> Device::create_queue(const QueueShape& shape) {
  if (shape.priority > WEFT_QUEUE_PRIORITY_HIGH)
    return failure(WEFT_ERROR_INVALID_ARGUMENT, "a queue of priority {}: 0 to {}", shape.priority,
                   static_cast<int>(WEFT_QUEUE_PRIORITY_HIGH));
  const uint32_t ring =
      shape.completions != nullptr ? shape.completions->completion_entries() : shape.completion_entries;
  if (shape.coalesce_count > 1 && (shape.coalesce_cycles == 0 || shape.coalesce_count > ring)) {
    return failure(WEFT_ERROR_INVALID_ARGUMENT,
                   "one interrupt for {} completions after {} cycles: at most {} completions, and a time that is not 0",
                   shape.coalesce_count, shape.coalesce_cycles, ring);
  }
  if (shape.completions != nullptr && shape.completion_entries != 0) {
    return failure(WEFT_ERROR_INVALID_ARGUMENT, "a queue that shares the completion ring of queue {} has none of {}",
                   shape.completions->id(), shape.completion_entries);
  }
  const std::lock_guard lifecycle(lifecycle_mutex_);
  if (Status s = check(); !s.ok()) return s;
  auto id = reserve_queue_id();
  if (!id.ok()) return id.status();
  QueueId in_use(*this, id.value());
  const std::shared_ptr<const FaultLog> faults(control_, &control_->faults);
  auto queue =
      shape.completions != nullptr
          ? Queue::create_guest(transport_, iova_space_, faults, id.value(), shape.entries, shape.completions)
          : Queue::create(transport_, iova_space_, faults, id.value(), shape.entries, shape.completion_entries, true);
  if (!queue.ok()) return queue.status();
  queue.value()->set_priority(shape.priority);
  const bool shares = shape.completions != nullptr;
  // What a former ring of this id left there may be a head of this one too, and would then count for nothing.
  if (!shares) {
    if (Status s = ring_completion_doorbell(*transport_, id.value(), 0); !s.ok()) return s;
  }
  const auto ending =
      admin(create_command(*queue.value(), shares ? Ring::kExists : Ring::kNew), generation(), queue.value());
  if (!ending.ok()) return ending.status();
  if (!ending.value().status.ok()) return ending.value().status;
  in_use.keep();
  queue.value()->created();
  {
    const std::unique_lock lock(queues_mutex_);
    queues_[id.value()] = queue.value();
  }
  log_.line(LogModule::kDriverQueue, LogLevel::kInfo, ending.value().end_cycle, "queue {} created: {} entries",
            id.value(), shape.entries);
  if (shape.coalesce_count <= 1) return queue;
  if (Status s = set_coalescing(id.value(), shape); !s.ok()) {
    best_effort([&] { (void)delete_queue_locked(*queue.value()).ok(); });
    return s;
  }
  return queue;
}

Status Device::set_coalescing(uint32_t queue, const QueueShape& shape) {
  Command command;
  command.opcode = WEFT_ADMIN_OPCODE_SET_COALESCING;
  command.arg0 = shape.coalesce_count;
  command.arg1 = shape.coalesce_cycles;
  command.size = queue;
  for (int tries = 0;; tries++) {  // the queue is there: to delete it again would need memory too
    try {
      const auto ending = admin(command, generation());
      return ending.ok() ? ending.value().status : ending.status();
    } catch (const std::bad_alloc&) {
      if (tries == kMemoryTries) return Status::without_words(WEFT_ERROR_NO_HOST_MEMORY);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

Command Device::create_command(const Queue& queue, Ring ring) {
  Command command;
  command.opcode = WEFT_ADMIN_OPCODE_CREATE_QUEUE;
  command.arg0 = queue.submission_iova();
  command.size = uint64_t{queue.entries()} | uint64_t{queue.id()} << 32 | uint64_t{queue.priority()} << 48;
  if (ring == Ring::kExists) {
    command.size |= uint64_t{queue.completion_ring()} << 56;
  } else {
    command.arg1 = queue.completion_iova();
    command.size |= uint64_t{queue.completion_entries()} << 16;
  }
  return command;
}

Status Device::delete_queue(const std::shared_ptr<Queue>& queue) {
  WaitLimits limits;
  limits.until_idle = true;
  queue->stop(failure(WEFT_ERROR_INVALID_STATE, "queue {} is released", queue->id()));
  while (const auto event = queue->any_in_flight()) {
    if (Status s = wait(*event, limits); !s.ok()) return s;
  }
  const std::lock_guard lifecycle(lifecycle_mutex_);
  {
    const std::shared_lock lock(queues_mutex_);
    if (queues_[queue->id()] != queue) return {};  // gone with a reset
  }
  if (!check().ok()) return {};  // the next boot, or nobody, knows it
  return delete_queue_locked(*queue);
}

/// The lifecycle lock is held.
Status Device::delete_queue_locked(Queue& queue) {
  const uint32_t id = queue.id();
  Command command;
  command.opcode = WEFT_ADMIN_OPCODE_DELETE_QUEUE;
  command.size = id;
  const auto ending = admin(command, generation());
  if (!ending.ok()) return ending.status();
  if (!ending.value().status.ok()) return ending.value().status;
  log_.line(LogModule::kDriverQueue, LogLevel::kInfo, ending.value().end_cycle, "queue {} deleted", id);
  const std::unique_lock lock(queues_mutex_);
  remove_queue(id);
  return {};
}

Status Device::submit(Queue& queue, std::span<const Submission> submissions) {
  if (Status s = check(); !s.ok()) return s;
  if (!submissions.empty() && log_wants(LogModule::kDriverQueue, LogLevel::kDebug)) {
    const uint8_t opcode = submissions.front().command.opcode;
    const std::string_view name = queue.id() == 0 ? spec::admin_opcode_name(opcode) : spec::queue_opcode_name(opcode);
    log_.line(LogModule::kDriverQueue, LogLevel::kDebug, {}, "queue {}: {} submitted{}", queue.id(), name,
              submissions.size() == 1 ? std::string() : fmt::format(", and {} more", submissions.size() - 1));
  }
  // Admin commands signal, cancel and reset.
  std::optional<Waits::Signalling> signalling;
  if (queue.id() == 0 ||
      std::any_of(submissions.begin(), submissions.end(), [](const Submission& s) { return s.command.signal_id != 0; }))
    signalling.emplace(waits_);
  Status status = queue.submit(submissions);
  if (status.code() == WEFT_ERROR_QUEUE_FULL) {
    drain();  // completions that nobody has asked for
    status = queue.submit(submissions);
  }
  if (status.code() == WEFT_ERROR_DEVICE_LOST) {
    lost(status);
    return check();
  }
  return status;
}

/// The lifecycle lock is held, so that the id is not another queue's by the time that the device looks at it.
Status Device::abort(uint32_t queue, uint64_t what, uint32_t ring_index) {
  Command command;
  command.opcode = WEFT_ADMIN_OPCODE_ABORT;
  command.arg0 = queue;
  command.arg1 = what;
  command.size = ring_index;
  const auto ending = admin(command, generation());
  return ending.ok() ? ending.value().status : ending.status();
}

Status Device::cancel(const Event& event) {
  drain();
  if (event.done()) return {};
  Status status;
  {
    const std::lock_guard lifecycle(lifecycle_mutex_);
    std::shared_ptr<Queue> queue;
    {
      const std::shared_lock lock(queues_mutex_);
      queue = queues_[event.queue()];
    }
    // A command that is in flight no more is about to end, and its ids may be those of another one.
    if (queue != nullptr && queue->has_in_flight(event))
      status = abort(event.queue(), event.command_id(), event.ring_index());
  }
  settle();
  // The queue may have been halted, reset or deleted meanwhile: then its commands have ended.
  return event.done() ? Status() : status;
}

Status Device::cancel_all(const Queue& queue) {
  drain();
  constexpr uint64_t kAllBefore = 0x10000;
  Status status;
  {
    const std::lock_guard lifecycle(lifecycle_mutex_);
    const Queue::Snapshot now = queue.snapshot();  // of a queue that is deleted: nothing is in flight
    if (now.in_flight == 0) return {};
    status = abort(queue.id(), kAllBefore, now.tail);
  }
  settle();
  return queue.snapshot().in_flight == 0 ? Status() : status;
}

Result<Ending> Device::admin(const Command& command, uint32_t generation, std::shared_ptr<const void> memory) {
  const auto event = std::make_shared<Event>(0, command.tag, command.opcode);
  if (memory != nullptr) event->hold({std::move(memory)});
  const Status status = run_admin(event, command, generation);
  if (status.code() == WEFT_ERROR_TIMEOUT_WAIT) {
    if (Status s = report_timeout(*event, status, WaitLimits{kAdminCycles}); !s.ok()) return s;
  } else if (!status.ok()) {
    return status;
  }
  return event->ending();
}

Status Device::run_admin(const std::shared_ptr<Event>& event, const Command& command, uint32_t generation) {
  const std::lock_guard lock(admin_mutex_);
  std::shared_ptr<Queue> queue;
  {
    // A reset takes the old admin queue off the table, counts the generation up, and puts the new one there. So a queue
    // that is found with its generation is of it; if the reset comes afterwards, the queue is stopped and takes
    // nothing.
    const std::shared_lock queues(queues_mutex_);
    queue = queues_[0];
    if (queue != nullptr) {
      if (Status s = check_generation(generation); !s.ok()) return s;
    }
  }
  if (queue == nullptr) {
    const Status s = check();
    return s.ok() ? failure(WEFT_ERROR_INVALID_STATE, "the device was reset meanwhile") : s;
  }
  if (Status s = submit(*queue, Submission{event, command}); !s.ok()) return s;
  for (int tries = 0;; tries++) {  // it is on its way: what becomes of it must be known
    try {
      return waits_.wait(*event, WaitLimits{kAdminCycles, WaitLimits::kDefaultGuardMs, 0});
    } catch (const std::bad_alloc&) {
      if (tries == kMemoryTries) return Status::without_words(WEFT_ERROR_TIMEOUT_WAIT);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

Status Device::wait(const Event& event, const WaitLimits& limits) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(limits.wall_ms);
  WaitLimits rest = limits;
  for (;;) {
    bool stale = false;
    if (limits.wall_ms != 0) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
      rest.wall_ms = static_cast<uint32_t>(std::max<int64_t>(1, left));
    }
    const Status status = waits_.wait(event, rest, &stale);
    if (status.ok()) return status;
    // Nothing moves: only a firmware that does not answer is a reason to end the wait.
    if (stale && ask_state().status().code() != WEFT_ERROR_TIMEOUT_WAIT) continue;
    if (event.listens()) return status;  // no news is no hang
    return report_timeout(event, status, limits);
  }
}

Result<int> Device::loop_descriptor() {
  if (Status s = check(); !s.ok()) return s;
  return loop_.get(interrupts_);
}

Status Device::process() {
  waits_.look_now();
  loop_.consume();  // what it told of is done by now: the caller's queries see it
  Status status = check();
  if (!status.ok()) taken_.await_earlier();  // another thread may have found the device lost and still end its events
  return status;
}

Status Device::set_callback(const std::shared_ptr<Event>& event, Event::Callback callback) {
  std::list<DueCallback> due;
  due.push_back({std::move(callback), event});
  if (!dispatcher_.expect()) return failure(WEFT_ERROR_INVALID_STATE, "the device is closed: no callback is called");
  switch (event->set_callback(due)) {
    case Event::CallbackResult::kRegistered:
      return {};
    case Event::CallbackResult::kDue:
      dispatcher_.run(std::move(due));
      return {};
    case Event::CallbackResult::kTaken:
      break;
  }
  dispatcher_.unexpect();
  return failure(WEFT_ERROR_INVALID_STATE, "the event of command {:#x} has a callback", event->command_id());
}

Result<uint64_t> Device::cycle() {
  if (Status s = check(); !s.ok()) return s;
  auto value = read64(*transport_, WEFT_REG_CYCLES);
  Status why = value.status();
  if (value.ok() && value.value() == kAllOnes64)
    why = Status(WEFT_ERROR_DEVICE_LOST, "the device answers with all ones");
  if (why.ok()) return value;
  if (why.code() == WEFT_ERROR_DEVICE_LOST) lost(why);
  return why;
}

Result<weft_device_state> Device::state() {
  {
    const std::lock_guard lock(state_mutex_);
    if (state_ == State::kLost || state_ == State::kClosed) return WEFT_DEVICE_STATE_ABSENT;
    if (state_ == State::kFailed) return WEFT_DEVICE_STATE_FAILED;
  }
  const auto value = read32(*transport_, WEFT_REG_DEVICE_STATE);
  if (!value.ok()) return value.status();
  return value.value() <= WEFT_DEVICE_STATE_FAILED ? static_cast<weft_device_state>(value.value())
                                                   : WEFT_DEVICE_STATE_ABSENT;
}

Status Device::counters(std::span<uint64_t> values) {
  if (Status s = check(); !s.ok()) return s;
  const std::lock_guard lock(counter_mutex_);
  Status status = write32(*transport_, WEFT_REG_COUNTER_SNAPSHOT, 1);
  if (status.ok())
    status = transport_->read(Region::kRegisters, WEFT_REG_COUNTERS, values.data(),
                              static_cast<uint32_t>(values.size_bytes()));
  if (status.code() == WEFT_ERROR_DEVICE_LOST) lost(status);
  return status;
}

uint32_t Device::read_log(std::span<weft_log_record> records, uint64_t* lost_records) {
  const std::lock_guard lock(log_mutex_);
  uint32_t count = 0;
  uint64_t lost_count = 0;
  while (control_ != nullptr && count < records.size()) {
    const auto record = read_log_record(control_->memory->data() + ControlMemory::kLogOffset,
                                        control_->log_read % WEFT_LIMIT_LOG_ENTRIES);
    if (!record || record->sequence <= control_->log_read) break;
    lost_count += record->sequence - control_->log_read - 1;
    control_->log_read = record->sequence;
    records[count++] = *record;
  }
  if (lost_records != nullptr) *lost_records = lost_count;
  return count;
}

Device::Statistics Device::statistics() const {
  Statistics statistics{{}, interrupts_.count(), waits_.lost_interrupts()};
  const std::shared_lock lock(queues_mutex_);
  statistics.counts = retired_;
  for (const auto& queue : queues_) {
    if (queue != nullptr) statistics.counts += queue->snapshot().counts;
  }
  return statistics;
}

void Device::bury(std::list<Remains> remains) noexcept {
  const std::lock_guard lock(remains_mutex_);
  remains_.splice(remains_.end(), remains);
}

void Device::collect() {
  const std::lock_guard collecting(collect_mutex_);
  collect_timelines();
  std::list<Remains> remains;
  {
    const std::lock_guard lock(remains_mutex_);
    remains.swap(remains_);
  }
  while (!remains.empty()) {
    std::list<Remains> one;
    one.splice(one.end(), remains, remains.begin());
    if (one.front().generation != generation() || !check().ok()) continue;  // went with the reset or the device
    Command command;
    command.opcode = WEFT_ADMIN_OPCODE_UNLOAD_PROGRAM;
    command.arg0 = one.front().program_id;
    try {
      const auto ending = admin(command, one.front().generation);
      const weft_error code = ending.ok() ? ending.value().status.code() : ending.status().code();
      // Used, or not known to be gone: another time.
      if (code == WEFT_ERROR_BUSY || code == WEFT_ERROR_TIMEOUT_WAIT) bury(std::move(one));
    } catch (const std::bad_alloc&) {  // it is still there: another time
      bury(std::move(one));
    }
  }
}

}  // namespace weft::driver
