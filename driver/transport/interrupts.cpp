// Eventfds and poll.
#include "driver/transport/interrupts.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace weft::driver {
namespace {

constexpr short kHangUp = POLLHUP | POLLERR | POLLNVAL | POLLRDHUP;

/// Resets an eventfd; true if it was set.
bool consume(int fd) {
  uint64_t count = 0;
  return ::read(fd, &count, sizeof count) == sizeof count;
}

}  // namespace

Status Interrupts::connect(Transport& transport) {
  async_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  completions_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!async_.valid() || !completions_.valid())
    return failure(WEFT_ERROR_NO_HOST_MEMORY, "eventfd: {}", std::strerror(errno));
  liveness_fd_ = transport.liveness_fd();
  std::array<int, WEFT_PCI_MSIX_VECTORS> vectors;
  vectors.fill(completions_.get());
  vectors[0] = async_.get();
  return transport.set_irqs(vectors);
}

Wake Interrupts::wait(int timeout_ms, int control_fd) {
  // poll ignores negative descriptors.
  std::array<pollfd, 4> fds{{{completions_.get(), POLLIN, 0},
                             {async_.get(), POLLIN, 0},
                             {liveness_fd_, POLLRDHUP, 0},
                             {control_fd, POLLIN, 0}}};
  Wake wake;
  const int ready = ::poll(fds.data(), fds.size(), timeout_ms);
  if (ready <= 0) {
    wake.timed_out = ready == 0;
    return wake;
  }
  if ((fds[0].revents & POLLIN) != 0) wake.interrupt = consume(completions_.get());
  if ((fds[1].revents & POLLIN) != 0) wake.async = consume(async_.get());
  wake.interrupt = wake.interrupt || wake.async;
  wake.hung_up = (fds[2].revents & kHangUp) != 0;
  wake.control = fds[3].revents != 0;
  if (wake.interrupt) count_.fetch_add(1, std::memory_order_relaxed);
  return wake;
}

bool Interrupts::arrives(int timeout_ms) const {
  std::array<pollfd, 2> fds{{{completions_.get(), POLLIN, 0}, {async_.get(), POLLIN, 0}}};
  return ::poll(fds.data(), fds.size(), timeout_ms) > 0;
}

Status Interrupts::watch(int epoll_fd) const {
  for (const auto& [fd, events] :
       {std::pair<int, uint32_t>(completions_.get(), EPOLLIN), std::pair<int, uint32_t>(async_.get(), EPOLLIN),
        std::pair<int, uint32_t>(liveness_fd_, EPOLLRDHUP)}) {
    if (fd < 0) continue;
    epoll_event event{};
    event.events = events;
    if (::epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
      return failure(WEFT_ERROR_NO_HOST_MEMORY, "epoll_ctl: {}", std::strerror(errno));
  }
  return {};
}

bool wait_for_hang_up(int fd, int control_fd) {
  std::array<pollfd, 2> fds{{{fd, POLLRDHUP, 0}, {control_fd, POLLIN, 0}}};
  const int ready = ::poll(fds.data(), fds.size(), -1);
  return ready > 0 && (fds[0].revents & kHangUp) != 0;
}

}  // namespace weft::driver
