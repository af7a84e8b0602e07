/// One program: its devices and objects, the host's promised signals, and what was found wrong.
#pragma once
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "testbench/lifetime/calls.hpp"
#include "testbench/lifetime/objects.hpp"

namespace weft::lifetime {

/// What a run is made of.
struct Options {
  uint64_t seed = 1;
  uint64_t calls = 20'000;
  uint64_t first = 0;
  uint64_t programs = 0;  ///< 0: as many as the calls need
  uint64_t calls_per_program = 600;
  unsigned threads = 4;
  bool simulator = false;
  std::string device;           ///< as weft_open wants it
  int64_t slack_ms = 5'000;     ///< by which a call may be late, before kSlowness
  unsigned failures = 3;        ///< after which it stops
  bool judge_lateness = false;  ///< of callbacks, which needs a processor to spare; else it is told only
};

/// Callbacks whose time is known, and threads of this program that were woken at the same times: a machine that is busy
/// delays both.
struct Promptness {
  static constexpr int64_t kLateUs = 12'000;
  std::atomic<uint64_t> callbacks{0}, late{0}, controls{0}, late_controls{0};
};

/// What is found in all programs of a run. Thread-safe.
class Findings {
 public:
  /// Prints it, with how to see it again.
  void report(const std::string& text);
  void set_again(const std::string& again);
  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] std::map<std::string, uint64_t> checks() const;
  /// One more comparison of a kind was made.
  void checked(const char* kind);

 private:
  mutable std::mutex mutex_;
  std::string again_;
  std::atomic<uint64_t> count_{0};
  std::map<std::string, uint64_t> checks_;
};

class World {
 public:
  World(const Options& options, uint64_t seed, Counts& counts, Findings& findings, Promptness& promptness);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// The host will signal the semaphore, from a thread of its own, some time later.
  void promise_signal(Pinned<Semaphore> semaphore, uint64_t value, int64_t delay_us);
  /// Waits until no callback makes calls any more.
  void calm_callbacks();
  /// Waits until every promise is kept.
  void keep_promises();
  /// At the same moment as a callback falls due: wakes a thread and measures when it runs.
  void control();

  void fail(const std::string& text) { findings.report(text); }
  [[nodiscard]] bool failed() const { return findings.count() != failures_before_; }
  [[nodiscard]] int64_t slack_ms() const;

  const Options& options;
  const uint64_t seed;
  Counts& counts;
  Findings& findings;
  Promptness& promptness;
  std::atomic<int64_t> calls_left{0};
  std::atomic<uint64_t> next_tag{1};
  std::atomic<bool> calm{false};          ///< callbacks make no calls any more
  std::atomic<uint32_t> in_callbacks{0};  ///< that run now

  Table<Device> devices;
  Table<Queue> queues;
  Table<Semaphore> semaphores;
  Table<Buffer> buffers;
  Table<Event> events;
  Table<Program> programs;
  Table<Recording> recordings;
  std::mutex all_mutex;
  std::vector<std::shared_ptr<Device>> all_devices;  ///< those that were closed too

 private:
  struct Promise {
    Pinned<Semaphore> semaphore;
    uint64_t value;
  };
  void keep();
  void be_control();
  uint64_t failures_before_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<int64_t, Promise> promises_;  ///< by the time at which they are kept
  bool keeping_ = false, stop_ = false, hurry_ = false;
  std::mutex control_mutex_;
  std::condition_variable control_changed_;
  int64_t control_us_ = 0;
  std::thread keeper_, control_;
};

}  // namespace weft::lifetime
