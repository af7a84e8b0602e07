/// Timeline semaphores: 64-bit values that only grow, between queues and host. An entry may wait for a value before it
/// starts and raise a value when it has succeeded.
#pragma once
#include <stdint.h>

#include "firmware/queue/chain.hpp"
#include "firmware/queue/queue.hpp"
#include "firmware/status.hpp"

namespace weft::fw {

struct State;
struct Function;

/// Two words: a mirror is published for the last time when the semaphore fails, and the root cause takes its place.
/// All zero: not created.
class Timeline {
 public:
  static constexpr uint64_t kMirrorAlignment = 64;

  constexpr bool created() const { return (word_ & kCreated) != 0; }
  /// The command that was to raise it has failed: the value stays, and commands that wait for more fail, until it is
  /// deleted.
  constexpr bool failed() const { return (word_ & kFailed) != 0; }
  constexpr uint64_t value() const { return value_; }
  /// weft_timeline_mirror in host memory; 0: none, or the semaphore has failed.
  constexpr uint64_t mirror_iova() const { return failed() ? 0 : word_ & ~(kMirrorAlignment - 1); }
  /// Of the failure; only with failed().
  constexpr RootCause root() const {
    return RootCause{static_cast<uint8_t>(word_ >> kQueueAt & kQueueMask),
                     static_cast<weft_error>(word_ >> kErrorAt & 0xff), static_cast<uint16_t>(word_ >> 16),
                     static_cast<uint32_t>(word_ >> 32)};
  }

  /// `mirror_iova`: a multiple of kMirrorAlignment.
  constexpr void create(uint64_t value, uint64_t mirror_iova) {
    value_ = value;
    word_ = mirror_iova | kCreated;
  }
  constexpr void remove() { value_ = word_ = 0; }
  constexpr void raise(uint64_t value) { value_ = value; }
  constexpr void fail_with(const RootCause& root) {
    word_ = kCreated | kFailed | uint64_t{root.queue} << kQueueAt | static_cast<uint64_t>(root.error) << kErrorAt |
            uint64_t{root.command_id} << 16 | uint64_t{root.tag} << 32;
  }
  constexpr void forget_mirror() { word_ &= kMirrorAlignment - 1; }

 private:
  static constexpr uint64_t kCreated = 1, kFailed = 2, kQueueMask = 0x3f;
  static constexpr unsigned kQueueAt = 2, kErrorAt = 8;
  static_assert(kQueues <= kQueueMask);

  uint64_t value_;
  uint64_t word_;  // mirror, or root cause, and the two bits
};
static_assert(sizeof(Timeline) == 16);

/// Admin commands. INVALID_ARGUMENT {offset, value}; INVALID_STATE: exists already, or does not exist; BUSY: an entry
/// that waits for it is at the head of a queue.
Status create_timeline(Function& function, const weft_submission_entry& entry);
Status delete_timeline(const State& state, Function& function, const weft_submission_entry& entry);
/// The host raises a value. INVALID_ARGUMENT: it would not grow. DEPENDENCY_FAILED: the semaphore has failed.
/// Or, with an error in it, fails the semaphore for a command that it has ended itself, and which owed the value.
/// INVALID_ARGUMENT: no such error, or no such queue.
Status signal_timeline(Function& function, const weft_submission_entry& entry);

/// The semaphores that an entry names exist, and its signal can still grow. INVALID_ARGUMENT {offset, value}.
Status check_timelines(const Function& function, const weft_submission_entry& entry);

/// True: entry batch_next, which is `entry`, has to wait. False: it may be taken; `status` says if the wait has failed
/// (DEPENDENCY_FAILED; BUDGET_EXCEEDED for a WAIT; INVALID_ARGUMENT: the semaphore is gone).
bool timeline_holds(const Function& function, Queue& queue, const weft_submission_entry& entry, Status& status);

/// Device cycle at which the budget of a wait ends; UINT64_MAX: none.
uint64_t timeline_wake_cycle(const State& state);

/// The entry ends with `error`: raises its semaphore, or fails it with `root`. Returns what it ends with in the end:
/// SEMAPHORE_FAULT, if another has raised the semaphore to that value or beyond while it ran.
weft_error timeline_end(Function& function, const weft_submission_entry& entry, weft_error error,
                        const RootCause& root);

}  // namespace weft::fw
