// epoll and eventfd.
#include "driver/queue/loop_descriptor.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace weft::driver {

Result<int> LoopDescriptor::get(const Interrupts& interrupts) {
  const std::lock_guard lock(mutex_);
  if (epoll_.valid()) return epoll_.get();
  auto ended = FileDescriptor::opened_by([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
  auto epoll = FileDescriptor::opened_by([] { return ::epoll_create1(EPOLL_CLOEXEC); });
  if (!ended.valid() || !epoll.valid())
    return failure(WEFT_ERROR_NO_HOST_MEMORY, "a descriptor for an event loop: {}", std::strerror(errno));
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, ended.get(), &event) != 0)
    return failure(WEFT_ERROR_NO_HOST_MEMORY, "epoll_ctl: {}", std::strerror(errno));
  if (Status s = interrupts.watch(epoll.get()); !s.ok()) return s;
  ended_ = std::move(ended);
  epoll_ = std::move(epoll);
  ended_fd_ = ended_.get();
  return epoll_.get();
}

void LoopDescriptor::tell() noexcept {
  const int fd = ended_fd_.load();
  if (fd >= 0) (void)!::eventfd_write(fd, 1);
}

void LoopDescriptor::consume() noexcept {
  eventfd_t ended = 0;
  const int fd = ended_fd_.load();
  if (fd >= 0) (void)!::eventfd_read(fd, &ended);
}

void LoopDescriptor::close() noexcept {
  const std::lock_guard lock(mutex_);
  ended_fd_ = -1;
  epoll_.reset();
  ended_.reset();
}

}  // namespace weft::driver
