// Life of a device: open, lose, reset, close.
#include "driver/device/device.hpp"

#include <chrono>

#include "driver/transport/pci.hpp"
#include "driver/transport/registers.hpp"

namespace weft::driver {
namespace {

using Clock = std::chrono::steady_clock;

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

Device::Device(std::unique_ptr<Transport> transport, const BootLimits& limits)
    : transport_(std::move(transport)),
      limits_(limits),
      waits_(*transport_, interrupts_, *this),
      dispatcher_(waits_, *this, transport_->liveness_fd()) {}

Result<std::shared_ptr<Device>> Device::open(std::unique_ptr<Transport> transport, const BootLimits& limits) {
  std::shared_ptr<Device> device(new Device(std::move(transport), limits));
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
  (void)admin(command).ok();  // without it the log is shorter
}

void Device::set_state(State state, Status reason) {
  const std::lock_guard lock(state_mutex_);
  if (state_ == State::kClosed) return;
  if (state_ == State::kLost && state != State::kClosed) return;
  state_ = state;
  reason_ = std::move(reason);
}

Status Device::check() const {
  const std::lock_guard lock(state_mutex_);
  return reason_;
}

void Device::fail_all(const Status& why) {
  std::vector<Finished> finished;
  {
    const std::shared_lock lock(queues_mutex_);
    for (const auto& queue : queues_) {
      if (queue != nullptr) queue->fail(why, finished);
    }
  }
  finish(finished);
  fail_host_waits(why);
}

void Device::lost(const Status& why) {
  Status reason;
  {
    const std::lock_guard lock(state_mutex_);
    if (state_ == State::kLost || state_ == State::kClosed) return;
    const std::string words = transport_->last_words();
    const bool more = !words.empty() && why.message().find(words) == std::string::npos;
    reason = Status(WEFT_ERROR_DEVICE_LOST, more ? why.message() + "; " + words : why.message());
    state_ = State::kLost;
    reason_ = reason;
  }
  log_.line(LogModule::kDriverDevice, LogLevel::kError, {}, "lost: {}", reason.message());
  log_.flush();
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
      if (!waits_.wait(*event, WaitLimits{0, WaitLimits::kDefaultGuardMs, static_cast<uint32_t>(left)}).ok()) break;
    }
  }
}

Status Device::close(uint32_t drain_ms) {
  if (dispatcher_.on_this_thread()) return failure(WEFT_ERROR_INVALID_STATE, "a callback cannot close its device");
  const std::lock_guard lifecycle(lifecycle_mutex_);
  const Status closed(WEFT_ERROR_INVALID_STATE, "the device is closed");
  bool drain_first = false;
  {
    const std::lock_guard lock(state_mutex_);
    if (state_ == State::kClosed) return {};
    drain_first = state_ == State::kReady;
  }
  {
    const std::shared_lock lock(queues_mutex_);
    for (const auto& queue : queues_) {
      if (queue != nullptr) queue->stop(closed);
    }
  }
  if (drain_first) drain_before_close(drain_ms);
  set_state(State::kClosed, closed);
  if (hbm_ != nullptr) hbm_->watch({});
  transport_->shutdown();  // nothing writes into host memory any more
  drain();
  fail_all(Status(WEFT_ERROR_CANCELLED, "the device was closed while the command was in flight"));
  dispatcher_.stop();
  const std::scoped_lock lock(remains_mutex_, queues_mutex_);
  remains_.clear();
  timeline_remains_.clear();
  for (uint32_t id = 0; id < queues_.size(); id++) remove_queue(id);
  log_.line(LogModule::kDriverDevice, LogLevel::kInfo, {}, "closed");
  log_.close();
  return {};
}

/// A line for each command that has ended: debug, or warning if it failed.
void Device::log_endings(const std::vector<Finished>& finished) {
  if (!log_wants(LogModule::kDriverQueue, LogLevel::kWarning)) return;
  for (const Finished& f : finished) {
    const bool ok = f.ending.status.ok();
    const std::optional<uint64_t> cycle =
        f.ending.end_cycle != 0 ? std::optional<uint64_t>(f.ending.end_cycle) : std::nullopt;
    log_.line(LogModule::kDriverQueue, ok ? LogLevel::kDebug : LogLevel::kWarning, cycle, "queue {}: {} ended: {}",
              f.event->queue(), command_text(f.event->opcode(), f.event->command_id(), f.event->tag()),
              ok ? "OK" : f.ending.status.message());
  }
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

void Device::finish(std::vector<Finished>& finished) {
  log_endings(finished);
  for (Finished& f : finished) {
    const weft_error code = f.ending.status.code();
    if ((code == WEFT_ERROR_DEVICE_HUNG || code == WEFT_ERROR_BUDGET_EXCEEDED) &&
        f.ending.status.detail().report_path.empty())
      f.ending.status = reported(f.ending.status, Ask::kNo, nullptr);
    tally(f);
    auto callback = f.event->complete(std::move(f.ending));
    if (!callback) continue;
    dispatcher_.run([callback = std::move(*callback), event = f.event] { callback(event->ending().status); }, true);
  }
  if (!finished.empty()) waits_.events_ended();
}

size_t Device::drain() {
  std::vector<Finished> finished;
  {
    const std::shared_lock lock(queues_mutex_);
    for (const auto& queue : queues_) {
      if (queue != nullptr) queue->drain(finished);
    }
  }
  check_host_waits(finished);
  const size_t ended = finished.size();
  check_faults(finished);
  const bool news = !finished.empty();
  finish(finished);
  if (news) log_.flush();
  return ended;
}

/// Fault records without a command: a queue that was halted, or a firmware that has stopped.
void Device::check_faults(std::vector<Finished>& finished) {
  Status panic;
  if (std::unique_lock lock(fault_mutex_, std::try_to_lock); lock.owns_lock() && control_ != nullptr) {
    while (const auto record = control_->faults.next()) {
      if (record->command_id != 0 && record->error != WEFT_ERROR_FIRMWARE_PANIC) continue;
      Detail detail;
      detail.queue = record->queue_id;
      detail.cycle = record->fault_cycle;
      const auto code = record->error > WEFT_ERROR_OK && record->error <= WEFT_ERROR_INTERNAL
                            ? static_cast<weft_error>(record->error)
                            : WEFT_ERROR_INTERNAL;
      if (code == WEFT_ERROR_FIRMWARE_PANIC) {
        detail.message = describe_record(*record);
        panic = Status(code, std::move(detail));
        continue;
      }
      detail.message = fmt::format("queue {} is halted: {}", record->queue_id, describe_record(*record));
      const std::shared_lock queues(queues_mutex_);
      if (record->queue_id >= queues_.size() || queues_[record->queue_id] == nullptr) continue;
      queues_[record->queue_id]->drain(finished);  // what it completed before the record
      queues_[record->queue_id]->fail(Status(code, std::move(detail)), finished);
    }
  }
  if (panic.ok()) return;
  set_state(State::kFailed, panic);
  const std::shared_lock lock(queues_mutex_);
  for (const auto& queue : queues_) {
    if (queue == nullptr) continue;
    queue->drain(finished);  // what it completed before the panic; nothing comes after it
    queue->fail(panic, finished);
  }
}

}  // namespace weft::driver
