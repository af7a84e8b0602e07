/// The four DMA channels, beat by beat, with the registers of rtl/dma between their stages.
#pragma once
#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "model/core/fast/beat_slots.hpp"
#include "model/core/fast/beat_walk.hpp"
#include "model/core/fast/ecc.hpp"
#include "model/core/fast/inject.hpp"
#include "model/core/fast/prefetch.hpp"
#include "model/core/fast/row_fetch.hpp"
#include "model/core/fast/timing.hpp"
#include "model/core/fast/unit.hpp"
#include "model/core/fast/vmem.hpp"
#include "model/core/remote/remote_port.hpp"

namespace weft::core::fast {

/// What both directions share: taking, checking and retiring the commands of one channel.
struct DmaChannel {
  std::optional<spec::Command> checking;
  uint32_t fail_beat = 0;        // of the command in checking
  uint64_t checking_number = 0;  // of that command, if it is remote
  uint64_t verdict_cycle = 0;
  std::optional<golden::Fault> verdict;
  golden::Segment segment;  // as it was when the command was checked
  BeatWalk front, back;
  RowFetch rows;              // of an indexed command
  std::deque<BeatWalk> jobs;  // checked, the back has not begun
  struct Answer {
    uint64_t cycle, sequence;
    bool error;
    size_t slot;
  };
  std::deque<Answer> answers;  // of memory, in request order
  uint32_t held = 0, outstanding = 0;
  // dma_out: acknowledgements that came while rows were passed, and whether the one behind them is an error
  uint32_t waiting = 0;
  bool waiting_error = false;
  bool dead = false;
  // dma_out: a beat was poisoned; it and what was read behind it are not sent
  bool poisoned = false;
  uint32_t dropped = 0;
  uint64_t poison_address = 0;
  RemotePiece piece;  // dma_out: of the remote command whose beats are sent
  UnitOutcome next;   // outputs of the next cycle, if it reports
  bool reports = false;

  [[nodiscard]] bool refused(uint64_t cycle) const { return checking && verdict && cycle >= verdict_cycle; }

  // Where the walks stand in this cycle.
  using Row = IndexedRow::Kind;
  [[nodiscard]] bool front_at(Row kind) const {
    return front.indexed() && rows.front() != nullptr && rows.front()->kind == kind;
  }
  [[nodiscard]] bool back_at(Row kind) const {
    return back.indexed() && rows.back() != nullptr && rows.back()->kind == kind;
  }
  [[nodiscard]] bool asks(uint32_t limit) const {
    return front.valid() && !dead && !poisoned && outstanding < limit && (!front.indexed() || front_at(Row::kMoved));
  }
  [[nodiscard]] bool passes() const { return front.valid() && !dead && !poisoned && front_at(Row::kSkipped); }
  [[nodiscard]] bool back_here() const {
    return back.valid() && !dead && (!back.indexed() || back_at(Row::kMoved) || back_at(Row::kSkipped));
  }
  [[nodiscard]] bool back_fills() const { return back.fill() || back_at(Row::kSkipped); }
  [[nodiscard]] BeatWalk::Beat front_beat() const;
  [[nodiscard]] BeatWalk::Beat back_beat() const;
  void advance_front();
  void advance_back();
  void pass_front();
  void pass_back();
};

/// Two channels of one direction and the ports that they share. step() does one cycle; nothing else moves time.
class DmaDirection {
 public:
  DmaDirection(golden::CoreState& state, MemoryBus& bus, const VmemArbiter& vmem, const FastTiming& timing,
               Counters& counters, VmemFlips& flips, unsigned queue, RemotePort* remote = nullptr,
               CommandFetch* fetch = nullptr)
      : state_(state),
        bus_(bus),
        vmem_(vmem),
        timing_(timing),
        counters_(counters),
        flips_(flips),
        queue_(queue),
        remote_(remote),
        fetch_(fetch),
        slots_(2 * size_t{outstanding_limit()} + 1, beat_bytes()) {
    for (DmaChannel& channel : channels_) channel.rows.set_depth(outstanding_limit());
  }

  /// Asks memory whether it would take this cycle's request, and chooses what VMEM is asked for: for both directions,
  /// before either of them steps.
  void look(uint64_t cycle);
  /// Banks of VMEM that this cycle's access needs; 0: there is none.
  [[nodiscard]] BankSet vmem_banks() const { return vmem_banks_; }
  /// The rows of a channel that ask VMEM for a word of indices in this cycle; nullptr: they do not.
  [[nodiscard]] RowFetch* index_read(unsigned channel) {
    DmaChannel& ch = channels_[channel];
    return !resting_ && !ch.dead && ch.rows.asks() ? &ch.rows : nullptr;
  }
  /// dma_out: another read of VMEM takes its turn in this cycle.
  void yield_vmem(bool yields) { yields_ = yields; }
  /// One cycle of both channels, after look() and the arbiter's end(), before ready(). True: a channel reports.
  [[nodiscard]] bool step(uint64_t cycle);
  [[nodiscard]] const UnitOutcome& outcome(unsigned channel) const { return outcomes_[channel]; }
  /// The channel that would take a command in the cycle just stepped, or -1.
  [[nodiscard]] int ready() const { return ready_; }
  /// Returns the number of a remote command that is on its way now; 0: it is none, or refused.
  uint64_t take(unsigned channel, const spec::Command& command, uint64_t cycle, uint32_t fail_beat);
  [[nodiscard]] bool active(unsigned channel) const { return channels_[channel].held != 0; }
  /// Something moved in the last step, so the next cycle is of interest.
  [[nodiscard]] bool moved() const { return moved_; }
  /// A request, an answer, a beat: what the watchdog takes for progress.
  [[nodiscard]] bool progressed() const { return progressed_; }
  [[nodiscard]] uint64_t next_event(uint64_t cycle) const;
  void reset();

 private:
  struct Request {
    bool valid = false;
    unsigned channel = 0;
    BeatWalk::Beat beat{};
    weft_address_space space = WEFT_ADDRESS_SPACE_NONE;
    bool fill = false;
    uint32_t pattern = 0;
    bool remote = false;
    uint64_t number = 0;         // of the remote command
    spec::DmaCommand command{};  // of it
  };
  struct VmemWrite {
    bool valid = false;
    unsigned channel = 0;
    BeatWalk::Beat beat{};
    bool fill = false;
    uint32_t pattern = 0;
    size_t slot = 0;
  };

  [[nodiscard]] bool out() const { return queue_ == WEFT_QUEUE_DMA_OUT; }
  [[nodiscard]] uint32_t beat_bytes() const { return state_.chip().dma_words * state_.chip().word_bytes; }
  [[nodiscard]] uint32_t outstanding_limit() const {
    return out() ? WEFT_CORE_DMA_OUTSTANDING_WRITES : WEFT_CORE_DMA_OUTSTANDING_BEATS;
  }
  [[nodiscard]] int earliest_answer(uint64_t cycle);
  [[nodiscard]] bool holds_nothing() const;
  void look_at_memory(uint64_t cycle);
  void step_in(uint64_t cycle);
  void step_out(uint64_t cycle);
  void load_jobs(uint64_t cycle);
  [[nodiscard]] BankSet banks_of(const BeatWalk::Beat& beat) const;
  bool count_vmem(bool granted, weft_counter grants, weft_counter conflicts);
  void write_vmem(const VmemWrite& write);
  void count_read(const BeatWalk::Beat& beat);
  [[nodiscard]] bool dropped(const Request& read);
  void answer_taken(unsigned channel, bool error, bool asked);
  void acknowledge(uint64_t cycle);
  void take_acknowledgement(unsigned channel);
  void end_rows();
  void retire(unsigned channel);
  void fail(unsigned channel, const golden::Fault& fault, uint16_t tag);
  void accept_read(uint64_t cycle);
  void accept_fetch(uint64_t cycle);
  [[nodiscard]] const DmaChannel::Answer* first_answer(int channel) const;
  void accept_write(uint64_t cycle);
  void accept_remote(uint64_t cycle);
  int pick_front(const std::array<bool, 2>& valid, unsigned last) const;

  golden::CoreState& state_;
  MemoryBus& bus_;
  const VmemArbiter& vmem_;
  const FastTiming& timing_;
  Counters& counters_;
  VmemFlips& flips_;
  const unsigned queue_;
  RemotePort* remote_;   // may be nullptr
  CommandFetch* fetch_;  // dma_in: shares the port of reads; else nullptr
  struct FetchAnswer {
    DmaChannel::Answer when;
    spec::Command command;
  };
  std::deque<FetchAnswer> fetch_answers_;  // of memory, in request order
  uint64_t answers_from_ = kNever;         // no oldest answer of a channel, nor of the prefetchers, is there before
  std::array<DmaChannel, 2> channels_;
  uint64_t sequence_ = 0;
  unsigned asked_last_ = 1, wrote_last_ = 1;
  int repeated_ = -1;  // dma_out: the channel whose read of VMEM was refused in the cycle before
  Request request_;    // the register towards memory
  bool memory_ready_ = false;
  bool fetch_ready_ = false;
  std::deque<Request> skid_;  // dma_out: beats read behind a refused write
  Request reading_;           // dma_out: the beat whose VMEM data come next cycle
  VmemWrite write_;           // dma_in: the register towards VMEM
  BankSet vmem_banks_ = 0;
  bool yields_ = false;
  std::array<bool, 2> passing_{};  // fronts that pass a row in this cycle
  int reads_ = -1;                 // dma_out: the channel whose beat is read in this cycle, or whose FILL has one
  int offered_ = -1;               // dma_in: the channel whose answer memory shows, or kFetchChannel
  static constexpr int kFetchChannel = WEFT_CORE_PREFETCH_CHANNEL;
  BeatSlots slots_;  // data of answers: all channels' outstanding beats, and the one in the register towards VMEM
  std::vector<std::byte> beat_;  // of VMEM, if it is not flat
  int ready_ = -1;
  std::array<UnitOutcome, 2> outcomes_;  // of the cycle
  bool resting_ = true;                  // it holds nothing: only a command, or a read of the prefetchers, changes that
  bool moved_ = false, progressed_ = false;
};

}  // namespace weft::core::fast
