// One queue: submission ring, completion ring, command ids, and the argument lists of its launches.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "driver/memory/host_memory.hpp"
#include "driver/queue/attainable.hpp"
#include "driver/queue/command_ids.hpp"
#include "driver/queue/event.hpp"
#include "driver/queue/large_lists.hpp"
#include "driver/queue/owed_signals.hpp"
#include "driver/queue/queue_state.hpp"
#include "driver/queue/ring.hpp"
#include "driver/queue/taken_events.hpp"
#include "driver/queue/wait_graph.hpp"
#include "driver/report/fault_log.hpp"

namespace weft::driver {

/// What to submit; becomes a submission entry.
struct Command {
  uint8_t opcode = 0;
  uint8_t flags = 0;      ///< weft_submission_flag but `interrupt`
  bool interrupt = true;  ///< its end raises the ring's vector
  uint32_t tag = 0;
  uint32_t budget_kcycles = 0;
  uint64_t arg0 = 0;
  uint64_t arg1 = 0;  ///< LAUNCH: set by the queue
  uint64_t size = 0;
  uint16_t wait_id = 0;  ///< timeline semaphore, 0: none
  uint16_t signal_id = 0;
  uint64_t wait_value = 0;
  uint64_t signal_value = 0;
  std::span<const weft_launch_argument> arguments;  ///< LAUNCH
};

/// A command and the fresh event that ends with it.
struct Submission {
  Submission(std::shared_ptr<Event> e, const Command& c) : event(std::move(e)), command(c) {}
  std::shared_ptr<Event> event;
  Command command;
};

/// How a queue is made. With `completions`, completion_entries is 0. `priority`: weft_queue_priority. `coalesce_count`
/// up to 1: every interrupt is raised at once.
struct QueueShape {
  uint32_t entries = 0;
  uint32_t completion_entries = 0;
  std::shared_ptr<class Queue> completions = nullptr;  ///< whose completion ring it feeds too; null: one of its own
  uint32_t priority = WEFT_QUEUE_PRIORITY_NORMAL;
  uint32_t coalesce_count = 0;
  uint32_t coalesce_cycles = 0;
};

/// Counted by a queue's completions.
struct CompletionCounts {
  uint64_t submitted = 0;
  uint64_t completed = 0;
  uint64_t duplicate = 0;
  uint64_t late = 0;
  uint64_t unknown = 0;
  uint64_t bad = 0;  ///< did not pass their check, or named another queue or a head outside of the ring

  CompletionCounts& operator+=(const CompletionCounts& other);
};

/// Thread-safe; every call takes the queue's mutex for a short time and calls nobody back. In flight are at most
/// `entries` commands, so neither ring can ever overflow: the head of the completion ring is written back before it
/// matters.
///
/// Calls that hand out events which have ended on the device ask for a hold: see TakenEvents.
///
/// A completion ring belongs to the queue that it was made with, its host. Guests feed it too; their completions are
/// found by the host, whose memory lives as long as any of them. Of two mutexes, the host's is taken first.
class Queue {
 public:
  /// Rings in fresh, zeroed memory. `with_lists`: room for the argument list of a launch in each slot.
  static Result<std::shared_ptr<Queue>> create(std::shared_ptr<Transport> transport, std::shared_ptr<IovaSpace> space,
                                               std::shared_ptr<const FaultLog> faults, uint32_t id, uint32_t entries,
                                               uint32_t completion_entries, bool with_lists);
  /// The same for a queue that feeds the completion ring of `host`. INVALID_ARGUMENT: the ring is too small for all
  /// that would feed it; INVALID_STATE: `host` is itself a guest, or deleted.
  static Result<std::shared_ptr<Queue>> create_guest(std::shared_ptr<Transport> transport,
                                                     std::shared_ptr<IovaSpace> space,
                                                     std::shared_ptr<const FaultLog> faults, uint32_t id,
                                                     uint32_t entries, const std::shared_ptr<Queue>& host);
  ~Queue();

  uint32_t id() const { return id_; }
  /// weft_queue_priority; before the queue is made on the device.
  void set_priority(uint32_t priority) { priority_ = priority; }
  uint32_t priority() const { return priority_; }
  uint32_t entries() const { return submission_.entries(); }
  /// Of the completion ring that it feeds.
  uint32_t completion_entries() const { return host_ != nullptr ? host_->completion_entries() : completion_.entries(); }
  uint64_t submission_iova() const { return memory_->iova(); }
  uint64_t completion_iova() const {
    return host_ != nullptr ? host_->completion_iova() : memory_->iova() + completion_offset_;
  }
  /// Id of the completion ring that it feeds: its own, or its host's.
  uint32_t completion_ring() const { return host_ != nullptr ? host_->id_ : id_; }
  /// Another queue that the device knows feeds the same completion ring. Otherwise the ring goes on the device with
  /// this queue: a guest may be the last one, its host deleted.
  bool shares_completions() const { return host_ != nullptr ? host_->feeds_beside(*this) : has_guests(); }
  /// Others feed the ring that it feeds, or fed until it was deleted.
  bool ring_has_guests() const { return host_ != nullptr ? host_->has_guests() : has_guests(); }

  /// Writes the entries and rings the doorbell once; all or none. INVALID_ARGUMENT: more than the ring has entries;
  /// QUEUE_FULL (head, tail, size); the status given to stop(); DEVICE_LOST: the events are in flight, and end when the
  /// device is declared lost.
  Status submit(std::span<const Submission> submissions);

  /// Takes what the device has completed off the ring that the queue feeds, whosever command it is. Returns how many
  /// commands ended. Without memory (bad_alloc) what was not taken stays in the ring.
  size_t drain(const TakenEvents::Hold& hold, std::vector<Finished>& finished);

  /// CREATE_QUEUE has completed: commands are taken.
  void created();

  /// Refuses submissions with `why` from now on, with what has stopped it before if it is halted. Commands in flight
  /// stay in flight.
  void stop(const Status& why);
  /// As stop(), for a queue that goes with its device: why it was halted counts no more.
  void retire(const Status& why);

  /// Why commands are refused, with the queue's state. Never OK.
  Status refusal() const;

  /// Ends one command in flight with `why`; nothing if it is not.
  void fail_one(const TakenEvents::Hold& hold, uint16_t command_id, const Status& why, std::vector<Finished>& finished);

  /// Rings as new, except a completion ring that others feed. The device does not know the queue, and nothing of it is
  /// in flight. A completion ring that the queue feeds alone has the queue's own id from here on.
  void reinitialise();
  /// After reinitialise(), once the device knows the rings again: commands are taken.
  void rearm();

  /// The device knows it no more.
  void deleted();

  weft_queue_state state() const;

  /// Ends everything in flight with `why`; their completions, should they come, are late. Without memory (bad_alloc)
  /// nothing has ended, and nothing is taken any more.
  void fail(const TakenEvents::Hold& hold, const Status& why, std::vector<Finished>& finished);
  /// The same one by one, until nothing comes back. Needs no memory.
  std::optional<Finished> fail_next(const TakenEvents::Hold& hold, const Status& why) noexcept;

  /// Adds what its commands in flight owe to semaphores that can still grow, with `error` as what they end with.
  void add_owed(weft_error error, OwedSignals& owed) const;

  /// Appends every command in flight, oldest first.
  void outstanding(std::vector<OutstandingCommand>& out) const;

  /// The event's command is in flight here.
  bool has_in_flight(const Event& event) const;

  /// Some command in flight that ends by itself; null: none.
  std::shared_ptr<Event> any_in_flight() const;
  /// The one that all others of the queue are behind; null: none.
  std::shared_ptr<Event> oldest_in_flight() const;

  /// On a device that has nothing to do: adds what commands can signal that wait for nothing unattainable, nor are
  /// behind such a command. True: that was more than was known.
  bool add_attainable(Attainable& values) const;
  /// On a device that has nothing to do: what the event waits for. `values`: of all queues.
  Hope hope_of(const Event& event, const Attainable& values) const;

  struct Snapshot {
    uint32_t head;
    uint32_t tail;
    uint32_t in_flight;
    CompletionCounts counts;
  };
  Snapshot snapshot() const;

 private:
  Queue(std::shared_ptr<Transport> transport, std::shared_ptr<const FaultLog> faults,
        std::unique_ptr<HostMemory> memory, uint32_t id, uint32_t entries, uint32_t completion_entries,
        uint64_t completion_offset, uint64_t lists_offset, std::shared_ptr<Queue> host,
        std::shared_ptr<IovaSpace> space);
  uint32_t push(const Submission& submission, uint16_t id, std::vector<LargeLists::List>& large);
  Status submit_with(std::span<const Submission> submissions, std::vector<LargeLists::List>& large);
  void happens(QueueEvent event);
  Finished ended(std::shared_ptr<Event> event, const Status& why) noexcept;
  Status words_of(const weft_completion_entry& entry, uint8_t opcode) const noexcept;
  Status refusal_locked() const;
  struct Obstacles;
  Obstacles obstacles(const Attainable& values) const;
  size_t drain_ring(std::vector<Finished>& finished);
  void take(const weft_completion_entry& entry, std::vector<Finished>& finished) noexcept;
  void leave_host();
  bool has_guests() const;
  bool feeds_beside(const Queue& guest) const;
  void restart_completions(uint32_t ring_id);
  uint64_t write_list(uint32_t slot, const Command& command, std::vector<LargeLists::List>& large);
  std::optional<weft_launch_profile> read_profile(uint32_t slot) const;

  std::shared_ptr<Transport> transport_;
  std::shared_ptr<const FaultLog> faults_;
  std::unique_ptr<HostMemory> memory_;
  const uint32_t id_;
  uint32_t priority_ = WEFT_QUEUE_PRIORITY_NORMAL;
  const uint64_t completion_offset_;
  const uint64_t lists_offset_;
  const std::shared_ptr<Queue> host_;  ///< of its completion ring; null: itself

  mutable std::mutex mutex_;
  SubmissionRing submission_;
  CompletionRing completion_;
  uint32_t ring_id_;            ///< of completion_ on the device
  std::vector<Queue*> guests_;  ///< each leaves when it is deleted, at the latest when it dies
  uint32_t fed_entries_;        ///< of all queues that feed the completion ring
  CommandIds<std::shared_ptr<Event>> ids_;
  std::vector<const std::byte*> profiles_;  ///< by slot: of the launch, null: none
  LargeLists large_lists_;
  std::vector<LargeLists::List> large_in_slot_;  ///< by slot: the launch's list, null: it lies in memory_
  CompletionCounts counts_;
  weft_queue_state state_ = WEFT_QUEUE_STATE_CREATED;
  Status stopped_;  ///< why nothing is taken
};

}  // namespace weft::driver
