// A device's timeline semaphores: ids, waits of the host, and who waits for what.
#include <algorithm>

#include "driver/device/device.hpp"
#include "driver/queue/timeline.hpp"

namespace weft::driver {

Result<std::unique_ptr<HostMemory>> Device::create_mirror() {
  return HostMemory::create(transport_, iova_space_, sizeof(weft_timeline_mirror));
}

Result<Device::TimelineId> Device::reserve_timeline() {
  const std::lock_guard lock(timelines_mutex_);
  for (uint32_t id = 1; id < timeline_used_.size(); id++) {
    if (timeline_used_[id]) continue;
    timeline_used_[id] = true;
    return TimelineId{id, generation()};
  }
  return failure(WEFT_ERROR_BUSY, "all {} timeline semaphores of the device are in use", WEFT_LIMIT_TIMELINES);
}

void Device::release_timeline(uint32_t id, uint32_t generation) {
  const std::lock_guard lock(timelines_mutex_);
  if (generation == this->generation()) timeline_used_[id] = false;
}

void Device::bury(std::list<TimelineRemains> remains) noexcept {
  const std::lock_guard lock(remains_mutex_);
  timeline_remains_.splice(timeline_remains_.end(), remains);
}

void Device::collect_timelines() {
  std::list<TimelineRemains> remains;
  {
    const std::lock_guard lock(remains_mutex_);
    remains.swap(timeline_remains_);
  }
  while (!remains.empty()) {
    std::list<TimelineRemains> one;
    one.splice(one.end(), remains, remains.begin());
    const TimelineRemains& timeline = one.front();
    if (timeline.generation != generation() || !check().ok()) continue;  // went with the reset or the device
    Command command;
    command.opcode = WEFT_ADMIN_OPCODE_DELETE_TIMELINE;
    command.size = timeline.id;
    try {
      const auto ending = admin(command, timeline.generation);
      const weft_error code = ending.ok() ? ending.value().status.code() : ending.status().code();
      if (code == WEFT_ERROR_BUSY || code == WEFT_ERROR_TIMEOUT_WAIT) {  // used, or not known to be gone: another time
        bury(std::move(one));
      } else {
        release_timeline(timeline.id, timeline.generation);
      }
    } catch (const std::bad_alloc&) {  // it is still there: another time
      bury(std::move(one));
    }
  }
}

Status Device::wait_timeline(const std::shared_ptr<const Timeline>& timeline, uint64_t value,
                             const WaitLimits& limits) {
  if (Status s = check(); !s.ok()) return s;
  const auto event = std::make_shared<Event>(0, 0, uint8_t{WEFT_QUEUE_OPCODE_WAIT});
  event->set_wait(timeline, value);
  {
    const std::lock_guard lock(timelines_mutex_);
    host_waits_.push_back({timeline, value, event});
    host_wait_count_.store(host_waits_.size(), std::memory_order_seq_cst);  // pairs with check_host_waits
  }
  // True: the wait was still on the list, so this thread is the one that ends it.
  const auto forget = [&] {
    const std::lock_guard lock(timelines_mutex_);
    const auto forgotten = std::erase_if(host_waits_, [&](const HostWait& wait) { return wait.event == event; });
    host_wait_count_.store(host_waits_.size(), std::memory_order_seq_cst);
    return forgotten != 0;
  };
  // Lost or reset before it was on the list: a reset that is over shows in the generation alone.
  Status gone = check();
  if (gone.ok()) gone = check_generation(timeline->generation());
  if (!gone.ok() && forget()) return gone;
  try {
    const Status status = wait(*event, limits);
    if (status.ok()) return event->ending().status;
    forget();
    return status;
  } catch (const std::bad_alloc&) {
    forget();
    throw;
  }
}

/// Ends the waits whose value is reached, or will never be.
void Device::check_host_waits(const TakenEvents::Hold&, std::vector<Finished>& finished) {
  if (host_wait_count_.load(std::memory_order_seq_cst) == 0) return;  // pairs with wait_timeline
  const std::lock_guard lock(timelines_mutex_);
  finished.reserve(finished.size() + host_waits_.size());
  for (size_t i = 0; i < host_waits_.size();) {
    HostWait& wait = host_waits_[i];
    Status failed = wait.timeline->failure();  // before the value, which is written before it
    const bool reached = wait.timeline->value() >= wait.value;
    if (!reached && failed.ok()) {
      i++;
      continue;
    }
    finished.push_back({wait.event, Ending{reached ? Status() : std::move(failed), 0, 0}});
    host_waits_.erase(host_waits_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  host_wait_count_.store(host_waits_.size(), std::memory_order_seq_cst);
}

void Device::fail_host_waits(const Status& why) noexcept {
  const TakenEvents::Hold hold(taken_);
  for (;;) {
    Finished finished;
    {
      const std::lock_guard lock(timelines_mutex_);
      if (host_waits_.empty()) break;
      finished = {host_waits_.back().event, Ending{why, 0, 0}};
      host_waits_.pop_back();
      host_wait_count_.store(host_waits_.size(), std::memory_order_seq_cst);
    }
    finish(finished);
  }
  tell_ended();
}

void Device::fail_owed(const Queue& queue, weft_error why) {
  OwedSignals owed;
  queue.add_owed(why, owed);
  for (OwedSignal signal = owed.take(); signal.timeline != nullptr; signal = owed.take()) {
    const bool answered = [&] {
      try {
        return admin(fail_command(signal), signal.timeline->generation(), signal.timeline).ok();
      } catch (const std::bad_alloc&) {
        return false;
      }
    }();
    if (!answered) owe(std::move(signal));
  }
}

void Device::owe(const Queue& queue, weft_error why) noexcept {
  OwedSignals owed;
  queue.add_owed(why, owed);
  for (OwedSignal signal = owed.take(); signal.timeline != nullptr; signal = owed.take()) owe(std::move(signal));
}

void Device::owe(OwedSignal signal) noexcept {
  const std::lock_guard lock(owed_mutex_);
  owed_.add(signal);
  owes_ = true;
}

void Device::forget_owed() noexcept {
  OwedSignals owed;  // whose semaphores go after the lock
  const std::lock_guard lock(owed_mutex_);
  std::swap(owed, owed_);
  owes_ = false;
}

/// One at a time, so that the admin ring has room for everybody; the end of one sends the next. Waits for nothing: the
/// thread may hold the admin lock, or lead.
void Device::send_owed() {
  if (!owes_.load()) return;
  const auto event = std::make_shared<Event>(0, 0, uint8_t{WEFT_ADMIN_OPCODE_SIGNAL_TIMELINE});
  std::vector<std::shared_ptr<const void>> held(1);
  OwedSignal signal;
  {
    const std::lock_guard lock(owed_mutex_);
    if (owed_event_ != nullptr && !owed_event_->done()) return;
    signal = owed_.take();
    owes_ = !owed_.empty();
    if (signal.timeline == nullptr) return;
    owed_event_ = event;
  }
  held.front() = signal.timeline;  // its id stays its own until the device has answered
  event->hold(std::move(held));
  Status status;
  try {
    const Waits::Signalling signalling(waits_);
    const std::shared_lock lock(queues_mutex_);
    const bool there = queues_[0] != nullptr && signal.timeline->generation() == generation();
    const Submission submission(event, fail_command(signal));
    status = there ? queues_[0]->submit(std::span(&submission, 1)) : Status::without_words(WEFT_ERROR_INVALID_STATE);
  } catch (const std::bad_alloc&) {  // it wanted to say why it takes nothing
    status = Status::without_words(WEFT_ERROR_QUEUE_FULL);
  }
  // Lost: the event is in flight. Stopped, or of another generation: the semaphore goes, or has gone.
  if (status.ok() || status.code() == WEFT_ERROR_DEVICE_LOST) return;
  {
    const std::lock_guard lock(owed_mutex_);
    owed_event_.reset();
  }
  if (status.code() == WEFT_ERROR_QUEUE_FULL) owe(std::move(signal));
}

Hope Device::hope_of(const Event& event) {
  if (ends_everything()) return Hope::kAbort;
  Attainable values;
  const std::shared_lock lock(queues_mutex_);
  for (bool more = true; more;) {
    more = false;
    for (const auto& queue : queues_) more = (queue != nullptr && queue->add_attainable(values)) || more;
  }
  const bool of_the_host = event.command_id() == 0;
  if (of_the_host) return values.reaches(event) ? Hope::kSignal : Hope::kNobody;
  const auto& queue = queues_[event.queue()];
  return queue != nullptr ? queue->hope_of(event, values) : Hope::kNoSemaphore;
}

std::string Device::blocked() {
  std::string text;
  const std::shared_lock lock(queues_mutex_);
  for (const auto& queue : queues_) {
    if (queue == nullptr) continue;
    const auto event = queue->oldest_in_flight();
    const std::string waits = event != nullptr ? event->waits_for() : std::string();
    if (waits.empty()) continue;
    text += fmt::format("; queue {}: command {:#x} (tag {}) waits for {}", queue->id(), event->command_id(),
                        event->tag(), waits);
  }
  return text;
}

}  // namespace weft::driver
