// An event: how one command ended, exactly once.
#pragma once
#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/status.hpp"

namespace weft::driver {

/// How a command ended. Cycles are device cycles.
struct Ending {
  Status status;
  uint64_t start_cycle = 0;
  uint64_t end_cycle = 0;
};

/// Timeline semaphores of a command; id 0: none.
struct TimelineUse {
  uint16_t wait_id = 0;
  uint16_t signal_id = 0;
  uint64_t wait_value = 0;
  uint64_t signal_value = 0;
};

class Event;
class Timeline;

/// A callback with the event that has ended, whose status it gets. One node of a list: it is allocated when the
/// callback is registered, so that nothing is when the command ends.
struct DueCallback {
  std::function<void(const Status&)> callback;
  std::shared_ptr<const Event> event;
};

/// Thread-safe. Owner: the queue's slot while the command is in flight, and the caller that asked for it.
class Event {
 public:
  using Callback = std::function<void(const Status&)>;

  Event(uint32_t queue, uint32_t tag, uint8_t opcode) : queue_(queue), tag_(tag), opcode_(opcode) {}

  uint32_t queue() const { return queue_; }
  uint32_t tag() const { return tag_; }
  uint8_t opcode() const { return opcode_; }
  /// An ASYNC_EVENT: it ends when the device has news, and nobody waits for it to end.
  bool listens() const { return queue_ == 0 && opcode_ == WEFT_ADMIN_OPCODE_ASYNC_EVENT; }
  uint16_t command_id() const { return command_id_; }
  /// Free-running index of its entry in the submission ring.
  uint32_t ring_index() const { return ring_index_; }
  /// By the queue, under its mutex, before the command is visible to the device.
  void set_place(uint16_t id, uint32_t ring_index) {
    command_id_ = id;
    ring_index_ = ring_index;
  }
  /// By the queue, with the place; read under the queue's mutex.
  void set_timelines(const TimelineUse& use) { timelines_ = use; }
  const TimelineUse& timelines() const { return timelines_; }
  /// Keeps what the command uses alive until it has ended. By the submitter, before submission.
  void hold(std::vector<std::shared_ptr<const void>> resources) { resources_ = std::move(resources); }

  /// The semaphore that it waits for before it starts, and the value. By the submitter, before submission.
  void set_wait(std::shared_ptr<const Timeline> timeline, uint64_t value);
  /// Null: it waits for no semaphore.
  const Timeline* awaited() const { return awaited_.get(); }
  uint64_t awaited_value() const { return awaited_value_; }
  /// The semaphore that it signals. By the submitter, before submission.
  void set_signal(std::shared_ptr<const Timeline> timeline) { owed_ = std::move(timeline); }
  /// Until it has ended, under the queue's mutex; null: it signals none.
  const std::shared_ptr<const Timeline>& owed() const { return owed_; }
  /// The semaphore has not reached the value, and has not failed.
  bool waits() const;
  /// That in words; empty: it does not wait.
  std::string waits_for() const;

  /// Acquire: pairs with the release in complete(), so that ending() may be read.
  bool done() const { return done_.load(std::memory_order_acquire); }
  /// Only once done.
  const Ending& ending() const { return ending_; }
  /// Only once done; nothing if the command was not profiled.
  const std::optional<weft_launch_profile>& profile() const { return profile_; }
  /// By the queue, before complete().
  void set_profile(const weft_launch_profile& profile) { profile_ = profile; }

  /// Hang report about this command; empty: there is none.
  std::string report() const;
  void set_report(std::string path) const;

  /// Ends the command; called once, under no lock. Gives up the resources first. Returns the callback that is due, if
  /// one is registered; the caller names the event in it. Allocates nothing.
  std::list<DueCallback> complete(Ending ending) noexcept;

  enum class CallbackResult { kRegistered, kDue, kTaken };
  /// kRegistered: complete() will hand it out. kDue: the command has ended, the caller runs it. kTaken: there is one
  /// already.
  /// Only kRegistered takes the node of `callback`.
  CallbackResult set_callback(std::list<DueCallback>& callback);

 private:
  const uint32_t queue_;
  const uint32_t tag_;
  const uint8_t opcode_;
  uint16_t command_id_ = 0;
  uint32_t ring_index_ = 0;
  TimelineUse timelines_;
  std::atomic<bool> done_{false};
  Ending ending_;
  std::optional<weft_launch_profile> profile_;
  std::vector<std::shared_ptr<const void>> resources_;
  std::shared_ptr<const Timeline> awaited_;
  uint64_t awaited_value_ = 0;
  std::shared_ptr<const Timeline> owed_;
  mutable std::mutex mutex_;  ///< callback against completion, the report
  mutable std::string report_;
  std::list<DueCallback> callback_;  ///< none or one, without its event
  bool has_callback_ = false;
};

/// An event and its ending, between the queue's lock and complete().
struct Finished {
  std::shared_ptr<Event> event;
  Ending ending;
};

}  // namespace weft::driver
