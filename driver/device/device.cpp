// Life of a device: open, lose, reset, close.
#include "driver/device/device.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "driver/transport/pci.hpp"
#include "driver/transport/registers.hpp"

namespace weft::driver {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kClosedWords = "the device is closed";

/// Keeps the use of HBM in the parameter page, where tools that look at the chip from outside find it. `memory`
/// outlives the watch.
HbmSpace::Watcher tell_hbm_use(const std::shared_ptr<const HostMemory>& memory) {
  return [memory](const HbmSpace::Usage& usage) {
    auto& page = *reinterpret_cast<weft_parameter_page*>(memory->data());
    const auto put = [](auto& field, auto value) { __atomic_store_n(&field, value, __ATOMIC_RELAXED); };
    put(page.driver_hbm_used_bytes, usage.total_bytes - usage.free_bytes);
    put(page.driver_hbm_largest_bytes, usage.largest_bytes);
    put(page.driver_tells_hbm, 1u);
  };
}

/// An error with these words if there is memory for them.
Status with_words(weft_error code, const char* words) noexcept {
  try {
    return Status(code, std::string(words));
  } catch (const std::bad_alloc&) {
    return Status::without_words(code);
  }
}

spec::Chip chip_of(const DeviceIdentity& identity) {
  for (const spec::Chip& chip : spec::kChips) {
    // Presets that run the same executables share a fingerprint; HBM is a function's share.
    if (chip.fingerprint == identity.fingerprint && chip.clock_hz == identity.clock_hz) return chip;
  }
  spec::Chip unknown{};
  unknown.fingerprint = identity.fingerprint;
  unknown.vmem_bytes = identity.hbm_bytes;  // not known: the firmware checks
  unknown.hbm_bytes = identity.hbm_bytes;
  return unknown;
}

}  // namespace

Device::Device(std::unique_ptr<Transport> transport, const BootLimits& limits, int slow_poll_ms)
    : transport_(std::move(transport)),
      limits_(limits),
      waits_(*transport_, interrupts_, *this, slow_poll_ms),
      dispatcher_(waits_, *this, transport_->liveness_fd()) {}

Result<std::shared_ptr<Device>> Device::open(std::unique_ptr<Transport> transport, const BootLimits& limits,
                                             int slow_poll_ms) {
  std::shared_ptr<Device> device(new Device(std::move(transport), limits, slow_poll_ms));
  Status status = device->start();
  if (status.ok()) return device;
  if (status.code() == WEFT_ERROR_DEVICE_LOST) {
    const std::string words = device->transport_->last_words();
    if (!words.empty() && status.message().find(words) == std::string::npos)
      status = failure(WEFT_ERROR_DEVICE_LOST, "{}; {}", status.message(), words);
  }
  (void)device->close(0).ok();
  return status;
}

Status Device::start() {
  auto identity = identify(*transport_);
  if (!identity.ok()) return identity.status();
  identity_ = identity.value();
  waits_.set_clock(identity_.clock_hz);
  chip_ = chip_of(identity_);
  hbm_ = std::make_shared<HbmSpace>(identity_.hbm_reserved_bytes, identity_.hbm_bytes - identity_.hbm_reserved_bytes);
  const auto present = waits_for_boot(*transport_);
  if (!present.ok()) return present.status();
  if (!present.value()) {
    if (auto generation = reset_device(*transport_, limits_); !generation.ok()) return generation.status();
  }
  const auto generation = read32(*transport_, WEFT_REG_RESET_GENERATION);
  if (!generation.ok()) return generation.status();
  generation_ = generation.value();
  if (Status s = prepare_pci(*transport_); !s.ok()) return s;
  if (Status s = interrupts_.connect(*transport_); !s.ok()) return s;
  if (Status s = dispatcher_.start(); !s.ok()) return s;
  return bring_up();
}

/// From a device that waits for BOOT_CONTROL to READY, with fresh memory.
Status Device::bring_up() {
  auto memory = HostMemory::create(transport_, iova_space_, ControlMemory::kBytes);
  if (!memory.ok()) return memory.status();
  auto control = std::make_shared<Control>(std::move(memory.value()));
  auto admin = Queue::create(transport_, iova_space_, std::shared_ptr<const FaultLog>(control, &control->faults), 0,
                             WEFT_LIMIT_ADMIN_RING_ENTRIES, WEFT_LIMIT_ADMIN_RING_ENTRIES, false);
  if (!admin.ok()) return admin.status();
  {
    const std::scoped_lock lock(fault_mutex_, log_mutex_, queues_mutex_);
    log_.set_ring(control->memory->data() + ControlMemory::kLogOffset);
    control_ = control;
    admin.value()->created();
    queues_[0] = admin.value();
    queue_id_used_.fill(false);
    queue_id_used_[0] = true;
  }
  if (Status s = boot_device(*transport_, *control->memory, *admin.value(), limits_); !s.ok()) return s;
  hbm_->watch(tell_hbm_use(control->memory));
  set_state(State::kReady, {});
  tell_log_level();
  log_.line(LogModule::kDriverDevice, LogLevel::kInfo, {}, "ready: {}, generation {}, {} bytes of HBM", chip_.name,
            generation(), identity_.hbm_bytes);
  return {};
}

/// The firmware logs down to info by itself.
void Device::tell_log_level() {
  const LogLevel wanted = log_levels().firmware();
  if (wanted <= LogLevel::kInfo) return;
  Command command;
  command.opcode = WEFT_ADMIN_OPCODE_SET_LOG_LEVEL;
  command.size = static_cast<uint64_t>(wanted);
  (void)admin(command, generation()).ok();  // without it the log is shorter
}

void Device::set_state(State state, Status reason) {
  const std::lock_guard lock(state_mutex_);
  if (state_ == State::kLost || state_ == State::kClosed) return;
  state_ = state;
  if (!closing_) reason_ = std::move(reason);
}

Status Device::check() const {
  const std::lock_guard lock(state_mutex_);
  return reason_;
}

/// A reset or a close is under way: it ends every command and every wait.
bool Device::ends_everything() const {
  const std::lock_guard lock(state_mutex_);
  return closing_ || state_ == State::kResetting;
}

/// Ids of `generation` are those of the device.
Status Device::check_generation(uint32_t generation) const {
  if (generation == this->generation()) return {};
  return failure(WEFT_ERROR_INVALID_STATE, "what is of generation {} went with a reset: the device is in generation {}",
                 generation, this->generation());
}

Status Device::check_not_closed() const {
  if (!closed_) return {};
  return with_words(WEFT_ERROR_INVALID_STATE, kClosedWords);
}

void Device::fail_queue(Queue& queue, const Status& why) noexcept {
  {
    const TakenEvents::Hold hold(taken_);
    while (auto finished = queue.fail_next(hold, why)) finish(*finished);
  }
  tell_ended();
}

void Device::fail_all(const Status& why) noexcept {
  for (size_t id = 0; id < queues_.size(); id++) {
    std::shared_ptr<Queue> queue;
    {
      const std::shared_lock lock(queues_mutex_);
      queue = queues_[id];
    }
    if (queue != nullptr) fail_queue(*queue, why);
  }
  fail_host_waits(why);
}

void Device::cut_off() noexcept {
  constexpr int kTries = 1000;  // a millisecond apart, while there is no memory
  for (int i = 0; i < kTries; i++) {
    try {
      if (iova_space_->cut_off(*transport_).ok()) return;
      break;
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  transport_->disconnect();
}

void Device::lost(const Status& why) {
  // Held from before any thread can read that the device is lost until its events have ended: settle() waits for them.
  const TakenEvents::Hold hold(taken_);
  Status reason;
  {
    const std::lock_guard lock(state_mutex_);
    if (state_ == State::kLost || state_ == State::kClosed) return;
    const std::string words = transport_->last_words();
    const bool more = !words.empty() && why.message().find(words) == std::string::npos;
    reason = Status(WEFT_ERROR_DEVICE_LOST, more ? why.message() + "; " + words : why.message());
    state_ = State::kLost;
    if (!closing_) reason_ = reason;
  }
  transport_->disconnect();  // before the first event ends: the process at the other end may well be alive
  log_.line(LogModule::kDriverDevice, LogLevel::kError, {}, "lost: {}", reason.message());
  best_effort([&] { log_.flush(); });
  fail_all(reason);
}

void Device::drain_before_close(uint32_t drain_ms) {
  const auto end = Clock::now() + std::chrono::milliseconds(drain_ms);
  for (size_t id = queues_.size(); id-- > 0;) {
    std::shared_ptr<Queue> queue;
    {
      const std::shared_lock lock(queues_mutex_);
      queue = queues_[id];
    }
    while (queue != nullptr) {
      const auto event = queue->any_in_flight();
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
      if (event == nullptr || left <= 0) break;
      WaitLimits limits;
      limits.wall_ms = static_cast<uint32_t>(left);
      limits.until_idle = true;  // nobody can signal any more
      if (!waits_.wait(*event, limits).ok()) break;
    }
  }
}

/// Takes the device out of the open state: nothing is submitted, made or reset from here on. Calls under the lifecycle
/// lock that are under way have ended when it returns.
Status Device::begin_close(bool& drain_first) {
  const Status closed = with_words(WEFT_ERROR_INVALID_STATE, kClosedWords);
  const std::lock_guard lifecycle(lifecycle_mutex_);
  {
    const std::lock_guard lock(state_mutex_);
    if (closing_) return closed;
    closing_ = true;
    reason_ = closed;
    drain_first = state_ == State::kReady;
  }
  const std::shared_lock lock(queues_mutex_);
  for (const auto& queue : queues_) {
    if (queue != nullptr) queue->retire(closed);
  }
  return {};
}

/// No lock is held while it waits: callbacks that are running may want any of them.
Status Device::close(uint32_t drain_ms) {
  if (dispatcher_.on_this_thread()) return failure(WEFT_ERROR_INVALID_STATE, "a callback cannot close its device");
  const Status cancelled = with_words(WEFT_ERROR_CANCELLED, "the device was closed while the command was in flight");
  bool drain_first = false;
  if (Status s = begin_close(drain_first); !s.ok()) return s;
  if (drain_first) best_effort([&] { drain_before_close(drain_ms); });
  {
    const std::lock_guard lock(state_mutex_);
    state_ = State::kClosed;
  }
  if (hbm_ != nullptr) hbm_->watch({});
  transport_->shutdown();  // nothing writes into host memory any more
  best_effort([&] { drain(); });
  fail_all(cancelled);
  taken_.await_none();
  dispatcher_.stop();
  {
    const std::scoped_lock lock(remains_mutex_, queues_mutex_);
    remains_.clear();
    timeline_remains_.clear();
    for (uint32_t id = 0; id < queues_.size(); id++) remove_queue(id);
  }
  forget_owed();
  loop_.close();
  log_.line(LogModule::kDriverDevice, LogLevel::kInfo, {}, "closed");
  best_effort([&] { log_.close(); });
  closed_ = true;
  return {};
}

/// A line for a command that has ended: debug, or warning if it failed.
void Device::log_ending(const Finished& f) {
  const bool ok = f.ending.status.ok();
  const LogLevel level = ok ? LogLevel::kDebug : LogLevel::kWarning;
  if (!log_wants(LogModule::kDriverQueue, level)) return;
  const std::optional<uint64_t> cycle =
      f.ending.end_cycle != 0 ? std::optional<uint64_t>(f.ending.end_cycle) : std::nullopt;
  log_.line(LogModule::kDriverQueue, level, cycle, "queue {}: {} ended: {}", f.event->queue(),
            command_text(f.event->opcode(), f.event->command_id(), f.event->tag()),
            ok ? "OK" : f.ending.status.message());
}

/// queues_mutex_ is held. The id of a queue whose completion ring others feed stays in use until they are gone too.
void Device::remove_queue(uint32_t id) {
  uint32_t ring = id;
  bool ring_used = false;
  if (const auto queue = std::move(queues_[id]); queue != nullptr) {
    retired_ += queue->snapshot().counts;
    queue->deleted();
    ring = queue->completion_ring();
    ring_used = queue->ring_has_guests();
  }
  queue_id_used_[id] = ring == id && ring_used;
  if (ring != id && !ring_used && queues_[ring] == nullptr) queue_id_used_[ring] = false;
}

void Device::tell_ended() noexcept {
  waits_.events_ended();
  loop_.tell();
}

/// Ends one event: whatever there is no memory for, it ends, and its callback falls due.
void Device::finish(Finished& f) noexcept {
  best_effort([&] { log_ending(f); });
  const weft_error code = f.ending.status.code();
  best_effort([&] {
    if ((code == WEFT_ERROR_DEVICE_HUNG || code == WEFT_ERROR_BUDGET_EXCEEDED) &&
        f.ending.status.detail().report_path.empty())
      f.ending.status = reported(f.ending.status, Ask::kNo, nullptr);
  });
  tally(f);
  auto callback = f.event->complete(std::move(f.ending));
  if (callback.empty()) return;
  callback.front().event = f.event;
  dispatcher_.run(std::move(callback));
}

void Device::finish(std::vector<Finished>& finished) noexcept {
  for (Finished& f : finished) finish(f);
  if (!finished.empty()) tell_ended();
}

size_t Device::drain() {
  const TakenEvents::Hold hold(taken_);
  std::vector<Finished> finished;
  size_t ended = 0;
  bool whole = false;
  best_effort([&] {
    {
      const std::shared_lock lock(queues_mutex_);
      for (const auto& queue : queues_) {
        if (queue != nullptr) queue->drain(hold, finished);
      }
    }
    check_host_waits(hold, finished);
    ended = finished.size();
    check_faults(hold, finished);
    whole = true;
  });
  ended = std::max(ended, finished.size());
  finish(finished);
  if (!finished.empty()) best_effort([&] { log_.flush(); });
  best_effort([&] { send_owed(); });   // what there is no memory for stays until the next look
  if (!whole) throw std::bad_alloc();  // nobody may conclude that nothing had ended
  return ended;
}

void Device::settle() {
  drain();
  taken_.await_earlier();
}

/// Fault records without a command: a queue that was halted, or a firmware that has stopped. A record that there was no
/// memory for is looked at again.
void Device::check_faults(const TakenEvents::Hold& hold, std::vector<Finished>& finished) {
  const std::unique_lock lock(fault_mutex_, std::try_to_lock);
  if (!lock.owns_lock() || control_ == nullptr) return;
  const uint64_t position = control_->faults.position();
  try {
    Status panic;
    control_->faults.for_each_new([&](const weft_fault_record& record) {
      if (record.command_id != 0 && record.error != WEFT_ERROR_FIRMWARE_PANIC) return;
      const Status status = halted(hold, record, finished);
      if (status.code() == WEFT_ERROR_FIRMWARE_PANIC) panic = status;
    });
    if (panic.ok()) return;
    set_state(State::kFailed, panic);
    cut_off();
    const std::shared_lock queues(queues_mutex_);
    for (const auto& queue : queues_) {
      if (queue == nullptr) continue;
      queue->drain(hold, finished);  // what it completed before the panic; nothing comes after it
      queue->fail(hold, panic, finished);
    }
  } catch (const std::bad_alloc&) {
    control_->faults.rewind(position);
    throw;
  }
}

/// Ends what was on a queue that is halted. Returns why; a panic, which halts no queue alone, is only returned.
Status Device::halted(const TakenEvents::Hold& hold, const weft_fault_record& record, std::vector<Finished>& finished) {
  Detail detail;
  detail.queue = record.queue_id;
  detail.cycle = record.fault_cycle;
  const auto code = record.error > WEFT_ERROR_OK && record.error <= WEFT_ERROR_INTERNAL
                        ? static_cast<weft_error>(record.error)
                        : WEFT_ERROR_INTERNAL;
  const bool panic = code == WEFT_ERROR_FIRMWARE_PANIC;
  detail.message =
      panic ? describe_record(record) : fmt::format("queue {} is halted: {}", record.queue_id, describe_record(record));
  const Status why(code, std::move(detail));
  if (panic) return why;
  const std::shared_lock queues(queues_mutex_);
  if (record.queue_id >= queues_.size() || queues_[record.queue_id] == nullptr) return why;
  Queue& queue = *queues_[record.queue_id];
  queue.drain(hold, finished);  // what it completed before the record
  queue.stop(why);              // nothing joins what is looked at here and ended after it
  owe(queue, code);
  queue.fail(hold, why, finished);
  return why;
}

}  // namespace weft::driver
