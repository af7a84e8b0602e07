// Timeline semaphores of the device, and their mirrors.
#include "driver/queue/timeline.hpp"

#include "driver/device/device.hpp"
#include "driver/report/fault_log.hpp"

namespace weft::driver {
namespace {

/// The mirror is written by the device while we look.
template <typename T>
T load(const HostMemory& mirror, size_t offset) {
  T value;
  // Acquire: pairs with the device's release store of the last 8 bytes (error, failed); the value lies before them.
  __atomic_load(reinterpret_cast<const T*>(mirror.data() + offset), &value, __ATOMIC_ACQUIRE);
  return value;
}

}  // namespace

Result<std::shared_ptr<Timeline>> Timeline::create(const std::shared_ptr<Device>& device, uint64_t value) {
  if (Status s = device->check(); !s.ok()) return s;
  device->collect();
  auto mirror = device->create_mirror();
  if (!mirror.ok()) return mirror.status();
  std::shared_ptr<Timeline> timeline(new Timeline);
  timeline->mirror_ = std::move(mirror.value());
  *reinterpret_cast<uint64_t*>(timeline->mirror_->data() + offsetof(weft_timeline_mirror, value)) = value;
  timeline->remains_.emplace_back();
  const auto reserved = device->reserve_timeline();
  if (!reserved.ok()) return reserved.status();
  const auto [id, generation] = reserved.value();
  Command command;
  command.opcode = WEFT_ADMIN_OPCODE_CREATE_TIMELINE;
  command.arg0 = value;
  command.arg1 = timeline->mirror_->iova();
  command.size = id;
  try {
    const auto ending = device->admin(command, generation);
    const Status status = ending.ok() ? ending.value().status : ending.status();
    if (!status.ok() && status.code() != WEFT_ERROR_TIMEOUT_WAIT) {
      device->release_timeline(id, generation);
      return status;
    }
    timeline->id_ = id;
    timeline->generation_ = generation;
    timeline->device_ = device;
    if (!status.ok()) return status;  // the device may have it yet: it is buried
    return timeline;
  } catch (const std::bad_alloc&) {  // the device has not heard of it
    device->release_timeline(id, generation);
    throw;
  }
}

Timeline::~Timeline() {
  const auto device = device_.lock();
  if (device == nullptr) return;
  remains_.front() = {id_, generation_, std::move(mirror_)};
  device->bury(std::move(remains_));
}

uint64_t Timeline::value() const { return load<uint64_t>(*mirror_, offsetof(weft_timeline_mirror, value)); }

bool Timeline::failed() const { return load<uint32_t>(*mirror_, offsetof(weft_timeline_mirror, failed)) != 0; }

Status Timeline::failure() const {
  if (!failed()) return {};
  weft_fault_record record{};
  record.error = WEFT_ERROR_DEPENDENCY_FAILED;
  record.detail0 = load<uint64_t>(*mirror_, offsetof(weft_timeline_mirror, root));
  record.detail1 = load<uint32_t>(*mirror_, offsetof(weft_timeline_mirror, error));
  return failure_of(record);
}

Status Timeline::failure_of(const weft_fault_record& record) const {
  return ::weft::driver::failure(WEFT_ERROR_DEPENDENCY_FAILED, "semaphore {} stays at {}: {}", id_, value(),
                                 describe_record(record));
}

std::string Timeline::describe_wait(uint64_t value) const {
  return fmt::format("semaphore {} to reach {}, which stands at {}", id_, value, this->value());
}

Status Timeline::signal(Device& device, uint64_t value) const {
  Command command;
  command.opcode = WEFT_ADMIN_OPCODE_SIGNAL_TIMELINE;
  command.arg0 = value;
  command.size = id_;
  const auto ending = device.admin(command, generation_);
  if (!ending.ok()) return ending.status();
  const Status& status = ending.value().status;
  if (status.code() == WEFT_ERROR_INVALID_ARGUMENT)
    return ::weft::driver::failure(status.code(), "semaphore {} stands at {} and only grows: a signal of {}", id_,
                                   this->value(), value);
  return status;
}

}  // namespace weft::driver
