/// The VPU, row by row: rtl/vpu without data. What a command writes is computed with its last write.
#pragma once
#include <array>
#include <optional>

#include "model/core/fast/mxu.hpp"
#include "model/core/fast/timing.hpp"
#include "model/core/fast/unit.hpp"

namespace weft::core::fast {

/// One command executes, the next stands checked. A cycle is request() and then clock(), or, while it rests, skip().
class VpuUnit {
 public:
  VpuUnit(golden::CoreState& state, const FastTiming& timing, Counters& counters, VmemFlips& vmem_flips, MxuGroup& mxu)
      : state_(state), timing_(timing), counters_(counters), vmem_flips_(vmem_flips), mxu_(mxu) {}

  /// Another command may be taken in the next cycle that is simulated.
  [[nodiscard]] bool ready() const { return !slot_ && !dead_; }
  void take(const spec::Command& command, uint64_t cycle);
  [[nodiscard]] bool active() const { return slot_ || run_; }

  /// The reads and the write of the next cycle ask VMEM, which has served the MXUs.
  void request(VmemArbiter& vmem);
  /// Simulates the next cycle, `cycle`, with what request() was granted. The MXUs' cycle has been simulated.
  void clock(uint64_t cycle);
  /// Nothing moves: a cycle is idle.
  [[nodiscard]] bool resting() const { return !run_ && (!slot_ || dead_) && !a_.asks() && !b_.asks(); }
  /// Counts cycles [from, to), in which it rests.
  void skip(uint64_t from, uint64_t to);
  /// What it reports in `cycle`, after clock().
  UnitOutcome outcome(uint64_t cycle);
  /// First cycle in which outcome() has something to say, or ready() has changed; kNever: none is known.
  [[nodiscard]] uint64_t next_event() const { return next_event_; }
  /// A word was read or written in the last cycle: what the watchdog takes for progress.
  [[nodiscard]] bool progressed() const { return progressed_; }
  void reset();

 private:
  struct Slot {
    spec::Command command;
    spec::VpuCommand body;
    std::optional<golden::Fault> refusal;
    uint64_t checked;  // first cycle in which it may start
  };
  /// A row that ECC looked at when it was read.
  struct Mark {
    bool bad = false;
    uint64_t address = 0;  // of the fault
  };
  /// rtl/vpu/vpu_operand.sv: walks the rows of a tensor; up to two rows wait for their use.
  struct Operand {
    uint32_t windows = 0;  // whose rows are not all requested
    uint32_t address = 0, first = 0, stride = 0, inner = 0;
    uint32_t window = 1, inside = 1;      // rows of a window, those left to request
    bool keep = false;                    // its row stays
    uint32_t rows = 0;                    // here, one that arrives in this cycle included
    std::array<Mark, 2> marks{};          // of those
    uint32_t granted_rows = 0;            // since the command's start
    bool asked = false, granted = false;  // in the cycle under way
    [[nodiscard]] bool asks() const { return windows != 0 && rows < 2; }
    void advance(bool pop, const Mark& mark);
  };
  void start(uint64_t cycle);
  void move_pipeline(bool execute);
  void finish_command(uint64_t rows);
  void count_cycle() const;
  [[nodiscard]] uint32_t row_banks(const VmemArbiter& vmem, uint32_t word) const;

  // ECC (vpu_ecc.cpp)
  [[nodiscard]] EccRead read_vmem(uint64_t word, uint64_t first_byte, uint64_t lanes) const;
  [[nodiscard]] Mark look_at_a();
  [[nodiscard]] Mark look_at_b();
  void write_rows(uint64_t rows);

  golden::CoreState& state_;
  const FastTiming& timing_;
  Counters& counters_;
  VmemFlips& vmem_flips_;
  MxuGroup& mxu_;

  std::optional<Slot> slot_;
  bool dead_ = false;
  // The command that executes, and what follows from it.
  bool run_ = false;
  spec::Command command_{};
  spec::VpuCommand body_{};
  golden::VpuRows tensor_{};
  bool from_acc_ = false, iota_ = false, use_b_ = false, columns_ = false, windows_ = false, transpose_ = false;
  uint32_t inner_stages_ = 0;  // of the tree or the functions; 0: rows skip them
  // The registers of rtl/vpu/vpu_control.sv.
  Operand a_, b_;
  uint32_t b_lane_ = 0;  // of a column
  uint32_t inside_ = 0, loaded_ = 0, emitted_ = 0, unwritten_ = 0, write_address_ = 0;
  bool result_valid_ = false, emit_valid_ = false, out_valid_ = false;
  uint32_t inner_valid_ = 0;    // a bit a stage
  bool write_granted_ = false;  // in the cycle under way

  uint64_t done_cycle_ = kNever, fault_cycle_ = kNever;
  UnitFault fault_;
  uint64_t next_event_ = kNever;
  bool progressed_ = false;
};

}  // namespace weft::core::fast
