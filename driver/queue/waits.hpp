// Waiting for events: the waiting thread itself listens for interrupts and drains the rings, one at a time.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "driver/queue/attainable.hpp"
#include "driver/queue/event.hpp"
#include "driver/transport/interrupts.hpp"

namespace weft::driver {

/// Bounds of a wait; 0: none, except for guard_ms.
struct WaitLimits {
  static constexpr uint32_t kDefaultGuardMs = 30000;
  uint64_t deadline_cycles = 0;  ///< device cycles from now
  uint32_t guard_ms = 0;         ///< wall-clock time in which the device's cycle counter stands still; 0: the default,
                                 ///< not counted while the device says that it has nothing to do
  uint32_t wall_ms = 0;          ///< wall-clock time in all
  bool until_idle = false;       ///< ends once the device has nothing to do, whoever could still signal
};

/// What Waits needs of the device. Called under no lock, except where it says so.
class CompletionSource {
 public:
  /// Takes completions off all rings and ends their events. Returns how many.
  virtual size_t drain() = 0;
  /// When it returns, every event has ended whose command the device had completed before the call, also those that
  /// other threads have taken off the rings.
  virtual void settle() = 0;
  /// The device is gone: ends every event.
  virtual void lost(const Status& why) = 0;
  /// Vector 0 was raised and nothing had ended: has the device failed?
  virtual void check_failed() = 0;
  /// What queues wait for besides engines, for messages: "; queue 1: command ... waits for ..." or empty.
  virtual std::string blocked() = 0;
  /// Called under the lock of Waits; allocates nothing.
  virtual Hope hope_of(const Event& event) = 0;

 protected:
  ~CompletionSource() = default;
};

/// One thread at a time leads: it sleeps on the interrupts, drains, and tells the others. So a lone waiter is woken by
/// the device and by nobody else. A thread that stops leading wakes those that are left, the dispatcher among them, so
/// that one of them leads. Behind the interrupts runs a slow poll: a lost interrupt costs latency and a count.
///
/// The device's wait alarm: it is written when a wait has a deadline, or has lasted longer than a grace period, so that
/// short waits cost no message. Written after the doorbells of its waiters, it makes the device say
/// IDLE_WITH_OUTSTANDING once nothing is pending; an epoch tells which waits such a verdict covers. A wait that
/// somebody can still end by a signal goes on in spite of it, and arms the alarm again after a while: such a wait is
/// parked.
class Waits {
 public:
  static constexpr int kSlowPollMs = 20;
  static constexpr int kGraceMs = 2;
  static constexpr int kParkedMs = 100;

  /// `slow_poll_ms`: tests turn the slow poll off by a long period, so that a wake-up that is missed shows.
  Waits(Transport& transport, Interrupts& interrupts, CompletionSource& source, int slow_poll_ms)
      : transport_(transport), interrupts_(interrupts), source_(source), slow_poll_ms_(slow_poll_ms) {}

  /// For deadlines of waits that stand parked. Before the first wait; 0: nothing is known.
  void set_clock(uint64_t hz) { clock_hz_ = hz; }
  /// Lives while a doorbell is rung that may set semaphores or their waiters free. A verdict says nothing about them if
  /// the doorbell had not reached the device when the alarm was armed, be it rung since or on its way then.
  class Signalling {
   public:
    explicit Signalling(Waits& waits) : waits_(waits) { waits_.signals_begun_.fetch_add(1); }
    ~Signalling() { waits_.signals_sent_.fetch_add(1); }
    Signalling(const Signalling&) = delete;
    Signalling& operator=(const Signalling&) = delete;

   private:
    Waits& waits_;
  };

  /// OK: the event is done. TIMEOUT_WAIT: says why the wait ended without it. Any thread, under no lock.
  /// `stale` (may be null): true if nothing on the device has moved for long although cycles pass; the caller may ask
  /// the firmware and wait again.
  Status wait(const Event& event, const WaitLimits& limits, bool* stale = nullptr);

  /// For the dispatcher: leads, or lets another lead, until something happens or `control_fd` is readable.
  void listen(int control_fd);
  /// After `control_fd` has become readable: listen() returns although another thread leads.
  void wake_listener();

  /// Looks once without sleeping, in the place of a thread that leads if none does.
  void look_now();

  /// After events have ended, in any thread: other waiters look again.
  void events_ended();

  uint64_t lost_interrupts() const { return lost_interrupts_.load(std::memory_order_relaxed); }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Verdict { kNone, kDeadline, kIdle, kGuard, kWall, kStale };

  struct Wait {
    const Event* event;
    WaitLimits limits;
    Clock::time_point start;
    uint64_t deadline_cycle = 0;  ///< absolute, 0: none
    uint64_t epoch = 0;           ///< of the alarm that covers it, 0: none yet
    Verdict verdict = Verdict::kNone;
    Clock::time_point parked_until{};  ///< needs no alarm before; in the past: not parked
    Clock::time_point idle_seen{};     ///< the device has said that it had nothing to do
    uint64_t idle_cycle = 0;           ///< device cycle of that
    Clock::duration idle_time{};       ///< in which the device stood idle since the wait began
    Wait* next = nullptr;
  };

  /// The waits of all threads, each on its thread's stack: no wait needs memory.
  struct WaitList {
    struct Iterator {
      Wait* wait;
      Wait* operator*() const { return wait; }
      Iterator& operator++() {
        wait = wait->next;
        return *this;
      }
      bool operator!=(const Iterator& other) const { return wait != other.wait; }
    };
    Iterator begin() const { return {first}; }
    Iterator end() const { return {nullptr}; }
    bool empty() const { return first == nullptr; }
    void add(Wait& wait) {
      wait.next = first;
      first = &wait;
    }
    void remove(const Wait& wait) {
      Wait** place = &first;
      while (*place != nullptr && *place != &wait) place = &(*place)->next;
      if (*place != nullptr) *place = wait.next;
    }
    Wait* first = nullptr;
  };

  void begin_waiting();
  void stop_waiting();
  void lead(std::unique_lock<std::mutex>& lock, int control_fd, int timeout_ms) noexcept;
  void look(const Wake& wake);
  void program_alarm() noexcept;
  int poll_timeout_ms() const;
  bool alarm_check_due(const Wake& wake);
  void check_alarm();
  void device_is_idle(Wait& wait, uint64_t cycle, uint64_t signals);
  static Clock::time_point alarm_due(const Wait& wait);
  void check_progress();
  bool nothing_moves(uint64_t cycle);
  void check_wall();
  Status timed_out(const Wait& wait);

  Transport& transport_;
  Interrupts& interrupts_;
  CompletionSource& source_;
  const int slow_poll_ms_;
  std::atomic<uint32_t> waiting_{0};  ///< threads in wait() and listen()
  std::atomic<uint64_t> lost_interrupts_{0};
  std::atomic<uint64_t> signals_begun_{0};
  std::atomic<uint64_t> signals_sent_{0};  ///< of them, those whose doorbell the device has
  uint64_t clock_hz_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool leading_ = false;
  WaitList waits_;
  uint64_t alarm_ = 0;          ///< last value written
  uint64_t epoch_ = 0;          ///< writes of a value that is not 0
  uint64_t alarm_signals_ = 0;  ///< signals_sent_ before the last of them
  Clock::time_point alarm_checked_{};
  Clock::time_point progress_checked_{};
  Clock::time_point progress_time_{};
  uint64_t progress_cycle_ = 0;
  uint64_t completions_ = 0;        ///< PROGRESS when it was last seen to move
  uint64_t completions_cycle_ = 0;  ///< device cycle of that look
};

}  // namespace weft::driver
