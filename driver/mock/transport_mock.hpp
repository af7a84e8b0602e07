// A scripted device in this process: boot, rings, copies and fills as the specification says, launches without their
// arithmetic, and a knob for every way to misbehave that the driver must survive.
#pragma once
#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "driver/transport/file_descriptor.hpp"
#include "driver/transport/transport.hpp"
#include "weft/spec/chips.hpp"

namespace weft::driver {

/// What the mock does wrong. Set through MockTransport::configure.
struct MockFaults {
  bool lose_interrupts = false;
  bool paused = false;                 ///< takes entries and leaves them in flight
  bool complete_on_alarm = false;      ///< although paused, runs what is in flight when a wait arms the alarm
  bool wrong_phase = false;            ///< writes completions of I/O queues that are not visible
  bool duplicate_completions = false;  ///< each twice
  bool all_ones = false;               ///< registers and configuration space read as all ones
  bool stale_ready = false;            ///< READY of another boot
  bool ignore_reset = false;
  bool reset_twice = false;          ///< the chip resets itself too, after a look at the generation
  bool fails_after_reset = false;    ///< before anybody boots it
  bool keeps_maps = false;           ///< refuses to unmap
  bool silent = false;               ///< admin commands are taken and not run
  bool beats = false;                ///< the heartbeat moves with each look at it
  uint32_t firmware_status = 0x102;  ///< FIRMWARE_STATUS: asleep at waypoint idle
  uint32_t stuck_after_stage = ~0u;  ///< boot goes no further
  uint32_t boot_error = 0;           ///< boot fails after stage 2
  uint32_t abi_version = WEFT_ABI_MAJOR << 16 | WEFT_ABI_MINOR;
  uint32_t magic = WEFT_MAGIC;
  uint32_t fail_next = 0;  ///< error of the next command, once
};

/// Does its work inside the doorbell write, so tests are deterministic. Thread-safe.
class MockTransport : public Transport {
 public:
  static constexpr uint32_t kAllQueues = ~0u;

  explicit MockTransport(const spec::Chip& chip, MockFaults faults = {});
  ~MockTransport() override;

  Status read(Region region, uint64_t offset, void* data, uint32_t bytes) override;
  Status write(Region region, uint64_t offset, const void* data, uint32_t bytes) override;
  Status post(Region region, uint64_t offset, const void* data, uint32_t bytes) override;
  Status dma_map(int fd, uint64_t fd_offset, uint64_t iova, uint64_t bytes) override;
  Status dma_unmap(uint64_t iova, uint64_t bytes) override;
  Status set_irqs(std::span<const int> eventfds) override;
  Status reset() override;
  int liveness_fd() const override { return alive_read_.get(); }
  void disconnect() override;
  void shutdown() override { disconnect(); }
  std::string last_words() override { return dead_ ? "the mock was told to die" : ""; }

  /// Changes knobs; unpausing runs what is in flight.
  void configure(const std::function<void(MockFaults&)>& change);
  /// The device dies: calls fail, the connection hangs up.
  void die();
  /// Runs up to `count` entries of each queue, or of one, although paused.
  void run(uint32_t count, uint32_t queue = kAllQueues);
  /// A completion out of nowhere, on the ring of `queue`; `named`: the queue that it names, if that is another.
  void inject_completion(uint32_t queue, uint16_t command_id, uint32_t status_code, uint32_t queue_head,
                         uint32_t named = kAllQueues);
  /// An interrupt for nothing.
  void raise_vector(uint32_t vector);
  /// A record in the log ring.
  void write_log(uint64_t argument);
  /// Halts a queue with a fault record, as BAD_DOORBELL does.
  void halt_queue(uint32_t queue, uint64_t doorbell);
  /// The chip's watchdog halts the firmware.
  void halt_firmware();
  /// The firmware stops itself.
  void panic(uint64_t value);
  /// Id of the n-th entry in flight of a queue.
  uint16_t pending_id(uint32_t queue, size_t n) const;
  size_t mapped_ranges() const;
  /// An engine that still runs could touch memory of this process.
  bool reaches_host_memory() const;
  uint64_t doorbell_writes() const { return doorbell_writes_.load(); }
  uint64_t interrupts_raised() const { return interrupts_raised_.load(); }
  uint64_t programs_loaded() const;

 private:
  struct Mapping {
    uint64_t bytes;
    std::byte* data;
  };
  struct MockQueue {
    bool active = false;
    uint64_t submission_iova = 0;
    uint32_t entries = 0;
    uint32_t ring = 0;  ///< completion ring that it feeds
    uint32_t head = 0;
    std::deque<weft_submission_entry> pending{};
    uint64_t broken_detail0 = 0;  ///< root cause of a broken chain, as in the fault record
    uint64_t broken_detail1 = 0;  ///< 0: not broken
  };
  struct MockRing {
    uint64_t iova = 0;
    uint32_t entries = 0;
    uint32_t queues = 0;  ///< that feed it
    uint32_t fed_entries = 0;
    uint32_t head = 0;
    uint32_t tail = 0;
    uint64_t coalesce_count = 0;
    uint64_t coalesced = 0;
  };
  struct MockTimeline {
    weft_timeline_mirror now{};
    uint64_t mirror_iova = 0;
  };
  struct Outcome {
    uint32_t error = WEFT_ERROR_OK;  ///< a knob may ask for a code that does not exist
    uint64_t detail0 = 0;
    uint64_t detail1 = 0;
    uint64_t start = 0;
  };

  // mutex_ is held by all of these.
  Status check() const;
  std::byte* host(uint64_t iova, uint64_t bytes);
  std::byte* memory(uint64_t tagged_address, uint64_t bytes);
  std::byte* hbm(uint64_t address, uint64_t bytes);
  uint64_t read_register(uint64_t offset) const;
  void write_register(uint64_t offset, uint64_t value);
  void doorbell(uint32_t queue, uint32_t tail);
  void run_pending(uint32_t limit, uint32_t queue = kAllQueues);
  Outcome execute(const weft_submission_entry& entry);
  Outcome execute_admin(const weft_submission_entry& entry);
  Outcome execute_launch(const weft_submission_entry& entry);
  Outcome create_queue(const weft_submission_entry& entry);
  void open_queue(uint32_t id, uint64_t submission_iova, uint32_t entries, uint32_t ring);
  void close_queue(uint32_t id);
  Outcome load_program(const weft_submission_entry& entry);
  Outcome dump_state(const weft_submission_entry& entry);
  Outcome reset_queue(const weft_submission_entry& entry);
  Outcome reset_engine(const weft_submission_entry& entry);
  Outcome get_log(const weft_submission_entry& entry);
  void listen(const weft_submission_entry& entry);
  void stop_listening(uint16_t command_id, bool all);
  void tell(weft_async_event event, uint32_t queue, uint32_t error);
  void end_pending(uint32_t queue, weft_reset_record& record);
  Outcome execute_timeline(const weft_submission_entry& entry);
  bool waits(const weft_submission_entry& entry) const;
  void publish(MockTimeline& timeline);
  void signal(uint32_t queue, const weft_submission_entry& entry, Outcome& outcome);
  void fail_signal(uint32_t queue, const weft_submission_entry& entry, uint32_t error);
  void run_queue(uint32_t id, uint32_t limit);
  Outcome abort(const weft_submission_entry& entry);
  Outcome run_entry(uint32_t queue, const weft_submission_entry& entry);
  void end(uint32_t queue, const weft_submission_entry& entry, const Outcome& outcome);
  void finish(uint32_t queue, const weft_submission_entry& entry, Outcome outcome);
  void cancel_entry(uint32_t queue, size_t index);
  void complete(uint32_t queue, uint16_t command_id, uint32_t tag, const Outcome& outcome);
  void write_completion(uint32_t queue, weft_completion_entry entry);
  bool write_fault(uint32_t queue, uint16_t command_id, const Outcome& outcome);
  void raise(uint32_t vector);
  void boot();
  void power_up(uint32_t generation);
  void log(weft_log_event event, uint64_t arg0, uint64_t arg1);

  const spec::Chip chip_;
  mutable std::mutex mutex_;
  MockFaults faults_;
  std::atomic<bool> dead_{false};
  bool shut_down_ = false;
  FileDescriptor alive_read_;
  FileDescriptor alive_write_;
  std::byte* hbm_ = nullptr;
  std::map<uint64_t, Mapping> mappings_;
  std::vector<FileDescriptor> eventfds_;
  std::array<MockQueue, WEFT_LIMIT_IO_QUEUES + 1> queues_;
  std::array<MockRing, WEFT_LIMIT_IO_QUEUES + 1> rings_;  ///< by id of the queue that each was made with
  std::map<uint64_t, std::vector<weft_program_kernel>> programs_;
  std::map<uint64_t, MockTimeline> timelines_;
  std::deque<weft_submission_entry> listeners_;
  std::deque<Outcome> news_;  ///< that nobody has heard
  weft_error_log error_log_{};
  std::array<weft_error_log_entry, WEFT_LIMIT_ERROR_LOG_ENTRIES> error_entries_{};
  bool signalled_ = false;  ///< a queue may go on that waited
  std::array<uint8_t, 256> config_{};
  std::array<uint32_t, WEFT_PCI_MSIX_VECTORS> vector_control_;
  uint64_t next_program_ = 1;
  uint32_t state_ = WEFT_DEVICE_STATE_PRESENT;
  uint32_t stage_ = WEFT_BOOT_STAGE_ROM;
  uint32_t boot_error_ = 0;
  uint32_t generation_ = 0;
  uint64_t nonce_ = 0;
  uint64_t page_ = 0;
  uint64_t fault_iova_ = 0;
  uint64_t log_iova_ = 0;
  uint64_t fault_records_ = 0;
  uint32_t log_records_ = 0;
  uint64_t progress_ = 0;
  mutable uint64_t heartbeat_ = 0;
  uint64_t alarm_ = 0;
  uint32_t wait_status_ = 0;
  mutable uint64_t cycle_ = 0;
  std::atomic<uint64_t> doorbell_writes_{0};
  std::atomic<uint64_t> interrupts_raised_{0};
};

}  // namespace weft::driver
