/// What each thread is doing now, and a watchdog that says so and aborts if one call does not return.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "testbench/lifetime/calls.hpp"

namespace weft::lifetime {

/// How much slower than without sanitizers everything may be.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
inline constexpr int64_t kSlowness = 4;
#else
inline constexpr int64_t kSlowness = 1;
#endif
#else
inline constexpr int64_t kSlowness = 1;
#endif

/// A thread that makes calls: its own last calls, and the one that it is in. Only the thread itself writes.
struct ThreadRecord {
  static constexpr size_t kLast = 24;
  std::atomic<bool> used{false};
  std::atomic<const char*> role{""};
  std::atomic<int64_t> since_us{0};  ///< of the call that it is in; 0: in none
  std::atomic<int> current{0};
  std::array<std::atomic<uint32_t>, kLast> last{};  ///< call in 31:16, status in 15:0
  std::atomic<uint64_t> made{0};
};

/// The record of the calling thread, which goes back with the thread.
ThreadRecord& this_thread(const char* role);

/// Marks the calling thread as being in a call.
class InCall {
 public:
  InCall(ThreadRecord& record, Call call);
  ~InCall() { record_.since_us.store(0); }
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;
  void ended(weft_status status);

 private:
  ThreadRecord& record_;
  Call call_;
};

/// Every thread's role, call and last calls, one a line.
std::string describe_threads();

/// Aborts the program, with `again` (what to type to see it again) and every thread's call, when one of them lasts
/// longer than `limit_ms`, or if no thread has begun one for twice as long: then the program itself hangs.
class Watchdog {
 public:
  explicit Watchdog(int64_t limit_ms);
  ~Watchdog();
  /// For the program that runs now.
  void set_again(const std::string& again);

 private:
  void look();
  [[noreturn]] static void bark(const std::string& what);
  int64_t limit_us_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace weft::lifetime
