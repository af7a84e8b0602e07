/// poll() for a loop that asks for nearly the same descriptors in each turn.
#pragma once
#include <poll.h>
#include <sys/epoll.h>

#include <cstdint>
#include <span>
#include <vector>

#include "model/server/file_descriptor.hpp"

namespace weft::server {

/// Few descriptors are given to poll(). Many are kept in an epoll instance, which is told of changes only, so that a
/// turn costs the kernel what is ready and not what there is. Those that stay the same for many turns need not even be
/// asked for (keep()). One thread.
///
/// The kernel forgets a descriptor that is closed; the owner says of a number that may stand for another file now
/// (renew()).
class PollSet {
 public:
  /// So many, and fewer, are given to poll() if none is kept.
  static constexpr size_t kFew = 128;

  /// Takes its descriptor now: not when descriptors may have become rare.
  PollSet();

  /// From now on wait() looks at it too, for POLLIN, without being asked. One that is closed is to be dropped.
  void keep(int fd, size_t key);
  /// `fd` is no longer kept; it may be closed already, and the number be another file's.
  void drop(int fd);
  /// The keys of those that are kept and that the last wait() has found ready or closed by the other end, in any order.
  [[nodiscard]] std::span<const size_t> ready() const { return ready_; }

  /// As poll(): fills revents. Each number at most once, and none that is kept. -1: errno, EINTR among others.
  [[nodiscard]] int wait(std::span<pollfd> polled, int timeout_ms);
  /// These numbers may stand for other files than at the last wait().
  void renew(std::span<const pollfd> polled);

 private:
  struct Known {
    bool there = false;  // in the epoll instance, with these events
    short events = 0;
    uint32_t turn = 0;   // of the last wait() that asked for it
    uint32_t place = 0;  // there
    bool kept = false;   // and then not in there_
    size_t key = 0;
  };

  /// Brings the epoll instance to what is asked for. False: it cannot.
  [[nodiscard]] bool update(std::span<pollfd> polled);
  [[nodiscard]] bool add(const pollfd& asked);
  [[nodiscard]] Known& known(int fd);
  /// poll() of all of them.
  [[nodiscard]] int poll_all(std::span<pollfd> polled, int timeout_ms);

  FileDescriptor epoll_;
  bool unusable_ = false;
  std::vector<Known> known_;  // by number
  std::vector<int> there_;    // numbers in the instance
  std::vector<epoll_event> events_;
  std::vector<size_t> ready_;
  std::vector<int> kept_;
  uint32_t turn_ = 0;
};

}  // namespace weft::server
