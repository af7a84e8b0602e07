// A timeline semaphore's commands to the device: made, raised by the host, buried.
#include "driver/device/device.hpp"
#include "driver/queue/timeline.hpp"

namespace weft::driver {

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
