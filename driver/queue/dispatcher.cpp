// Loop of the dispatcher thread.
#include "driver/queue/dispatcher.hpp"

#include <pthread.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace weft::driver {

Status Dispatcher::start() {
  control_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!control_.valid()) return failure(WEFT_ERROR_NO_HOST_MEMORY, "eventfd: {}", std::strerror(errno));
  // Signals are the application's: its own threads take them.
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  try {
    thread_ = std::thread([this] { loop(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  id_ = thread_.get_id();
  pthread_setname_np(thread_.native_handle(), "weft-dispatch");
  return {};
}

void Dispatcher::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  if (!thread_.joinable()) return;
  wake();
  thread_.join();
}

void Dispatcher::wake() {
  const uint64_t one = 1;
  while (::write(control_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
  waits_.wake_listener();
}

bool Dispatcher::expect() {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    expected_++;
  }
  wake();
  return true;
}

void Dispatcher::unexpect() {
  {
    const std::lock_guard lock(mutex_);
    expected_--;
  }
  wake();
}

void Dispatcher::run(std::list<DueCallback> callback) noexcept {
  {
    const std::lock_guard lock(mutex_);
    ready_.splice(ready_.end(), callback);
    expected_--;
  }
  wake();
}

void Dispatcher::run_ready() {
  std::list<DueCallback> ready;
  {
    const std::lock_guard lock(mutex_);
    ready.swap(ready_);
  }
  for (const DueCallback& due : ready) due.callback(due.event->ending().status);
}

Dispatcher::Next Dispatcher::next() {
  const std::lock_guard lock(mutex_);
  if (!ready_.empty()) return Next::kRun;
  if (stopping_) return expected_ == 0 ? Next::kEnd : Next::kAwaitEndings;
  return expected_ != 0 ? Next::kListen : Next::kSleep;
}

/// Whatever changes what is next writes to control_ afterwards, so nothing is missed between next() and a sleep.
void Dispatcher::loop() {
  for (;;) {
    uint64_t count = 0;
    (void)!::read(control_.get(), &count, sizeof count);
    switch (next()) {
      case Next::kRun:
        run_ready();
        break;
      case Next::kListen:
        best_effort([&] { waits_.listen(control_.get()); });  // what there was no memory for stands there the next time
        break;
      case Next::kAwaitEndings:  // the thread that ends an event says so
        (void)wait_for_hang_up(-1, control_.get());
        break;
      case Next::kSleep:
        if (!wait_for_hang_up(hung_up_ ? -1 : liveness_fd_, control_.get())) break;
        best_effort([&] {
          source_.lost(failure(WEFT_ERROR_DEVICE_LOST, "the device has closed its connection"));
          hung_up_ = true;
        });
        break;
      case Next::kEnd:
        return;
    }
  }
}

}  // namespace weft::driver
