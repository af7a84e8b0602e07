// Eventfds: checked when they come, written without blocking.
#include "model/server/irq.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <cstdint>
#include <string_view>

namespace weft::server {

bool is_eventfd(int fd) {
  std::array<char, 64> target;
  const ssize_t length = ::readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), target.data(), target.size());
  return length < 0 || std::string_view(target.data(), static_cast<size_t>(length)) == "anon_inode:[eventfd]";
}

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
  if (!fd.valid()) return false;
  pollfd p{fd.get(), POLLOUT,
           0};  // O_NONBLOCK would be the client's as well: the flag belongs to the shared description
  if (::poll(&p, 1, 0) != 1 || (p.revents & POLLOUT) == 0) return true;
  const uint64_t one = 1;
  return ::write(fd.get(), &one, sizeof one) == sizeof one;
}

}  // namespace weft::server
