// What the device tells of itself: its own count of errors, and news.
#include <cstring>

#include "driver/device/device.hpp"

namespace weft::driver {

Result<Device::ErrorLog> Device::error_log() {
  if (Status s = check(); !s.ok()) return s;
  const uint32_t generation = this->generation();  // the memory's address is of it
  auto created = HostMemory::create(transport_, iova_space_, sizeof(ErrorLog));
  if (!created.ok()) return created.status();
  const std::shared_ptr<const HostMemory> memory = std::move(created.value());
  Command command;
  command.opcode = WEFT_ADMIN_OPCODE_GET_LOG;
  command.arg0 = memory->iova();
  command.size = sizeof(ErrorLog);
  const auto ending = admin(command, generation, memory);
  if (!ending.ok()) return ending.status();
  if (!ending.value().status.ok()) return ending.value().status;
  ErrorLog log;
  static_assert(offsetof(ErrorLog, entries) == sizeof(weft_error_log));
  std::memcpy(&log, memory->data(), sizeof log);
  return log;
}

Result<std::shared_ptr<Event>> Device::listen() {
  if (Status s = check(); !s.ok()) return s;
  std::shared_ptr<Queue> queue;
  {
    const std::shared_lock lock(queues_mutex_);
    queue = queues_[0];
  }
  if (queue == nullptr) return check();
  Command command;
  command.opcode = WEFT_ADMIN_OPCODE_ASYNC_EVENT;
  auto event = std::make_shared<Event>(0, 0, command.opcode);
  const std::lock_guard lock(admin_mutex_);
  if (Status s = submit(*queue, Submission{event, command}); !s.ok()) return s;
  return event;
}

}  // namespace weft::driver
