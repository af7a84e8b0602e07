// The dispatcher thread: runs callbacks, and notices a dead device when nobody waits.
#pragma once
#include <list>
#include <mutex>
#include <thread>

#include "driver/queue/waits.hpp"
#include "driver/transport/file_descriptor.hpp"

namespace weft::driver {

/// Sleeps on the connection's hang-up; listens for interrupts only while a callback is due from a command in flight, so
/// that without callbacks a completion wakes nobody but its waiter. Callbacks run one at a time, in the order they fell
/// due, under no lock. A callback that was taken is called: stop() waits for it.
class Dispatcher {
 public:
  Dispatcher(Waits& waits, CompletionSource& source, int liveness_fd)
      : waits_(waits), source_(source), liveness_fd_(liveness_fd) {}
  ~Dispatcher() { stop(); }

  Status start();
  /// Takes no more callbacks, and ends the thread once those that were taken have returned: their events have ended, or
  /// other threads are ending them. Not from a callback, and under no lock that a callback may want. Does nothing the
  /// second time.
  void stop();

  /// A callback is about to be registered: run() or unexpect() follows. From then on it is listened for. False: the
  /// dispatcher has stopped or is stopping, and takes none.
  [[nodiscard]] bool expect();
  /// It was not registered after all.
  void unexpect();
  /// It falls due now; expect() was called for it. Allocates nothing.
  void run(std::list<DueCallback> callback) noexcept;

  bool on_this_thread() const { return std::this_thread::get_id() == id_; }

 private:
  enum class Next { kRun, kListen, kAwaitEndings, kSleep, kEnd };
  void loop();
  Next next();
  void wake();
  void run_ready();

  Waits& waits_;
  CompletionSource& source_;
  const int liveness_fd_;
  FileDescriptor control_;
  std::thread thread_;
  std::thread::id id_;    ///< since start()
  bool hung_up_ = false;  ///< dispatcher thread only
  std::mutex mutex_;
  uint64_t expected_ = 0;  ///< callbacks that were taken and have not fallen due
  bool stopping_ = false;
  std::list<DueCallback> ready_;
};

}  // namespace weft::driver
