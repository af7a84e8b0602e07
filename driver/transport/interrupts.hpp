// Interrupts of a device as descriptors: two eventfds (vector 0, completion vectors) and the connection's hang-up.
#pragma once
#include <atomic>
#include <cstdint>

#include "driver/transport/file_descriptor.hpp"
#include "driver/transport/transport.hpp"

namespace weft::driver {

/// What ended a wait.
struct Wake {
  bool interrupt = false;  ///< any vector
  bool async = false;      ///< vector 0
  bool hung_up = false;    ///< the device is gone
  bool control = false;    ///< the descriptor that the caller added
  bool timed_out = false;
};

/// All completion vectors share one eventfd: after a wake-up every ring is tested anyway, which costs one load each.
/// wait() is called by one thread at a time, the rest by any.
class Interrupts {
 public:
  /// Creates the eventfds and hands them to the device.
  Status connect(Transport& transport);

  /// Sleeps until something happens or `timeout_ms` is over (-1: never), and consumes the interrupts it saw.
  Wake wait(int timeout_ms, int control_fd = -1);

  /// True if an interrupt has come that wait() has not consumed, or comes within the time. Consumes nothing.
  bool arrives(int timeout_ms) const;

  /// Makes an epoll instance readable while wait() would return at once.
  Status watch(int epoll_fd) const;

  uint64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  FileDescriptor async_;
  FileDescriptor completions_;
  int liveness_fd_ = -1;
  std::atomic<uint64_t> count_{0};
};

/// Waits until `fd` hangs up (returns true) or `control_fd` is readable.
bool wait_for_hang_up(int fd, int control_fd);

}  // namespace weft::driver
