/// What a program knows of each handle: the abstract state from which the oracle tells the outcomes that are allowed.
/// Written by many threads at once, so each fact only ever grows: "has begun", "has ended", "at most", "at least".
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "testbench/random/draw.hpp"
#include "weft/weft.h"

namespace weft::lifetime {

inline int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Something that ends commands or refuses calls: a close, a reset, a cancel. It counts before it begins and after it
/// has ended, so that a thread beside it knows that it may act, and later that it cannot.
struct Cause {
  std::atomic<uint32_t> begun{0}, done{0};
  /// To be taken before a call, and given to `may_act_since` after it.
  [[nodiscard]] uint32_t mark() const { return done.load(); }
  [[nodiscard]] bool may_act_since(uint32_t mark) const { return begun.load() > mark; }
};

class Acting {
 public:
  explicit Acting(Cause& cause) : cause_(cause) { cause_.begun++; }
  ~Acting() { cause_.done++; }
  Acting(const Acting&) = delete;
  Acting& operator=(const Acting&) = delete;

 private:
  Cause& cause_;
};

/// weft.h: two threads may not release one handle, nor use it while another releases it. So whoever uses a handle pins
/// it, and whoever releases it claims it, for good.
class Object {
 public:
  [[nodiscard]] bool pin() {
    int32_t pins = use_.load();
    while (pins >= 0)
      if (use_.compare_exchange_weak(pins, pins + 1)) return true;
    return false;
  }
  void unpin() { use_--; }
  [[nodiscard]] bool claim() {
    int32_t none = 0;
    return use_.compare_exchange_strong(none, -1);
  }
  /// For an object that another thread has pinned for a moment at most: an event of one thread alone, at which another
  /// looks when it has closed their device; a device whose callbacks still act.
  void claim_soon() {
    while (!claim()) std::this_thread::yield();
  }

 private:
  std::atomic<int32_t> use_{0};
};

/// A pin on a shared object; empty if there was none or it was claimed.
template <typename T>
class Pinned {
 public:
  Pinned() = default;
  explicit Pinned(std::shared_ptr<T> object) {
    if (object != nullptr && object->pin()) object_ = std::move(object);
  }
  Pinned(Pinned&& other) noexcept : object_(std::move(other.object_)) { other.object_.reset(); }
  Pinned& operator=(Pinned&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Pinned() {
    if (object_ != nullptr) object_->unpin();
  }
  explicit operator bool() const { return object_ != nullptr; }
  T* operator->() const { return object_.get(); }
  T& operator*() const { return *object_; }
  [[nodiscard]] const std::shared_ptr<T>& shared() const { return object_; }

 private:
  std::shared_ptr<T> object_;
};

struct Event;

struct Device : Object {
  weft_device* handle = nullptr;
  std::string name;
  bool simulator = false;
  uint64_t hbm_free_bytes = 0;  ///< of the device when it was new
  Cause close, reset, engine_reset;
  std::atomic<bool> closed{false};           ///< weft_close has returned OK
  std::atomic<uint32_t> resets_ok{0};        ///< device resets that have returned OK
  std::atomic<bool> halts_anywhere{false};   ///< an armed bad doorbell may have met another queue than its own
  std::atomic<uint32_t> semaphores_made{0};  ///< calls begun
  /// Of handles, those that their release left with commands in flight, and those that a call may be taking.
  std::atomic<uint32_t> queues_alive{0};
  std::atomic<uint32_t> queues_beyond{0};  ///< how often a call made that more than max_queues
  std::atomic<uint32_t> listens{0};
  std::atomic<int64_t> callback_returned_us{0};  ///< the last one
  std::atomic<bool> overwriting{false};          ///< a thread is at Caller::overwrite
  uint32_t max_queues = 0;
  std::mutex mutex;
  std::vector<std::shared_ptr<Event>> events;    ///< all that submissions have given out
  std::vector<std::shared_ptr<Event>> suspects;  ///< ended with BAD_DOORBELL, which nobody armed for their queue
};

/// Counts a call that takes a queue of the device. Make it before the call; give_back() after it, unless the queue stays.
class QueueClaim {
 public:
  explicit QueueClaim(Device& device) : device_(device), beyond_(device.queues_beyond) {
    if (++device.queues_alive > device.max_queues) device.queues_beyond++;
  }
  void give_back() { device_.queues_alive--; }
  /// All queues of the device may have been taken at some time since: another thread's call may have come first.
  [[nodiscard]] bool may_be_busy() const { return device_.queues_beyond != beyond_; }

 private:
  Device& device_;
  const uint32_t beyond_;
};

/// What belongs to a device.
struct Child : Object {
  explicit Child(std::shared_ptr<Device> owner) : device(std::move(owner)), born_mark(device->reset.mark()) {}
  /// After the call that has made it.
  void born() { born_begun = device->reset.begun; }
  std::shared_ptr<Device> device;
  uint32_t born_mark;       ///< of device resets, before it was made
  uint32_t born_begun = 0;  ///< device resets that had begun when it had been made
};

struct Queue : Child {
  using Child::Child;
  weft_queue* handle = nullptr;
  uint32_t id = 0;
  uint32_t entries = 0;
  std::shared_ptr<Queue> ring;  ///< whose completion ring it shares
  Cause cancel, reset, release;
  std::atomic<uint32_t> submitted{0};  ///< commands, counted before the call
  std::atomic<bool> stalls{false};     ///< a command of it has waited for a semaphore
  std::atomic<bool> cancels{false};    ///< one of its commands was cancelled by itself
  std::atomic<bool> chained{false};    ///< a command of it was chained to the next
  std::atomic<bool> halts{false};      ///< a bad doorbell was armed for it
  std::atomic<bool> budgets{false};    ///< a command of it has a budget
};

struct Semaphore : Child {
  using Child::Child;
  weft_semaphore* handle = nullptr;
  std::atomic<uint64_t> at_most{0};   ///< no signal for more has begun
  std::atomic<uint64_t> at_least{0};  ///< a signal from the host for it has returned OK
  std::atomic<bool> may_fail{false};  ///< a command that should raise it was submitted
  Cause signals;                      ///< from the host
  std::mutex mutex;
  uint64_t promised = 0;  ///< largest value that the host has promised to signal, or has signalled; under `mutex`
  void raise_at_most(uint64_t value) { raise(at_most, value); }
  void raise_at_least(uint64_t value) { raise(at_least, value); }

 private:
  static void raise(std::atomic<uint64_t>& bound, uint64_t value) {
    uint64_t now = bound;
    while (now < value && !bound.compare_exchange_weak(now, value)) {
    }
  }
};

struct Buffer : Child {
  using Child::Child;
  weft_buffer* handle = nullptr;
  weft_memory memory = WEFT_MEMORY_HBM;
  uint64_t bytes = 0;
};

struct Program : Child {
  using Child::Child;
  weft_program* handle = nullptr;
};

struct Recording : Child {
  using Child::Child;
  weft_command_buffer* handle = nullptr;
  uint32_t commands = 0;
  std::shared_ptr<Buffer> scratch;  ///< that its fills write
};

/// How a thread saw the causes before it submitted a command.
struct Marks {
  uint32_t close = 0, reset = 0, engine_reset = 0, queue_cancel = 0, queue_reset = 0;
};

class World;

struct Event : Child {
  using Child::Child;
  weft_event* handle = nullptr;
  std::shared_ptr<Queue> queue;  ///< null: of weft_device_listen
  Marks marks;
  bool launch = false, recorded = false, budget = false;
  bool endless = false;             ///< a launch that outlasts its watchdog
  std::shared_ptr<Semaphore> wait;  ///< for which it waits
  uint64_t wait_value = 0;
  std::string what;
  Cause cancel;
  static constexpr int32_t kUnseen = -1;
  std::atomic<int32_t> seen{kUnseen};  ///< how it ended, once that was seen
  // Its callback.
  World* world = nullptr;
  uint64_t action_seed = 0;
  std::atomic<bool> callback_taken{false};  ///< a thread has set it, or is about to
  std::atomic<bool> callback_accepted{false};
  std::atomic<uint32_t> calls{0}, calls_ended{0};
  std::atomic<int64_t> due_us{0};   ///< when the callback fell due, if that is known
  std::atomic<int64_t> free_us{0};  ///< when the callback before it had returned
  std::atomic<int64_t> called_us{0};
};

/// Objects that threads share. Thread-safe.
template <typename T>
class Table {
 public:
  void add(std::shared_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    objects_.push_back(std::move(object));
  }
  /// Any, pinned; may be empty.
  Pinned<T> pick(random::Draw& draw) {
    const uint64_t number = draw.bits();
    std::shared_ptr<T> object;
    {
      const std::lock_guard lock(mutex_);
      if (objects_.empty()) return {};
      object = objects_[number % objects_.size()];
    }
    return Pinned<T>(std::move(object));
  }
  /// Any, claimed and no longer in the table; may be null.
  std::shared_ptr<T> take(random::Draw& draw) {
    const uint64_t number = draw.bits();
    const std::lock_guard lock(mutex_);
    if (objects_.empty()) return nullptr;
    const auto place = objects_.begin() + static_cast<std::ptrdiff_t>(number % objects_.size());
    auto object = *place;
    if (!object->claim()) return nullptr;
    objects_.erase(place);
    return object;
  }
  void remove(const T* object) {
    const std::lock_guard lock(mutex_);
    std::erase_if(objects_, [&](const auto& other) { return other.get() == object; });
  }
  std::vector<std::shared_ptr<T>> all() {
    const std::lock_guard lock(mutex_);
    return objects_;
  }
  size_t size() {
    const std::lock_guard lock(mutex_);
    return objects_.size();
  }

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<T>> objects_;
};

}  // namespace weft::lifetime
