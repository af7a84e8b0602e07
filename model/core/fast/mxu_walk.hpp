/// The MXU's fetch and issue, cycle by cycle: which words it reads, which rows enter, and why not.
#pragma once
#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "model/core/fast/ecc.hpp"
#include "model/core/fast/timing.hpp"
#include "model/core/fast/vmem.hpp"
#include "model/golden/check.hpp"

namespace weft::core::fast {

/// Reasons in the order of the MXU's counters, which are one of each in a cycle.
enum class MxuState : uint8_t { kBusy, kWeightWait, kAccWait, kVmemWait, kDrain, kIdle };

/// rtl/mxu without data: two walks over the words of x and of weights, a FIFO of four words behind each, and the rules
/// of issue. A value type.
class MxuWalk {
 public:
  /// `vmem`: VMEM's flips, which the walk looks at when it reads a word; outlives the walk and its copies.
  MxuWalk(const spec::Chip& chip, const FastTiming& timing, const VmemFlips& vmem);

  /// What one cycle was.
  struct Cycle {
    MxuState state = MxuState::kIdle;
    bool x_read = false, w_read = false, x_refused = false, w_refused = false;
    bool command_done = false;  ///< the last row of the oldest command entered, and all of it will be written
    bool fault = false;         ///< a poisoned word or seed is next and nothing older is in flight: ecc_stop()
    EccRead vmem, acc;          ///< what reads met
    uint64_t dropped_macs = 0;  ///< of a row that entered and will not be written
    bool dropped_end = false;   ///< it was the last row of its command
  };
  /// Where ECC stopped the oldest command.
  struct EccStop {
    uint64_t address;
    uint64_t job, tile;  ///< jobs are counted from power-up
    uint32_t row;        ///< of the tile: this row and all after it have written nothing
  };
  [[nodiscard]] const EccStop& ecc_stop() const { return *stop_; }
  /// ACC's flips, which move with the walk: rows that enter read their seeds and overwrite.
  [[nodiscard]] AccFlips& acc() { return acc_; }
  [[nodiscard]] const AccFlips& acc() const { return acc_; }

  void add(const spec::MxuCommand& command, uint64_t taken);
  /// The requests of the next cycle. All walks of a core ask for x, then all for weights, before one of them steps.
  void request_x(VmemArbiter& vmem);
  void request_w(VmemArbiter& vmem);
  /// Simulates the next cycle.
  Cycle step();
  /// ECC stops it, now or once nothing older is in flight.
  [[nodiscard]] bool stopped() const { return stop_.has_value(); }
  /// The next cycle to be simulated.
  [[nodiscard]] uint64_t cycle() const { return cycle_; }
  /// No rows are left, and no fault is to be raised: until the next command every cycle is drain or idle, and skip_to()
  /// may be used.
  [[nodiscard]] bool exhausted() const { return jobs_.empty() && !stop_; }
  /// Seeds use the read ports of the bank of ACC in `cycle`, the last one that was simulated.
  [[nodiscard]] bool seeds_read(unsigned bank, uint64_t cycle) const { return cycle < seeds_until_[bank]; }
  void skip_to(uint64_t cycle) { cycle_ = cycle; }
  /// The tile of the oldest command, not exhausted, whose rows enter: those of all before it have.
  [[nodiscard]] uint64_t tile() const { return x_head_.tile; }

 private:
  struct Job {
    spec::MxuCommand command;
    golden::MatmulTiles tiles;
    uint64_t taken;
  };
  /// A place in the sequence of jobs, tiles, and rows or words. Jobs are counted from power-up.
  struct Place {
    uint64_t job = 0, tile = 0;
    uint32_t index = 0;
  };
  [[nodiscard]] const Job& job(const Place& p) const { return jobs_[p.job - first_job_]; }
  [[nodiscard]] bool exists(const Place& p) const { return p.job < first_job_ + jobs_.size(); }
  [[nodiscard]] bool visible(const Place& p) const;
  [[nodiscard]] uint32_t words(const Place& p) const;
  void next_row(Place& p) const;
  void next_word(Place& p) const;
  struct Request {
    bool asked = false, granted = false;
  };
  void fetch(bool row_taken, bool word_taken, Cycle& out);

  // ECC; only looked at while something is flipped or armed.
  [[nodiscard]] uint64_t x_word(const Place& p) const;
  [[nodiscard]] uint64_t w_word(const Place& p) const;
  void read_word(uint64_t word, uint32_t lanes, EccRead& out) const;
  [[nodiscard]] std::optional<uint64_t> poisoned_row() const;
  [[nodiscard]] std::optional<uint64_t> poisoned_weights() const;
  void enter_acc(bool reads_acc, Cycle& out);
  void find_fault(bool no_weights, bool flight, std::optional<uint64_t> row, std::optional<uint64_t> weights,
                  Cycle& out);

  spec::Chip chip_;
  uint64_t depth_, flight_;
  uint64_t swap_lead_;      // a tile's first row to the next tile's first word, at least
  uint32_t request_delay_;  // command taken to its first words asked for
  std::deque<Job> jobs_;    // their rows have not all entered
  uint64_t first_job_ = 0;
  Place x_next_, w_next_;               // to be read
  Place x_head_, w_head_;               // to enter
  uint32_t x_count_ = 0, w_count_ = 0;  // words in the FIFOs
  bool x_pending_ = false, w_pending_ = false;
  Request x_request_, w_request_;  // of the next cycle
  bool shadow_busy_ = false, shadow_ready_ = false, tile_start_ = true, int8_ = false;
  uint64_t last_row_ = 0;   // cycle after the last row entered; 0: none
  uint64_t next_load_ = 0;  // first cycle in which the shadow plane is free behind the last swap
  const VmemFlips* vmem_;
  AccFlips acc_;
  std::optional<EccStop> stop_;
  uint64_t seeds_fault_ = UINT64_MAX;      // cycle in which the fault of a poisoned seed is raised
  uint64_t halted_ = UINT64_MAX;           // no row enters from this cycle on
  std::vector<uint64_t> last_write_;       // by ACC row: cycle after the row that writes it entered; empty: none has
  std::array<uint64_t, 2> seeds_until_{};  // by bank of ACC: first cycle in which no seed is read
  uint64_t cycle_ = 0;
};

}  // namespace weft::core::fast
