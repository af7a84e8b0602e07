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
  pthread_setname_np(thread_.native_handle(), "weft-dispatch");
  return {};
}

void Dispatcher::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  wake();
  thread_.join();
}

void Dispatcher::wake() {
  const uint64_t one = 1;
  while (::write(control_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void Dispatcher::expect() {
  expected_.fetch_add(1);
  wake();
}

void Dispatcher::run(std::list<DueCallback> callback) noexcept {
  {
    const std::lock_guard lock(mutex_);
    ready_.splice(ready_.end(), callback);
  }
  expected_.fetch_sub(1);
  wake();
}

bool Dispatcher::run_ready() {
  std::list<DueCallback> ready;
  {
    const std::lock_guard lock(mutex_);
    ready.swap(ready_);
  }
  for (const DueCallback& due : ready) due.callback(due.event->ending().status);
  return !ready.empty();
}

void Dispatcher::loop() {
  for (;;) {
    uint64_t count = 0;
    (void)!::read(control_.get(), &count, sizeof count);
    if (run_ready()) continue;
    if (stopping_) return;
    best_effort([&] { listen(); });  // what there was no memory for stands there the next time
  }
}

void Dispatcher::listen() {
  if (expected_ != 0) {
    waits_.listen(control_.get());
  } else if (wait_for_hang_up(hung_up_ ? -1 : liveness_fd_, control_.get())) {
    source_.lost(failure(WEFT_ERROR_DEVICE_LOST, "the device has closed its connection"));
    hung_up_ = true;
  }
}

}  // namespace weft::driver
