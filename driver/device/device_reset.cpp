// Resets of a device: one queue, the tensor core, everything. Each in the order of weft_reset_step.
#include <algorithm>

#include "driver/device/device.hpp"
#include "driver/transport/pci.hpp"
#include "driver/transport/registers.hpp"

namespace weft::driver {
namespace {

/// Device cycles that a step of a device reset may take once everything has stopped, the boot included. Before that,
/// and below the device, other work lets cycles pass between two looks of the host: there the firmware's own count
/// holds.
constexpr uint64_t kStepCycles = 20'000'000;

Status aborted(std::string_view what) {
  return failure(WEFT_ERROR_ABORTED_BY_RESET, "{} was reset while the command was in flight", what);
}

}  // namespace

/// Fills the report step by step; a clock that cannot be read leaves zeros.
class Device::ResetClock {
 public:
  ResetClock(Transport& transport, weft_reset_level level, weft_reset_report& report)
      : transport_(transport), report_(report) {
    const size_t size = report.size;
    report = weft_reset_report{};
    report.size = size;
    report.level = level;
    if (level == WEFT_RESET_LEVEL_DEVICE)
      std::fill(report.step_bounds + WEFT_RESET_STEP_STOP_ENGINES + 1, std::end(report.step_bounds), kStepCycles);
    report.start_cycle = since_ = now();
  }
  void done(weft_reset_step step) {
    const uint64_t cycle = now();
    report_.step_cycles[step] = cycle - std::min(since_, cycle);
    const uint64_t bound = report_.step_bounds[step];
    if (bound != 0 && report_.step_cycles[step] > bound && report_.failed_step == 0) report_.failed_step = 1u + step;
    report_.end_cycle = since_ = cycle;
  }
  /// What the firmware has counted itself.
  void take(const weft_reset_record& record) {
    for (const weft_reset_step step : {WEFT_RESET_STEP_STOP_FETCH, WEFT_RESET_STEP_STOP_ENGINES})
      report_.step_cycles[step] = record.step_cycles[step];
    if (report_.failed_step == 0) report_.failed_step = record.failed_step;
  }
  /// The command that the firmware has taken off the engine; only it is in reach, and it knows which it was.
  void blame(const weft_reset_record& record) {
    if (record.command_id == 0) return;  // the engine had nothing
    if (record.error == WEFT_ERROR_ABORTED_BY_RESET) {
      report_.innocent = 1;
      return;
    }
    report_.guilty = 1;
    const bool known = record.error > WEFT_ERROR_OK && record.error <= WEFT_ERROR_INTERNAL;
    report_.guilty_status = known ? static_cast<weft_error>(record.error) : WEFT_ERROR_INTERNAL;
    report_.guilty_queue = record.queue;
    report_.guilty_command = record.command_id;
    report_.guilty_tag = record.tag;
  }

 private:
  uint64_t now() const {
    const auto cycle = read64(transport_, WEFT_REG_CYCLES);
    return cycle.ok() ? cycle.value() : since_;
  }
  Transport& transport_;
  weft_reset_report& report_;
  uint64_t since_ = 0;
};

void Device::tally(const Finished& finished) {
  const std::lock_guard lock(tally_mutex_);
  const uint32_t queue = finished.event->queue();
  if (tally_ == nullptr || queue == 0 || (tally_queue_ != kAllQueues && tally_queue_ != queue)) return;
  if (finished.ending.status.ok()) return;
  if (finished.ending.status.code() == WEFT_ERROR_ABORTED_BY_RESET) {
    tally_->innocent++;
    return;
  }
  if (tally_->guilty++ != 0) return;
  tally_->guilty_status = finished.ending.status.code();
  tally_->guilty_queue = queue;
  tally_->guilty_command = finished.event->command_id();
  tally_->guilty_tag = finished.event->tag();
}

/// As long as it lives, ends are counted. `queue`: whose commands are in reach. The driver's own, on the admin queue,
/// and waits of the host never are.
class Device::Tally {
 public:
  Tally(Device& device, weft_reset_report& report, uint32_t queue) : device_(device) {
    const std::lock_guard lock(device_.tally_mutex_);
    device_.tally_ = &report;
    device_.tally_queue_ = queue;
  }
  ~Tally() {
    const std::lock_guard lock(device_.tally_mutex_);
    device_.tally_ = nullptr;
  }
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;

 private:
  Device& device_;
};

Status Device::mask_interrupts(uint32_t mask) { return write32(*transport_, WEFT_REG_INTERRUPT_MASK, mask); }

/// RESET_QUEUE or RESET_ENGINE with its record. The lifecycle lock is held.
Status Device::admin_reset(uint8_t opcode, uint64_t target, weft_reset_record* record) {
  std::byte* place = control_->memory->data() + ControlMemory::kResetOffset;
  Command command;
  command.opcode = opcode;
  command.arg0 = control_->memory->iova() + ControlMemory::kResetOffset;
  command.size = target;
  const auto ending = admin(command, generation());
  if (!ending.ok()) return ending.status();
  std::copy_n(place, sizeof *record, reinterpret_cast<std::byte*>(record));
  return ending.value().status;
}

Status Device::reset_queue(const std::shared_ptr<Queue>& queue, weft_reset_report& report) {
  if (dispatcher_.on_this_thread()) return failure(WEFT_ERROR_INVALID_STATE, "a callback cannot reset a queue");
  const std::lock_guard lifecycle(lifecycle_mutex_);
  if (Status s = check(); !s.ok()) return s;
  {
    const std::shared_lock lock(queues_mutex_);
    if (queues_[queue->id()] != queue) return queue->refusal();
  }
  ResetClock clock(*transport_, WEFT_RESET_LEVEL_QUEUE, report);
  const Status status = [&] {
    const Tally tally(*this, report, queue->id());
    return reset_queue_steps(*queue, clock);
  }();
  log_.line(LogModule::kDriverQueue, LogLevel::kWarning, report.end_cycle, "queue {} reset: {}", queue->id(),
            status.ok() ? "done" : status.message().c_str());
  report.generation = generation();
  return status;
}

Status Device::reset_queue_steps(Queue& queue, ResetClock& clock) {
  queue.stop(failure(WEFT_ERROR_INVALID_STATE, "queue {} is being reset", queue.id()));
  clock.done(WEFT_RESET_STEP_STOP_DOORBELLS);
  const Status why = aborted(fmt::format("queue {}", queue.id()));
  const bool shares = queue.shares_completions();  // then ring and vector go on without it; else they go with it
  if (Status s = mask_interrupts(shares ? 0 : 1u << queue.id()); !s.ok()) return s;
  clock.done(WEFT_RESET_STEP_MASK_INTERRUPTS);
  weft_reset_record record{};
  const Status stopped = admin_reset(WEFT_ADMIN_OPCODE_RESET_QUEUE, queue.id(), &record);
  if (!stopped.ok()) {
    (void)mask_interrupts(0).ok();
    return stopped;
  }
  clock.done(WEFT_RESET_STEP_STOP_ENGINES);
  clock.take(record);
  best_effort([&] { drain(); });
  clock.done(WEFT_RESET_STEP_DRAIN_COMPLETIONS);
  fail_owed(queue, why.code());
  fail_queue(queue, why);
  clock.done(WEFT_RESET_STEP_COMPLETE_REST);
  queue.reinitialise();
  if (Status s = ring_submission_doorbell(*transport_, queue.id(), 0); !s.ok()) return s;
  if (!shares) {
    if (Status s = ring_completion_doorbell(*transport_, queue.id(), 0); !s.ok()) return s;
  }
  const auto created = admin(create_command(queue, shares ? Ring::kExists : Ring::kNew), generation());
  const Status status = created.ok() ? created.value().status : created.status();
  clock.done(WEFT_RESET_STEP_REINITIALISE);
  if (Status s = mask_interrupts(0); !s.ok()) return s;
  if (status.ok()) queue.rearm();
  clock.done(WEFT_RESET_STEP_ARM);
  return status;
}

Status Device::reset_core(weft_reset_report& report) {
  if (dispatcher_.on_this_thread()) return failure(WEFT_ERROR_INVALID_STATE, "a callback cannot reset the core");
  const std::lock_guard lifecycle(lifecycle_mutex_);
  if (Status s = check(); !s.ok()) return s;
  ResetClock clock(*transport_, WEFT_RESET_LEVEL_ENGINE, report);
  weft_reset_record record{};
  const Status status = admin_reset(WEFT_ADMIN_OPCODE_RESET_ENGINE, WEFT_ENGINE_CORE, &record);
  clock.done(WEFT_RESET_STEP_STOP_ENGINES);
  if (status.ok()) {
    clock.take(record);
    clock.blame(record);
  }
  best_effort([&] { drain(); });
  clock.done(WEFT_RESET_STEP_DRAIN_COMPLETIONS);
  report.generation = generation();
  return status;
}

/// Ends the command that has held the core without progress for the watchdog's limit: it is why the device is reset.
void Device::end_guilty(const std::optional<StatePage>& page) {
  const weft_state_engine* core = page ? page->engine(WEFT_ENGINE_CORE) : nullptr;
  if (core == nullptr || core->active == 0 || core->command_id == 0 ||
      page->header.cycle - std::min(page->header.cycle, core->progress_cycle) <= page->header.watchdog_cycles)
    return;
  const TakenEvents::Hold hold(taken_);
  std::vector<Finished> finished;
  {
    const std::shared_lock lock(queues_mutex_);
    if (core->queue < queues_.size() && queues_[core->queue] != nullptr) {
      queues_[core->queue]->fail_one(
          hold, core->command_id,
          failure(WEFT_ERROR_DEVICE_HUNG,
                  "no command of the launch has retired since cycle {}; the device was reset in cycle {}",
                  core->progress_cycle, page->header.cycle),
          finished);
    }
  }
  finish(finished);
}

Status Device::reset(weft_reset_report* report) {
  weft_reset_report ignored{};
  weft_reset_report& filled = report != nullptr ? *report : ignored;
  if (dispatcher_.on_this_thread()) return failure(WEFT_ERROR_INVALID_STATE, "a callback cannot reset its device");
  const std::lock_guard lifecycle(lifecycle_mutex_);
  std::optional<StatePage> page;
  if (const auto asked = ask_state(); asked.ok()) page = asked.value();
  {
    const std::lock_guard lock(state_mutex_);
    if (state_ == State::kLost || state_ == State::kClosed) return reason_;
    state_ = State::kResetting;
    reason_ = Status(WEFT_ERROR_INVALID_STATE, "the device is being reset");
  }
  ResetClock clock(*transport_, WEFT_RESET_LEVEL_DEVICE, filled);
  Status status;
  try {
    const Tally tally(*this, filled, kAllQueues);
    status = reset_steps(page, clock);
  } catch (const std::bad_alloc&) {  // somewhere on the way: another reset begins anew
    status = Status::without_words(WEFT_ERROR_NO_HOST_MEMORY);
  }
  filled.generation = generation();
  log_.line(LogModule::kDriverDevice, LogLevel::kWarning, filled.end_cycle,
            "reset of the device: {}; generation {}, {} guilty, {} innocent commands",
            status.ok() ? "done" : status.message().c_str(), filled.generation, filled.guilty, filled.innocent);
  best_effort([&] { log_.flush(); });
  if (status.code() == WEFT_ERROR_DEVICE_LOST) {
    lost(status);
  } else if (!status.ok()) {
    set_state(State::kFailed, status);
  }
  return status;
}

Status Device::reset_steps(const std::optional<StatePage>& page, ResetClock& clock) {
  {
    const std::shared_lock lock(queues_mutex_);
    for (const auto& queue : queues_) {
      if (queue != nullptr)
        queue->retire(failure(WEFT_ERROR_INVALID_STATE, "queue {} went with the reset of generation {}", queue->id(),
                              generation_.load()));
    }
  }
  clock.done(WEFT_RESET_STEP_STOP_DOORBELLS);
  (void)mask_interrupts(~0u).ok();  // the reset does it too
  clock.done(WEFT_RESET_STEP_MASK_INTERRUPTS);
  const auto generation = reset_device(*transport_, limits_);  // fetch, DMA and core stop at once
  clock.done(WEFT_RESET_STEP_STOP_ENGINES);
  best_effort([&] { drain(); });
  clock.done(WEFT_RESET_STEP_DRAIN_COMPLETIONS);
  if (generation.ok()) {
    end_guilty(page);
  } else {
    cut_off();
  }
  fail_all(aborted("the device"));
  {
    const std::unique_lock lock(queues_mutex_);
    for (uint32_t id = 0; id < queues_.size(); id++) remove_queue(id);
  }
  clock.done(WEFT_RESET_STEP_COMPLETE_REST);
  if (!generation.ok()) return generation.status();
  {
    const std::lock_guard timelines(timelines_mutex_);
    generation_ = generation.value();
    timeline_used_.fill(false);
  }
  Status status = iova_space_->restore(*transport_);
  if (status.ok()) status = prepare_pci(*transport_);
  if (status.ok()) status = bring_up();
  clock.done(WEFT_RESET_STEP_REINITIALISE);
  clock.done(WEFT_RESET_STEP_ARM);  // the reset has cleared the mask
  return status;
}

}  // namespace weft::driver
