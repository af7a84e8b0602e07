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
/// turn costs the kernel what is ready and not what there is. One thread.
///
/// The kernel forgets a descriptor that is closed; the owner says of a number that may stand for another file now
/// (renew()).
class PollSet {
 public:
  /// So many, and fewer, are given to poll().
  static constexpr size_t kFew = 128;

  /// Takes its descriptor now: not when descriptors may have become rare.
  PollSet();

  /// As poll(): fills revents. Each number at most once. -1: errno, EINTR among others.
  [[nodiscard]] int wait(std::span<pollfd> polled, int timeout_ms);
  /// These numbers may stand for other files than at the last wait().
  void renew(std::span<const pollfd> polled);

 private:
  struct Known {
    bool there = false;  // in the epoll instance, with these events
    short events = 0;
    uint32_t turn = 0;   // of the last wait() that asked for it
    uint32_t place = 0;  // there
  };

  /// Brings the epoll instance to what is asked for. False: it cannot.
  [[nodiscard]] bool update(std::span<pollfd> polled);
  [[nodiscard]] bool add(const pollfd& asked);

  FileDescriptor epoll_;
  bool unusable_ = false;
  std::vector<Known> known_;  // by number
  std::vector<int> there_;    // numbers in the instance
  std::vector<epoll_event> ready_;
  uint32_t turn_ = 0;
};

}  // namespace weft::server
