// A device: its life, its queues, its completions.
#pragma once
#include <array>
#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "driver/device/boot.hpp"
#include "driver/device/fork.hpp"
#include "driver/hang/hang_report.hpp"
#include "driver/log/device_log.hpp"
#include "driver/memory/buffer.hpp"
#include "driver/queue/dispatcher.hpp"
#include "driver/queue/loop_descriptor.hpp"
#include "driver/queue/queue.hpp"
#include "driver/queue/timeline.hpp"
#include "driver/queue/waits.hpp"
#include "driver/transport/interrupts.hpp"
#include "weft/spec/chips.hpp"
#include "weft/weft.h"

namespace weft::driver {

class Program;

/// Thread-safe. Locks, outermost first: lifecycle (open, reset, queue creation, the begin of a close) > admin > Waits >
/// queue table > queue. Events end, callbacks fall due and resources go under no lock; no thread is joined and no
/// callback waited for under a lock. driver/README.md, "Threads and locks", has the rules.
class Device final : public CompletionSource, public std::enable_shared_from_this<Device> {
 public:
  static constexpr uint32_t kMaxQueueEntries = WEFT_LIMIT_RING_ENTRIES_MAX;
  static constexpr uint32_t kUserQueues = WEFT_LIMIT_IO_QUEUES - 1;  ///< one is left for loading programs

  /// Boots the device behind `transport`. `slow_poll_ms`: see Waits.
  static Result<std::shared_ptr<Device>> open(std::unique_ptr<Transport> transport, const BootLimits& limits = {},
                                              int slow_poll_ms = Waits::kSlowPollMs);
  ~Device() { (void)close(0).ok(); }

  /// Drains for up to `drain_ms`, then ends everything. When it returns OK every event is done and every callback has
  /// returned. INVALID_STATE: from a callback, or another thread closes the device or has closed it; nothing happens.
  Status close(uint32_t drain_ms);
  /// It belongs to a process that this one is a forked child of.
  bool inherited() const { return fork_generation_ != fork_generation(); }
  /// OK until close() has returned, whatever else has become of the device.
  Status check_not_closed() const;
  bool in_callback() const { return dispatcher_.on_this_thread(); }
  /// See weft_reset. `report` may be null.
  Status reset(weft_reset_report* report = nullptr);
  Status reset_queue(const std::shared_ptr<Queue>& queue, weft_reset_report& report);
  Status reset_core(weft_reset_report& report);
  /// OK while commands may be submitted; otherwise why not.
  Status check() const;

  const DeviceIdentity& identity() const { return identity_; }
  const spec::Chip& chip() const { return chip_; }
  uint32_t generation() const { return generation_.load(); }
  const std::shared_ptr<HbmSpace>& hbm() const { return hbm_; }
  Transport& transport() { return *transport_; }
  Result<uint64_t> cycle();
  Result<weft_device_state> state();
  Status counters(std::span<uint64_t> values);
  uint32_t read_log(std::span<weft_log_record> records, uint64_t* lost);

  struct Statistics {
    CompletionCounts counts;
    uint64_t interrupts;
    uint64_t lost_interrupts;
  };
  Statistics statistics() const;

  Result<std::shared_ptr<Buffer>> create_buffer(bool on_host, uint64_t bytes);
  /// A HOST buffer of the caller's memory: weft_buffer_import.
  Result<std::shared_ptr<Buffer>> import_buffer(int descriptor, uint64_t offset, uint64_t bytes);

  Result<std::shared_ptr<Queue>> create_queue(const QueueShape& shape);
  /// Waits for its commands, then deletes it; TIMEOUT_WAIT: it stays, and takes nothing more. Once the device has
  /// nothing to do it does not wait for signals.
  Status delete_queue(const std::shared_ptr<Queue>& queue);

  /// Submits all or none; the events are fresh and hold their commands' resources.
  Status submit(Queue& queue, std::span<const Submission> submissions);
  Status submit(Queue& queue, const Submission& one) { return submit(queue, std::span(&one, 1)); }
  /// Asks the device to end the command with CANCELLED, and waits for the answer; the event then ends once, perhaps
  /// otherwise. OK if it has ended. BUSY: too many commands are marked.
  Status cancel(const Event& event);
  /// The same for every command of the queue that was submitted before.
  Status cancel_all(const Queue& queue);
  /// Submits to the admin queue and waits. Returns how it ended, which may be with an error. Ids that the command names
  /// are those of `generation`: INVALID_STATE if the device is in another one, and nothing was submitted. `memory` that
  /// the command names is held until it has ended, which may be after the wait for it.
  Result<Ending> admin(const Command& command, uint32_t generation, std::shared_ptr<const void> memory = nullptr);
  /// GET_LOG. See weft_device_get_errors. device_news.cpp.
  struct ErrorLog {
    weft_error_log log;
    std::array<weft_error_log_entry, WEFT_LIMIT_ERROR_LOG_ENTRIES> entries;
  };
  Result<ErrorLog> error_log();
  /// ASYNC_EVENT. See weft_device_listen. device_news.cpp.
  Result<std::shared_ptr<Event>> listen();
  /// OK: the event is done. TIMEOUT_WAIT.
  Status wait(const Event& event, const WaitLimits& limits);
  /// Looks for completions without waiting.
  void poll() { drain(); }
  /// See weft_device_get_descriptor, weft_device_process.
  Result<int> loop_descriptor();
  Status process();
  /// INVALID_STATE: the event has a callback.
  Status set_callback(const std::shared_ptr<Event>& event, Event::Callback callback);

  /// See weft_fault_inject, weft_fault_disarm, weft_fault_get_info. fault_injection.cpp.
  struct Injection {
    uint32_t kind;  ///< weft_injected_fault
    uint32_t target, nth, count;
    std::array<uint64_t, 4> value;
  };
  struct InjectedFaults {
    uint32_t armed, acted;
  };
  Status inject(const Injection& fault);
  Status disarm_faults();
  Result<InjectedFaults> injected_faults();

  /// A program's place on the device, to be unloaded and freed by the next collect(): programs may die while
  /// completions are drained, where no admin command can wait.
  struct Remains {
    uint64_t program_id;
    uint32_t generation;
    HbmRange image;
    HbmRange scratch;
  };
  /// One node, made while the program was loaded: a burial needs no memory.
  void bury(std::list<Remains> remains) noexcept;
  /// Also what another thread is collecting is gone when it returns. Blocks; under no lock, as for admin().
  void collect();

  // Timeline semaphores (device_timelines.cpp). Their ids go with a reset.
  void bury(std::list<TimelineRemains> remains) noexcept;
  /// Nothing, or a look for completions: what the driver has to fail goes to the device one by one.
  void poll_owed() {
    if (owes_.load()) drain();
  }
  Result<std::unique_ptr<HostMemory>> create_mirror();
  struct TimelineId {
    uint32_t id;
    uint32_t generation;
  };
  /// BUSY: all are in use.
  Result<TimelineId> reserve_timeline();
  void release_timeline(uint32_t id, uint32_t generation);
  /// OK, or DEPENDENCY_FAILED: the value will never be reached. TIMEOUT_WAIT. INVALID_STATE: it went with a reset.
  Status wait_timeline(const std::shared_ptr<const Timeline>& timeline, uint64_t value, const WaitLimits& limits);

  /// What there is no memory for stays where it is until the next look; the rest ends, then bad_alloc.
  size_t drain() override;
  void settle() override;
  void lost(const Status& why) override;
  std::string blocked() override;
  Hope hope_of(const Event& event) override;
  void check_failed() override;

  /// How the device was opened; for reports. Before the handle is given out.
  void set_name(std::string name) {
    log_.set_device(name);
    log_.flush();
    name_ = std::move(name);
  }
  void set_recording(std::string path) { recording_ = std::move(path); }
  /// Lines of the driver and the firmware's records about this device.
  DeviceLog& log() { return log_; }
  enum class Ask { kNo, kYes };
  /// Everything for a report about `why` (OK: no reason). kYes waits for the firmware's answer, so not while draining.
  HangReport collect_report(const Status& why, Ask ask, const std::string& wave_file);
  /// The firmware's own page: DUMP_STATE. TIMEOUT_WAIT: it does not answer. `answered` (may be null): it did, be it
  /// with an error.
  Result<StatePage> ask_state(bool* answered = nullptr);
  /// Raw bytes of the page that ask_state() got last.
  std::vector<std::byte> last_state_page() const;
  /// Makes a loaded program known to reports. `program`: one node.
  void know_program(std::list<std::weak_ptr<const Program>> program) noexcept;

 private:
  /// Memory that the firmware writes besides rings; fresh for every boot.
  struct Control {
    explicit Control(std::unique_ptr<HostMemory> m)
        : memory(std::move(m)), faults(memory->data() + ControlMemory::kFaultOffset) {}
    std::shared_ptr<HostMemory> memory;  ///< also of who keeps the parameter page true
    FaultLog faults;
    uint32_t log_read = 0;  ///< sequence of the last log record returned
  };
  enum class State { kOpening, kReady, kResetting, kFailed, kLost, kClosed };

  Device(std::unique_ptr<Transport> transport, const BootLimits& limits, int slow_poll_ms);
  Status check_injection() const;
  void log_ending(const Finished& finished);
  void tell_log_level();
  Status start();
  Status bring_up();
  void set_state(State state, Status reason);
  Status begin_close(bool& drain_first);
  void finish(std::vector<Finished>& finished) noexcept;
  void finish(Finished& finished) noexcept;
  void fail_all(const Status& why) noexcept;
  /// Before commands end by the driver's own verdict: whatever the engines still do, they reach no memory of this
  /// process when it returns. Until restore() of the IOVA space, or for good if the device does not let go.
  void cut_off() noexcept;
  void fail_queue(Queue& queue, const Status& why) noexcept;
  void check_faults(const TakenEvents::Hold& hold, std::vector<Finished>& finished);
  Status halted(const TakenEvents::Hold& hold, const weft_fault_record& record, std::vector<Finished>& finished);
  void drain_before_close(uint32_t drain_ms);
  /// Submits to the admin queue and waits, without a report. TIMEOUT_WAIT. Without memory (bad_alloc) nothing was
  /// submitted.
  Status run_admin(const std::shared_ptr<Event>& event, const Command& command, uint32_t generation);
  // device_reset.cpp
  class ResetClock;
  Status reset_steps(const std::optional<StatePage>& page, ResetClock& clock);
  Status reset_queue_steps(Queue& queue, ResetClock& clock);
  Status admin_reset(uint8_t opcode, uint64_t target, weft_reset_record* record);
  Status mask_interrupts(uint32_t mask);
  void end_guilty(const std::optional<StatePage>& page);
  /// Counts guilty and innocent among the commands in reach of a reset that is under way.
  void tally(const Finished& finished);
  static constexpr uint32_t kAllQueues = 0;
  class Tally;
  /// What the device knows of a queue's completion ring when the queue is made.
  enum class Ring { kNew, kExists };
  Status set_coalescing(uint32_t queue, const QueueShape& shape);
  Status delete_queue_locked(Queue& queue);
  static Command create_command(const Queue& queue, Ring ring);
  // device_report.cpp
  std::optional<StatePage> recorded_state(const Detail& about);
  void see_queues(HangReport& report);
  /// Writes a report, if it can be; returns `why` with its place and what is wrong with the firmware.
  Status reported(const Status& why, Ask ask, FirmwareHealth* health);
  /// A wait has timed out. OK: the event is done by now.
  Status report_timeout(const Event& event, const Status& why, const WaitLimits& limits);
  bool firmware_answers();
  void fail_device(const Status& why);
  std::shared_ptr<const Program> find_program(uint64_t id);
  Status check_generation(uint32_t generation) const;
  bool ends_everything() const;
  class QueueId;
  Result<uint32_t> reserve_queue_id();
  void remove_queue(uint32_t id);
  void collect_timelines();
  void check_host_waits(const TakenEvents::Hold& hold, std::vector<Finished>& finished);
  void fail_host_waits(const Status& why) noexcept;
  /// Before commands end that the device has dropped: fails the semaphores that they owe. The lifecycle lock is held.
  void fail_owed(const Queue& queue, weft_error why);
  /// The same for a thread that must not wait for the device: send_owed() sends it.
  void owe(const Queue& queue, weft_error why) noexcept;
  void owe(OwedSignal signal) noexcept;
  void send_owed();
  void forget_owed() noexcept;
  Status abort(uint32_t queue, uint64_t what, uint32_t ring_index);
  /// Wakes the threads that wait for events, and the caller's event loop. Called after events have ended.
  void tell_ended() noexcept;

  const uint32_t fork_generation_ = fork_generation();
  std::shared_ptr<Transport> transport_;
  const BootLimits limits_;
  DeviceLog log_;
  std::shared_ptr<IovaSpace> iova_space_ = std::make_shared<IovaSpace>();
  DeviceIdentity identity_{};
  spec::Chip chip_{};
  std::shared_ptr<HbmSpace> hbm_;
  std::atomic<uint32_t> generation_{0};
  Interrupts interrupts_;
  TakenEvents taken_;
  LoopDescriptor loop_;
  Waits waits_;
  Dispatcher dispatcher_;

  std::mutex lifecycle_mutex_;
  std::mutex admin_mutex_;
  std::mutex fault_mutex_;
  std::mutex log_mutex_;
  std::mutex counter_mutex_;
  std::mutex injection_mutex_;

  mutable std::mutex state_mutex_;
  State state_ = State::kOpening;
  bool closing_ = false;  ///< a thread closes the device: reason_ stays
  Status reason_;         ///< why check() is not OK
  std::atomic<bool> closed_{false};

  mutable std::shared_mutex queues_mutex_;
  std::array<std::shared_ptr<Queue>, WEFT_LIMIT_IO_QUEUES + 1> queues_;  ///< by id; 0: admin
  std::array<bool, WEFT_LIMIT_IO_QUEUES + 1> queue_id_used_{};
  CompletionCounts retired_;  ///< of queues that are gone
  std::shared_ptr<Control> control_;

  std::mutex tally_mutex_;
  weft_reset_report* tally_ = nullptr;  ///< of the reset under way
  uint32_t tally_queue_ = kAllQueues;

  std::string name_;
  std::string recording_;
  std::mutex programs_mutex_;
  std::list<std::weak_ptr<const Program>> programs_;  ///< for reports

  std::mutex collect_mutex_;
  std::mutex remains_mutex_;
  std::list<Remains> remains_;
  std::list<TimelineRemains> timeline_remains_;

  struct HostWait {
    std::shared_ptr<const Timeline> timeline;
    uint64_t value;
    std::shared_ptr<Event> event;
  };
  std::mutex timelines_mutex_;
  std::array<bool, WEFT_LIMIT_TIMELINES + 1> timeline_used_{};
  std::vector<HostWait> host_waits_;
  std::atomic<size_t> host_wait_count_{0};

  std::mutex owed_mutex_;
  OwedSignals owed_;
  std::shared_ptr<Event> owed_event_;  ///< of the one that is under way
  std::atomic<bool> owes_{false};      ///< owed_ is not empty
};

}  // namespace weft::driver
