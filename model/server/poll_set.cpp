// What is asked for is compared with what the epoll instance has.
#include "model/server/poll_set.hpp"

#include <algorithm>
#include <cerrno>

namespace weft::server {

static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLERR == POLLERR && EPOLLHUP == POLLHUP);

PollSet::PollSet() : epoll_(::epoll_create1(EPOLL_CLOEXEC)), unusable_(!epoll_.valid()) {}

bool PollSet::add(const pollfd& asked) {
  epoll_event event{};
  event.events = static_cast<uint32_t>(asked.events);
  event.data.fd = asked.fd;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, asked.fd, &event) == 0) return true;
  return errno == EEXIST && ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, asked.fd, &event) == 0;
}

bool PollSet::update(std::span<pollfd> polled) {
  turn_++;
  for (size_t place = 0; place < polled.size(); place++) {
    pollfd& asked = polled[place];
    asked.revents = 0;
    if (asked.fd < 0) continue;
    const auto number = static_cast<size_t>(asked.fd);
    if (number >= known_.size()) known_.resize(number + 1);
    Known& known = known_[number];
    if (!known.there || known.events != asked.events) {
      if (!add(asked)) return false;
      if (!known.there) there_.push_back(asked.fd);
    }
    known = {true, asked.events, turn_, static_cast<uint32_t>(place)};
  }
  std::erase_if(there_, [this](int fd) {
    Known& known = known_[static_cast<size_t>(fd)];
    if (known.there && known.turn == turn_) return false;
    if (known.there) (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);  // it may be closed
    known.there = false;
    return true;
  });
  return true;
}

int PollSet::wait(std::span<pollfd> polled, int timeout_ms) {
  if (polled.size() <= kFew || unusable_) return ::poll(polled.data(), polled.size(), timeout_ms);
  if (!update(polled)) {
    unusable_ = true;
    return wait(polled, timeout_ms);
  }
  ready_.resize(polled.size());
  const int count = ::epoll_wait(epoll_.get(), ready_.data(), static_cast<int>(ready_.size()), timeout_ms);
  for (int i = 0; i < count; i++) {
    const epoll_event& event = ready_[static_cast<size_t>(i)];
    polled[known_[static_cast<size_t>(event.data.fd)].place].revents = static_cast<short>(event.events);
  }
  return count;
}

void PollSet::renew(std::span<const pollfd> polled) {
  for (const pollfd& asked : polled)
    if (asked.fd >= 0 && static_cast<size_t>(asked.fd) < known_.size())
      known_[static_cast<size_t>(asked.fd)].events = ~asked.events;
}

}  // namespace weft::server
