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
  record_.since_us.store(now_us());
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
  const std::lock_guard lock(again_mutex);
  again_text = again;
}

void Watchdog::look() {
  while (!stop_) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (const ThreadRecord& record : records) {
      const int64_t since = record.since_us;
      if (!record.used || since == 0 || now_us() - since < limit_us_) continue;
      const std::lock_guard lock(again_mutex);
      fmt::print("FAILED: {} has not returned for {} ms: a deadlock\n{}  again: {}\n",
                 name_of(static_cast<Call>(record.current.load())), (now_us() - since) / 1000, describe_threads(),
                 again_text);
      std::fflush(stdout);
      std::abort();
    }
  }
}

}  // namespace weft::lifetime
