#include "testbench/lifetime/watch.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "testbench/lifetime/objects.hpp"

namespace weft::lifetime {
namespace {

constexpr size_t kThreads = 256;
std::array<ThreadRecord, kThreads> records;
std::atomic<int64_t> last_call_us{0};  ///< when the last one of any thread began
std::mutex again_mutex;
std::string again_text;

class Claim {
 public:
  explicit Claim(const char* role) {
    for (ThreadRecord& record : records) {
      bool unused = false;
      if (!record.used.compare_exchange_strong(unused, true)) continue;
      record.role = role;
      record.made = 0;
      record_ = &record;
      return;
    }
    std::fprintf(stderr, "lifetimes: more than %zu threads\n", kThreads);
    std::abort();
  }
  ~Claim() { record_->used = false; }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ThreadRecord& record() { return *record_; }

 private:
  ThreadRecord* record_ = nullptr;
};

}  // namespace

ThreadRecord& this_thread(const char* role) {
  thread_local Claim claim(role);
  return claim.record();
}

InCall::InCall(ThreadRecord& record, Call call) : record_(record), call_(call) {
  record_.current.store(static_cast<int>(call));
  const int64_t now = now_us();
  last_call_us.store(now);
  record_.since_us.store(now);
}

void InCall::ended(weft_status status) {
  record_.last[record_.made++ % ThreadRecord::kLast] =
      static_cast<uint32_t>(call_) << 16 | (static_cast<uint32_t>(status) & 0xffff);
}

std::string describe_threads() {
  std::string text;
  const int64_t now = now_us();
  for (size_t i = 0; i < kThreads; i++) {
    const ThreadRecord& record = records[i];
    if (!record.used) continue;
    const int64_t since = record.since_us;
    text += fmt::format("  thread {:2} {:9} ", i, record.role.load());
    text += since != 0 ? fmt::format("in {} for {} ms;", name_of(static_cast<Call>(record.current.load())),
                                     (now - since) / 1000)
                       : std::string("in no call;");
    text += " before that, the last one first:";
    const uint64_t made = record.made;
    for (uint64_t n = 1; n <= ThreadRecord::kLast && n <= made; n++) {
      const uint32_t call = record.last[(made - n) % ThreadRecord::kLast];
      text += fmt::format(" {}={}", name_of(static_cast<Call>(call >> 16)),
                          weft_status_name(static_cast<weft_status>(call & 0xffff)));
    }
    text += '\n';
  }
  return text;
}

Watchdog::Watchdog(int64_t limit_ms) : limit_us_(limit_ms * 1000), thread_([this] { look(); }) {}

Watchdog::~Watchdog() {
  stop_ = true;
  thread_.join();
}

void Watchdog::set_again(const std::string& again) {
  last_call_us = now_us();
  const std::lock_guard lock(again_mutex);
  again_text = again;
}

void Watchdog::bark(const std::string& what) {
  const std::lock_guard lock(again_mutex);
  fmt::print("FAILED: {}: a deadlock\n{}  again: {}\n", what, describe_threads(), again_text);
  std::fflush(stdout);
  std::abort();
}

void Watchdog::look() {
  while (!stop_) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (const int64_t silent_us = now_us() - last_call_us; last_call_us != 0 && silent_us > 2 * limit_us_)
      bark(fmt::format("no thread has begun a call for {} ms", silent_us / 1000));
    for (const ThreadRecord& record : records) {
      const int64_t since = record.since_us;
      if (!record.used || since == 0 || now_us() - since < limit_us_) continue;
      bark(fmt::format("{} has not returned for {} ms", name_of(static_cast<Call>(record.current.load())),
                       (now_us() - since) / 1000));
    }
  }
}

}  // namespace weft::lifetime
