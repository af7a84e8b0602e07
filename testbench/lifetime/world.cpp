#include "testbench/lifetime/world.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "testbench/lifetime/caller.hpp"
#include "testbench/lifetime/watch.hpp"

namespace weft::lifetime {

void Findings::report(const std::string& text) {
  const std::lock_guard lock(mutex_);
  count_++;
  fmt::print("FAILED: {}\n  again: {}\n{}", text, again_, describe_threads());
  std::fflush(stdout);
}

void Findings::set_again(const std::string& again) {
  const std::lock_guard lock(mutex_);
  again_ = again;
}

void Findings::checked(const char* kind) {
  const std::lock_guard lock(mutex_);
  checks_[kind]++;
}

std::map<std::string, uint64_t> Findings::checks() const {
  const std::lock_guard lock(mutex_);
  return checks_;
}

World::World(const Options& o, uint64_t s, Counts& c, Findings& f, Promptness& p)
    : options(o), seed(s), counts(c), findings(f), promptness(p), failures_before_(f.count()) {
  keeper_ = std::thread([this] { keep(); });
  control_ = std::thread([this] { be_control(); });
}

World::~World() {
  {
    const std::scoped_lock lock(mutex_, control_mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  control_changed_.notify_all();
  keeper_.join();
  control_.join();
}

int64_t World::slack_ms() const { return options.slack_ms * kSlowness; }

void World::promise_signal(Pinned<Semaphore> semaphore, uint64_t value, int64_t delay_us) {
  {
    const std::lock_guard lock(mutex_);
    promises_.emplace(now_us() + delay_us, Promise{std::move(semaphore), value});
  }
  changed_.notify_all();
}

void World::calm_callbacks() {
  calm = true;
  while (in_callbacks != 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
}

void World::keep_promises() {
  std::unique_lock lock(mutex_);
  hurry_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return promises_.empty() && !keeping_; });
  hurry_ = false;
}

void World::keep() {
  Caller caller(*this, seed ^ 0x7369676e616c, "signaller");
  std::unique_lock lock(mutex_);
  while (!stop_ || !promises_.empty()) {
    if (promises_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto first = promises_.begin();
    const int64_t wait_us = first->first - now_us();
    if (wait_us > 0 && !hurry_ && !stop_) {
      changed_.wait_for(lock, std::chrono::microseconds(wait_us));
      continue;
    }
    const Promise promise = std::move(first->second);
    promises_.erase(first);
    keeping_ = true;
    lock.unlock();
    caller.signal_from_host(*promise.semaphore, promise.value);
    lock.lock();
    keeping_ = false;
    changed_.notify_all();
  }
}

void World::control() {
  {
    const std::lock_guard lock(control_mutex_);
    if (control_us_ != 0) return;  // one is on its way
    control_us_ = now_us();
  }
  control_changed_.notify_all();
}

void World::be_control() {
  std::unique_lock lock(control_mutex_);
  for (;;) {
    control_changed_.wait(lock, [this] { return stop_ || control_us_ != 0; });
    if (control_us_ == 0) return;
    promptness.controls++;
    if (now_us() - control_us_ > Promptness::kLateUs) promptness.late_controls++;
    control_us_ = 0;
  }
}

}  // namespace weft::lifetime
