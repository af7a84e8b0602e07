// Eventfds: checked when they come, signalled without waiting.
#include "model/server/irq.hpp"

#include "model/server/received_file.hpp"

namespace weft::server {

bool EventfdInterrupts::assign(unsigned vector, FileDescriptor fd) {
  if (fd.valid() && !is_eventfd(fd.get())) return false;
  fds_[vector] = std::move(fd);
  return true;
}

void EventfdInterrupts::clear() {
  for (FileDescriptor& fd : fds_) fd.reset();
}

bool EventfdInterrupts::signal(unsigned vector) {
  const FileDescriptor& fd = fds_[vector];
  return fd.valid() && (signal_ == nullptr || signal_->send(fd.get()));
}

}  // namespace weft::server
