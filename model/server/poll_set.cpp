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

PollSet::Known& PollSet::known(int fd) {
  const auto number = static_cast<size_t>(fd);
  if (number >= known_.size()) known_.resize(number + 1);
  return known_[number];
}

void PollSet::keep(int fd, size_t key) {
  drop(fd);
  if (!unusable_ && !add({fd, POLLIN, 0})) unusable_ = true;
  Known& kept = known(fd);
  kept.kept = true;
  kept.key = key;
  kept_.push_back(fd);
}

void PollSet::drop(int fd) {
  Known& dropped = known(fd);
  if (dropped.there || dropped.kept) (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);  // it may be closed
  if (dropped.there) std::erase(there_, fd);
  if (dropped.kept) std::erase(kept_, fd);
  dropped = {};
}

bool PollSet::update(std::span<pollfd> polled) {
  turn_++;
  for (size_t place = 0; place < polled.size(); place++) {
    pollfd& asked = polled[place];
    asked.revents = 0;
    if (asked.fd < 0) continue;
    Known& known = this->known(asked.fd);
    if (!known.there || known.events != asked.events) {
      if (!add(asked)) return false;
      if (!known.there) there_.push_back(asked.fd);
    }
    known = {true, asked.events, turn_, static_cast<uint32_t>(place), false, 0};
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
  ready_.clear();
  if (unusable_ || (kept_.empty() && polled.size() <= kFew)) return poll_all(polled, timeout_ms);
  if (!update(polled)) {
    unusable_ = true;
    return poll_all(polled, timeout_ms);
  }
  events_.resize(polled.size() + kept_.size());
  const int count = ::epoll_wait(epoll_.get(), events_.data(), static_cast<int>(events_.size()), timeout_ms);
  for (int i = 0; i < count; i++) {
    const epoll_event& event = events_[static_cast<size_t>(i)];
    const Known& known = known_[static_cast<size_t>(event.data.fd)];
    if (known.kept)
      ready_.push_back(known.key);
    else
      polled[known.place].revents = static_cast<short>(event.events);
  }
  return count;
}

int PollSet::poll_all(std::span<pollfd> polled, int timeout_ms) {
  if (kept_.empty()) return ::poll(polled.data(), polled.size(), timeout_ms);
  std::vector<pollfd> all(polled.begin(), polled.end());
  for (const int fd : kept_) all.push_back({fd, POLLIN, 0});
  const int count = ::poll(all.data(), all.size(), timeout_ms);
  std::copy_n(all.begin(), polled.size(), polled.begin());
  for (size_t i = polled.size(); i < all.size() && count > 0; i++)
    if (all[i].revents != 0) ready_.push_back(known(all[i].fd).key);
  return count;
}

void PollSet::renew(std::span<const pollfd> polled) {
  for (const pollfd& asked : polled)
    if (asked.fd >= 0 && static_cast<size_t>(asked.fd) < known_.size())
      known_[static_cast<size_t>(asked.fd)].events = ~asked.events;
}

}  // namespace weft::server
