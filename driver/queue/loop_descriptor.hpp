// The descriptor that a caller's event loop waits for.
#pragma once
#include <atomic>
#include <mutex>

#include "driver/transport/file_descriptor.hpp"
#include "driver/transport/interrupts.hpp"

namespace weft::driver {

/// An epoll instance over the device's interrupts and an eventfd of its own: events may also end by another thread,
/// which has consumed the interrupt. Nothing is opened before somebody asks. Thread-safe.
class LoopDescriptor {
 public:
  /// Opened by the first call. The interrupts are connected. NO_HOST_MEMORY.
  Result<int> get(const Interrupts& interrupts);
  /// Called after events have ended. One atomic load if the descriptor was never opened.
  void tell() noexcept;
  /// After a look for what has ended: events are done before they are told of.
  void consume() noexcept;
  /// Once no event ends any more.
  void close() noexcept;

 private:
  std::mutex mutex_;
  FileDescriptor ended_;
  FileDescriptor epoll_;
  std::atomic<int> ended_fd_{-1};  ///< of ended_, once all is open
};

}  // namespace weft::driver
