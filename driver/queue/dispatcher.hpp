// The dispatcher thread: runs callbacks, and notices a dead device when nobody waits.
#pragma once
#include <atomic>
#include <list>
#include <mutex>
#include <thread>

#include "driver/queue/waits.hpp"
#include "driver/transport/file_descriptor.hpp"

namespace weft::driver {

/// Sleeps on the connection's hang-up; listens for interrupts only while a callback is due from a command in flight, so
/// that without callbacks a completion wakes nobody but its waiter. Callbacks run one at a time, in the order they fell
/// due.
class Dispatcher {
 public:
  Dispatcher(Waits& waits, CompletionSource& source, int liveness_fd)
      : waits_(waits), source_(source), liveness_fd_(liveness_fd) {}
  ~Dispatcher() { stop(); }

  Status start();
  /// Runs what has fallen due, then ends the thread. Not from a callback. Does nothing the second time.
  void stop();

  /// A callback was registered with a command in flight: listen.
  void expect();
  /// It was not registered after all.
  void unexpect() { expected_.fetch_sub(1); }
  /// It falls due now; expect() was called for it. Allocates nothing.
  void run(std::list<DueCallback> callback) noexcept;

  bool on_this_thread() const { return std::this_thread::get_id() == thread_.get_id(); }

 private:
  void loop();
  void listen();
  void wake();
  bool run_ready();

  Waits& waits_;
  CompletionSource& source_;
  const int liveness_fd_;
  FileDescriptor control_;
  std::thread thread_;
  std::atomic<uint64_t> expected_{0};
  std::atomic<bool> stopping_{false};
  bool hung_up_ = false;  ///< dispatcher thread only
  std::mutex mutex_;
  std::list<DueCallback> ready_;
};

}  // namespace weft::driver
