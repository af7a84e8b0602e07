// A timeline semaphore: a 64-bit value on the device that only grows, and its mirror in host memory.
#pragma once
#include <atomic>
#include <list>
#include <memory>

#include "driver/memory/host_memory.hpp"
#include "driver/status.hpp"

namespace weft::driver {

class Device;

/// What a timeline leaves on the device.
struct TimelineRemains {
  uint32_t id = 0;
  uint32_t generation = 0;
  std::unique_ptr<HostMemory> mirror;
};

/// Owner: its handle, commands in flight that name it, and waits of the host. Thread-safe. With the last owner it is
/// buried: deleted on the device by the next Device::collect().
class Timeline {
 public:
  /// BUSY: all ids are in use.
  static Result<std::shared_ptr<Timeline>> create(const std::shared_ptr<Device>& device, uint64_t value);
  ~Timeline();

  uint32_t id() const { return id_; }
  uint32_t generation() const { return generation_; }

  /// As the device last told.
  uint64_t value() const;
  /// DEPENDENCY_FAILED, which names the command that failed first, or OK: the semaphore can still grow.
  Status failure() const;
  bool failed() const;
  /// The host has a TimelineHandle, so it may still raise the value.
  bool host_can_signal() const { return handles_.load() != 0; }
  /// What stands in the way of a wait, for messages: "semaphore 3 to reach 7, which stands at 5".
  std::string describe_wait(uint64_t value) const;

  /// Raises the value from the host, and waits until the device has it. INVALID_ARGUMENT: it would not grow.
  Status signal(Device& device, uint64_t value) const;

 private:
  friend class TimelineHandle;
  Timeline() = default;
  Status failure_of(const weft_fault_record& record) const;

  std::weak_ptr<Device> device_;
  std::unique_ptr<HostMemory> mirror_;
  uint32_t id_ = 0;
  uint32_t generation_ = 0;
  std::list<TimelineRemains> remains_;  ///< one, to be buried in
  mutable std::atomic<uint32_t> handles_{0};
};

/// What lets the host raise a timeline: a handle of the caller, or a recorded command that would signal it. Commands in
/// flight and waits have a plain pointer. The verdict that nobody can end a wait counts these.
class TimelineHandle {
 public:
  TimelineHandle() = default;
  explicit TimelineHandle(std::shared_ptr<const Timeline> timeline) : timeline_(std::move(timeline)) {
    if (timeline_ != nullptr) timeline_->handles_++;
  }
  ~TimelineHandle() {
    if (timeline_ != nullptr) timeline_->handles_--;
  }
  TimelineHandle(TimelineHandle&& other) noexcept : timeline_(std::move(other.timeline_)) {}
  TimelineHandle& operator=(TimelineHandle&& other) noexcept {
    std::swap(timeline_, other.timeline_);
    return *this;
  }
  TimelineHandle(const TimelineHandle&) = delete;
  TimelineHandle& operator=(const TimelineHandle&) = delete;

  const Timeline* operator->() const { return timeline_.get(); }
  const Timeline& operator*() const { return *timeline_; }
  const std::shared_ptr<const Timeline>& share() const { return timeline_; }

 private:
  std::shared_ptr<const Timeline> timeline_;
};

}  // namespace weft::driver
