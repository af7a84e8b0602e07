// Leader and followers, the alarm, the guards.
#include "driver/queue/waits.hpp"

#include <poll.h>

#include <algorithm>

#include "driver/queue/timeline.hpp"
#include "driver/transport/registers.hpp"

namespace weft::driver {
namespace {

using std::chrono::milliseconds;

constexpr uint64_t kNoDeadline = kAllOnes64;
constexpr milliseconds kAlarmCheckPeriod(100);  ///< behind a lost interrupt of vector 0
constexpr int kProgressCheckMs = 1000;
/// Idle engines and no completion for so many device cycles: somebody should ask the firmware.
constexpr uint64_t kStaleCycles = 4'000'000;
constexpr int kLateInterruptMs = 200;  ///< behind its completion; after that it counts as lost

uint32_t guard_ms(const WaitLimits& limits) {
  return limits.guard_ms != 0 ? limits.guard_ms : WaitLimits::kDefaultGuardMs;
}

/// Of a wait of the host, also once the semaphore has moved on.
std::string awaited_words(const Event& event) {
  return event.awaited() != nullptr ? event.awaited()->describe_wait(event.awaited_value()) : std::string();
}

bool readable(int fd) {
  pollfd p{fd, POLLIN, 0};
  return ::poll(&p, 1, 0) > 0;
}

}  // namespace

Status Waits::wait(const Event& event, const WaitLimits& limits, bool* stale) {
  source_.drain();
  if (event.done()) return {};
  Wait self{&event, limits, Clock::now()};
  if (limits.deadline_cycles != 0) {
    const auto now = read64(transport_, WEFT_REG_CYCLES);
    if (now.ok()) {
      self.deadline_cycle = limits.deadline_cycles < kNoDeadline - 1 - now.value()
                                ? now.value() + limits.deadline_cycles
                                : kNoDeadline - 1;
    } else {
      source_.lost(now.status());  // ends the event, or another thread does that just now: the loop below waits for it
    }
  }
  std::unique_lock lock(mutex_);
  waits_.add(self);
  begin_waiting();
  while (!event.done() && self.verdict == Verdict::kNone) {
    program_alarm();
    if (leading_) {
      changed_.wait_for(lock, milliseconds(slow_poll_ms_));
    } else {
      lead(lock, -1, poll_timeout_ms());
    }
  }
  waits_.remove(self);
  program_alarm();
  stop_waiting();
  lock.unlock();
  if (!event.done()) source_.settle();  // another thread may have its completion: only then is a verdict believed
  if (stale != nullptr) *stale = self.verdict == Verdict::kStale;
  return event.done() ? Status() : timed_out(self);
}

void Waits::listen(int control_fd) {
  std::unique_lock lock(mutex_);
  begin_waiting();
  if (!leading_) {
    lead(lock, control_fd, poll_timeout_ms());
  } else if (!readable(control_fd)) {
    changed_.wait_for(lock, milliseconds(slow_poll_ms_));
  }
  stop_waiting();
}

void Waits::look_now() {
  std::unique_lock lock(mutex_);
  begin_waiting();
  if (!leading_) {
    lead(lock, -1, 0);
  } else {
    lock.unlock();
    best_effort([&] { source_.drain(); });
    lock.lock();
  }
  stop_waiting();
}

void Waits::wake_listener() { events_ended(); }

void Waits::events_ended() {
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with begin_waiting()
  if (waiting_.load(std::memory_order_seq_cst) == 0) return;
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

/// The lock is held. Either events_ended() and wake_listener() see this thread and wait for the lock, so that they wake
/// it, or this thread sees what they tell: the event done, the descriptor readable.
void Waits::begin_waiting() {
  waiting_.fetch_add(1, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

/// The lock is held, and this thread leads no more.
void Waits::stop_waiting() {
  if (waiting_.fetch_sub(1, std::memory_order_seq_cst) != 1) changed_.notify_all();
}

/// Entered and left with the lock held; sleeps without it.
void Waits::lead(std::unique_lock<std::mutex>& lock, int control_fd, int timeout_ms) noexcept {
  leading_ = true;
  lock.unlock();
  Wake wake = interrupts_.wait(timeout_ms, control_fd);
  if (timeout_ms == 0) wake.timed_out = false;  // an interrupt may be on its way
  best_effort([&] { look(wake); });             // what there was no memory for stands there at the next look
  lock.lock();
  check_wall();
  leading_ = false;
}

void Waits::look(const Wake& wake) {
  const size_t ended = source_.drain();
  // the device writes a completion before it interrupts: what is only late on a busy machine is not lost
  if (wake.timed_out && ended != 0 && !interrupts_.arrives(kLateInterruptMs))
    lost_interrupts_.fetch_add(ended, std::memory_order_relaxed);
  if (wake.hung_up) source_.lost(failure(WEFT_ERROR_DEVICE_LOST, "the device has closed its connection"));
  if (wake.async && ended == 0) source_.check_failed();
  if (alarm_check_due(wake)) check_alarm();
  if (!wake.interrupt || ended == 0) check_progress();  // interrupts for nothing are no progress
}

int Waits::poll_timeout_ms() const {
  int timeout_ms = slow_poll_ms_;
  const auto now = Clock::now();
  const auto until = [&](Clock::time_point end) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - now).count();
    timeout_ms = std::clamp<int>(static_cast<int>(left) + 1, 1, timeout_ms);
  };
  for (const Wait* wait : waits_) {
    if (wait->epoch == 0) until(alarm_due(*wait));
    if (wait->limits.wall_ms != 0) until(wait->start + milliseconds(wait->limits.wall_ms));
  }
  return timeout_ms;
}

/// When the wait needs the alarm: at once for a deadline, after the grace period without, later while it is parked.
Waits::Clock::time_point Waits::alarm_due(const Wait& wait) {
  return std::max(wait.deadline_cycle != 0 ? wait.start : wait.start + milliseconds(kGraceMs), wait.parked_until);
}

/// Writes the earliest deadline of those who wait; no deadline if none has one; 0 if nobody needs the alarm. The lock
/// is held.
void Waits::program_alarm() noexcept {
  const auto now = Clock::now();
  uint64_t alarm = 0;
  bool uncovered = false;
  for (const Wait* wait : waits_) {
    if (now < alarm_due(*wait)) continue;
    const uint64_t wanted = wait->deadline_cycle != 0 ? wait->deadline_cycle : kNoDeadline;
    alarm = alarm == 0 ? wanted : std::min(alarm, wanted);
    uncovered = uncovered || wait->epoch == 0;
  }
  if (alarm == alarm_ && !(uncovered && alarm != 0)) return;
  const uint64_t signals = signals_sent_.load();
  bool posted = false;
  best_effort([&] { posted = post64(transport_, WEFT_REG_WAIT_ALARM, alarm).ok(); });
  if (!posted) return;  // lost: the hang-up tells
  alarm_ = alarm;
  if (alarm == 0) return;
  epoch_++;
  alarm_signals_ = signals;
  for (Wait* wait : waits_) {
    if (wait->epoch == 0 && now >= alarm_due(*wait)) wait->epoch = epoch_;
  }
}

bool Waits::alarm_check_due(const Wake& wake) {
  const std::lock_guard lock(mutex_);
  if (alarm_ == 0) return false;
  const auto now = Clock::now();
  if (!wake.async && now < alarm_checked_ + kAlarmCheckPeriod) return false;
  alarm_checked_ = now;
  return true;
}

void Waits::check_alarm() {
  uint64_t epoch = 0, signals = 0;
  {
    const std::lock_guard lock(mutex_);
    epoch = epoch_;
    signals = alarm_signals_;
  }
  const auto status = read32(transport_, WEFT_REG_WAIT_STATUS);
  if (!status.ok()) return;
  const bool idle = status.value() == WEFT_WAIT_STATUS_IDLE_WITH_OUTSTANDING;
  if (!idle && status.value() != WEFT_WAIT_STATUS_DEADLINE) return;
  const auto cycle = read64(transport_, WEFT_REG_CYCLES);
  if (!cycle.ok()) return;
  source_.drain();  // what completed before the device said so
  const std::lock_guard lock(mutex_);
  for (Wait* wait : waits_) {
    if (wait->event->done() || wait->epoch == 0 || wait->epoch > epoch) continue;
    if (wait->deadline_cycle != 0 && wait->deadline_cycle <= cycle.value()) {
      wait->verdict = Verdict::kDeadline;
    } else if (idle) {
      device_is_idle(*wait, cycle.value(), signals);
    }
  }
  changed_.notify_all();
  if (epoch == epoch_) alarm_ = 0;  // it has fired: a thread that still waits arms it again
  for (Wait* wait : waits_) {
    if (alarm_ == 0 && wait->verdict == Verdict::kNone) wait->epoch = 0;
  }
}

/// The lock is held. The device had nothing to do when the wait was covered by the alarm, and had `signals` of them by
/// then: the wait ends, or it is parked, or it needs the alarm again because a signal has come or was on its way.
void Waits::device_is_idle(Wait& wait, uint64_t cycle, uint64_t signals) {
  if (wait.limits.until_idle) {
    wait.verdict = Verdict::kIdle;
    return;
  }
  // Handles and mirrors first: who gives up a handle after a signal has counted the signal before.
  const Hope hope = source_.hope_of(*wait.event);
  if (hope == Hope::kNoSemaphore || hope == Hope::kNobody) {
    if (signals_begun_.load() == signals) wait.verdict = Verdict::kIdle;
    return;
  }
  const auto now = Clock::now();
  if (wait.idle_seen != Clock::time_point{} && wait.idle_cycle == cycle) wait.idle_time += now - wait.idle_seen;
  wait.idle_seen = now;
  wait.idle_cycle = cycle;
  Clock::duration pause = milliseconds(kParkedMs);
  if (wait.deadline_cycle != 0 && clock_hz_ != 0) {
    const std::chrono::duration<double> left(static_cast<double>(wait.deadline_cycle - cycle) /
                                             static_cast<double>(clock_hz_));
    if (wait.idle_time >= left) {
      wait.verdict = Verdict::kDeadline;
      return;
    }
    if (left - wait.idle_time < pause)
      pause = std::chrono::duration_cast<Clock::duration>(left - wait.idle_time) + milliseconds(1);
  }
  wait.parked_until = now + pause;
}

/// The wall-clock guard: a device whose cycles pass is alive, however slow it is.
void Waits::check_progress() {
  const auto now = Clock::now();
  int period_ms = kProgressCheckMs;
  {
    const std::lock_guard lock(mutex_);
    for (const Wait* wait : waits_) {
      if (wait->limits.guard_ms != 0)
        period_ms = std::min(period_ms, std::max<int>(1, static_cast<int>(wait->limits.guard_ms / 4)));
    }
    if (waits_.empty() || now < progress_checked_ + milliseconds(period_ms)) return;
    progress_checked_ = now;
  }
  const auto cycle = read64(transport_, WEFT_REG_CYCLES);
  if (!cycle.ok()) {
    source_.lost(cycle.status());
    return;
  }
  if (cycle.value() == kAllOnes64) {
    source_.lost(failure(WEFT_ERROR_DEVICE_LOST, "the device answers with all ones"));
    return;
  }
  const bool stale = nothing_moves(cycle.value());
  const std::lock_guard lock(mutex_);
  if (cycle.value() != progress_cycle_) {
    progress_cycle_ = cycle.value();
    progress_time_ = now;
  }
  for (Wait* wait : waits_) {
    auto since = std::max(wait->start, progress_time_);
    if (wait->limits.guard_ms == 0) since = std::max(since, wait->idle_seen);
    if (now > since + milliseconds(guard_ms(wait->limits))) wait->verdict = Verdict::kGuard;
    if (stale && wait->limits.deadline_cycles == 0) wait->verdict = Verdict::kStale;
  }
  changed_.notify_all();
}

/// Cycles pass, engines are idle, and no completion has been written for kStaleCycles. Then the look starts anew.
bool Waits::nothing_moves(uint64_t cycle) {
  constexpr uint32_t kEnginesBusy = WEFT_REG_FIRMWARE_STATUS_CORE_BUSY | WEFT_REG_FIRMWARE_STATUS_COPY_BUSY;
  const auto completions = read64(transport_, WEFT_REG_PROGRESS);
  const auto status = read32(transport_, WEFT_REG_FIRMWARE_STATUS);
  if (!completions.ok() || !status.ok()) return false;
  const std::lock_guard lock(mutex_);
  const bool moves =
      completions.value() != completions_ || (status.value() & kEnginesBusy) != 0 || cycle < completions_cycle_;
  const bool stale = !moves && cycle - completions_cycle_ > kStaleCycles;
  if (moves || stale) {
    completions_ = completions.value();
    completions_cycle_ = cycle;
  }
  return stale;
}

void Waits::check_wall() {
  const auto now = Clock::now();
  for (Wait* wait : waits_) {
    if (wait->limits.wall_ms != 0 && now > wait->start + milliseconds(wait->limits.wall_ms))
      wait->verdict = Verdict::kWall;
  }
}

Status Waits::timed_out(const Wait& wait) {
  const auto cycle = read64(transport_, WEFT_REG_CYCLES);
  const auto progress = read64(transport_, WEFT_REG_PROGRESS);
  const auto text = [](const Result<uint64_t>& value) {
    return value.ok() ? std::to_string(value.value()) : std::string("?");
  };
  std::string why;
  switch (wait.verdict) {
    case Verdict::kDeadline:
      why = fmt::format(
          "the deadline of {} cycles was reached{}", wait.limits.deadline_cycles,
          wait.idle_time != Clock::duration{} ? ", at the rate of the clock while the device stood idle" : "");
      break;
    case Verdict::kIdle:
      why = "nothing is pending on the device, so nothing can end the wait";
      break;
    case Verdict::kGuard:
      why = fmt::format("no device cycle has passed for {} ms", guard_ms(wait.limits));
      break;
    case Verdict::kStale:
      why = fmt::format("nothing has moved on the device for more than {} cycles", kStaleCycles);
      break;
    case Verdict::kWall:
    case Verdict::kNone:
      why = fmt::format("{} ms have passed", wait.limits.wall_ms);
      break;
  }
  Detail detail;
  detail.queue = wait.event->queue();
  detail.command_id = wait.event->command_id();
  detail.tag = wait.event->tag();
  detail.cycle = cycle.ok() ? cycle.value() : 0;
  // Every command has an id; a wait of the host itself has none.
  const std::string subject = detail.command_id != 0 ? fmt::format("command {:#x} (tag {}) of queue {}",
                                                                   detail.command_id, detail.tag, detail.queue)
                                                     : "the wait for " + awaited_words(*wait.event);
  detail.message = fmt::format("{} has not ended: {}{}; device cycle {}, {} commands completed", subject, why,
                               source_.blocked(), text(cycle), text(progress));
  return Status(WEFT_ERROR_TIMEOUT_WAIT, std::move(detail));
}

}  // namespace weft::driver
