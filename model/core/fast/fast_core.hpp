/// The tensor core as the golden model's arithmetic with an event-driven timing model. See README.md.
#pragma once
#include <array>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "model/core/fast/dma.hpp"
#include "model/core/fast/index_port.hpp"
#include "model/core/fast/inject.hpp"
#include "model/core/fast/mxu.hpp"
#include "model/core/fast/prefetch.hpp"
#include "model/core/fast/ring.hpp"
#include "model/core/fast/semaphores.hpp"
#include "model/core/fast/timing.hpp"
#include "model/core/fast/vpu.hpp"
#include "model/core/remote/remote_port.hpp"
#include "model/core/tensor_core.hpp"

namespace weft::core {

/// Runs commands at host speed: control (queues, checks, waits, retirement, registers), DMA, MXUs and VPU are stepped
/// as the RTL's registers are, in the cycles in which something moves, without the data, which move in larger pieces.
/// Cycles in which nothing can move are jumped over. Deterministic: no state but its own, no host time. One owner, one
/// thread; `bus` outlives it.
class FastCore final : public TensorCore, private RemoteCore {
 public:
  /// `remote`: the way to the other chips of a slice; nullptr: the core stands alone.
  FastCore(const spec::Chip& chip, MemoryBus& bus, const FastTiming& timing = {}, RemotePort* remote = nullptr);
  ~FastCore() override;
  FastCore(const FastCore&) = delete;
  FastCore& operator=(const FastCore&) = delete;

  [[nodiscard]] uint64_t read_csr(uint32_t offset) override;
  /// Writes and pushes take effect in the order of the calls, one write and one push a cycle, from the current cycle
  /// on.
  void write_csr(uint32_t offset, uint64_t value) override;
  [[nodiscard]] bool push(unsigned queue, const spec::Command& command) override;
  [[nodiscard]] bool busy() const override;
  [[nodiscard]] bool interrupt() const override { return interrupt_ != 0; }
  [[nodiscard]] uint64_t cycle() const override { return cycle_; }
  uint64_t advance(uint64_t until) override;
  uint64_t advance_while_busy(uint64_t until) override;
  [[nodiscard]] uint64_t quiet_until() const override;
  [[nodiscard]] bool peek_vmem(uint64_t byte_address, std::span<std::byte> out) const override;
  [[nodiscard]] bool peek_acc(uint32_t row, std::span<std::byte> out) const override;
  void set_observer(CoreObserver* observer) override { observer_ = observer; }

  [[nodiscard]] const golden::CoreState& state() const { return state_; }

 private:
  enum class IssueState : uint8_t { kCheck, kWait, kIssue, kRefused };
  enum class QueueState : uint8_t { kBusy, kWaiting, kBlocked, kEmpty };  // order of the counters
  static constexpr uint32_t kAllQueues = (1u << WEFT_CORE_QUEUES) - 1;
  struct Entry {
    spec::Command command;
    fast::Fetched by;  // how it came
  };
  struct Queue {
    fast::Ring<Entry, WEFT_CORE_QUEUE_DEPTH> commands;
    spec::CommandHeader header;  // of the first one, once it is checked
    IssueState issue = IssueState::kCheck;
    QueueState state = QueueState::kEmpty;
    uint64_t retired = 0;
  };
  /// What remains of a unit's commands until they have posted.
  struct Lane {
    struct Held {
      spec::Command command;
      fast::Marks marks;
    };
    static constexpr size_t kRoom = 8;
    fast::Ring<Held, kRoom> held;
    size_t done = 0;     // of those, finished and not retired
    bool stuck = false;  // fault injection: no done comes any more
    bool faulted = false;
    void finish();
  };
  struct SyncUnit {
    bool active = false, fence = false;
    bool barrier = false;  // at one that has not ended
    uint16_t tag = 0;
    std::optional<golden::Fault> refusal{};  // of a BARRIER: raised in the next cycle
  };
  /// A remote command that its receiver has not acknowledged.
  struct OnItsWay {
    unsigned unit;
    uint16_t tag;
  };
  /// It has, and the core is told: one a cycle.
  struct Acknowledgement {
    OnItsWay command;
    std::optional<golden::Fault> fault;
  };
  struct RemotePost {
    uint64_t cycle;  // in which a wait may see it
    uint8_t semaphore;
    uint16_t count;
  };
  struct Pending {
    bool is_push;
    unsigned queue;
    uint32_t offset;
    uint64_t value;
    spec::Command command;
  };
  /// Where faults arise, in the order in which those of one cycle count.
  enum class FaultSource : uint8_t { kUnit, kAcknowledgement, kRetirement, kRemotePost, kHeader, kFetch, kWatchdog };
  struct CapturedFault {
    golden::Fault fault;
    unsigned unit, queue;
    uint16_t tag;
    uint64_t cycle;
    FaultSource source;
  };
  // Counters of a queue: one a state, then the commands retired.
  static constexpr size_t kQueueStates = 4, kQueueCounters = 5;

  /// What the lanes say.
  struct LaneView {
    uint32_t working = 0;   // bit per unit
    uint32_t active = 0;    // bit per queue: one of its units works
    uint32_t finished = 0;  // bit per unit: a command may retire
    uint32_t full = 0;      // bit per unit: no room for another command's posts
  };
  /// What the registers say at the start of a cycle; the steps below change them.
  struct CycleView : LaneView {
    uint32_t mxu_ready = 0;  // bit per MXU, if one is asked for
    bool any_working = false, sync_ready = false, vpu_ready = false;
    bool hangs = false;  // the watchdog has counted its limit
  };

  // Steps a busy core up to `until`. True: to a cycle in which the interrupt rose.
  bool run_to_interrupt(uint64_t until);
  // One cycle; the parts in the order of their calls. moved_: registers changed, so the next cycle is looked at too.
  void step();
  void look();
  void grant_waits();
  bool retire();
  void step_units();
  void clock_engines(fast::BankSet dma_read, fast::BankSet dma_write);
  void run_engines(uint64_t end);
  void skip_engines(uint64_t to);
  void note(unsigned unit, const fast::UnitOutcome& out);
  void issue();
  [[nodiscard]] QueueState issue(unsigned queue);
  void check(unsigned queue);
  void take(unsigned queue);
  void start(unsigned unit);
  void enqueue(unsigned queue, const spec::Command& command, fast::Fetched by);
  Entry dequeue(unsigned queue);
  void apply_pending();
  void look_at_fetch();
  void clock_fetch();
  void watch();
  void capture_faults();

  // remote.cpp
  [[nodiscard]] std::optional<golden::Fault> receive(const RemotePiece& piece, uint64_t& visible) override;
  void receive_post(uint8_t semaphore, uint16_t count, uint64_t cycle) override;
  void acknowledge(uint64_t number, const std::optional<golden::Fault>& fault) override;
  void end_barrier(const std::optional<golden::Fault>& fault) override;
  void send_remote(uint64_t number, unsigned unit, uint16_t tag);
  void take_acknowledgement();
  void take_remote_post(bool retires);
  void start_sync(const spec::Command& command);
  void forget_remote();
  [[nodiscard]] golden::SlicePlace place() const {
    return remote_ != nullptr ? remote_->place() : golden::SlicePlace{};
  }

  void raise(unsigned unit, uint16_t tag, const golden::Fault& fault, FaultSource source = FaultSource::kUnit);
  void raise_hang();
  void settle_queue_counts();
  void settle_queue_states();
  [[nodiscard]] uint64_t next_event() const;
  [[nodiscard]] uint64_t watchdog_cycle() const;
  [[nodiscard]] bool unit_active(unsigned unit) const;
  [[nodiscard]] bool unit_working(unsigned unit) const;
  [[nodiscard]] bool out_of_turn(unsigned unit) const;
  [[nodiscard]] bool given_up(unsigned unit) const;
  [[nodiscard]] const LaneView& lanes() const;
  [[nodiscard]] bool control_works() const;  // what is neither a unit nor the manager's
  [[nodiscard]] bool working() const;
  [[nodiscard]] bool in_reset() const { return cycle_ < reset_until_; }

  // Registers (registers.cpp)
  void apply_write(uint32_t offset, uint64_t value);
  [[nodiscard]] uint64_t read_segment(uint32_t offset) const;
  [[nodiscard]] uint64_t read_control(uint32_t offset) const;
  void settle_counters();
  [[nodiscard]] bool snapshot_due() const;
  void core_reset();
  void write_inject(uint32_t offset, uint64_t value);
  [[nodiscard]] uint64_t read_inject_status();

  const FastTiming timing_;
  MemoryBus& bus_;
  RemotePort* remote_;
  std::vector<std::pair<uint64_t, OnItsWay>> on_their_way_;  // by number
  std::deque<Acknowledgement> acknowledgements_;
  uint64_t unacknowledged_ = 0;          // those of acknowledgements_ included
  std::deque<RemotePost> remote_posts_;  // by cycle
  golden::CoreState state_;
  fast::Counters counters_{}, snapshot_{};
  fast::Injector injector_;
  fast::VmemFlips vmem_flips_;
  fast::MxuGroup mxu_;
  std::deque<unsigned> mxu_order_;  // the units of the MXU commands that are held, oldest first: so they retire
  fast::VpuUnit vpu_;
  fast::VmemArbiter vmem_;
  fast::CommandFetch fetch_;
  fast::DmaDirection dma_in_, dma_out_;
  fast::IndexPort indices_;
  SyncUnit sync_;
  std::array<Queue, WEFT_CORE_QUEUES> queues_;
  // Of the queues, a bit each.
  uint32_t holding_ = 0, full_ = 0;  // they hold a command, or as many as they can
  uint32_t waiting_ = 0;             // their heads wait for semaphores
  uint32_t unsettled_ = kAllQueues;  // their states may change in the next cycle, whatever else does
  uint32_t active_before_ = 0;       // of their units one worked in the last cycle
  bool waits_changed_ = false;       // semaphores apart, another wait may be granted than in the last cycle
  uint64_t uncounted_ = 0;           // cycles of the queues' states that are not yet in counters_
  std::array<Lane, WEFT_CORE_UNITS> lanes_;
  mutable LaneView seen_;              // as of the last look
  mutable bool lanes_changed_ = true;  // since then
  uint32_t units_ = 0;                 // bit per unit that the chip has
  std::array<unsigned, WEFT_CORE_QUEUES> pending_pushes_{}, pending_fetches_{};
  fast::Semaphores semaphores_;
  fast::RoundRobin wait_turn_, retire_turn_;
  std::deque<Pending> pending_;
  CoreObserver* observer_ = nullptr;

  uint64_t cycle_ = 0;
  uint64_t reset_until_ = 0;
  bool reset_pending_ = false;  // CONTROL bit 0 waits for its cycle
  bool stop_ = false;           // a fault was captured
  bool worked_ = false;         // a cycle ago: the idle interrupt
  uint64_t last_progress_ = 0;

  // Of the cycle being stepped.
  CycleView now_;
  bool moved_ = false;
  bool reset_now_ = false, clear_counters_ = false, clear_fault_count_ = false;
  uint32_t waits_granted_ = 0, queues_taken_ = 0;  // a bit per queue
  std::deque<CapturedFault> raised_;
  uint64_t interrupt_set_ = 0, interrupt_clear_ = 0;

  uint64_t interrupt_ = 0;
  uint64_t queue_low_ = 0;
  uint64_t watchdog_limit_ = WEFT_CORE_WATCHDOG_DEFAULT_CYCLES;
  std::optional<uint64_t> first_accept_;
  uint64_t last_retire_ = 0;
  std::optional<CapturedFault> fault_;
  uint64_t fault_count_ = 0;
};

}  // namespace weft::core
