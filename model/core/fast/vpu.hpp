/// The VPU, group of rows by group: rtl/vpu without data. What a command writes is computed with its last write.
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
  /// outcome() has something to say in `cycle`, after clock().
  [[nodiscard]] bool reports(uint64_t cycle) const { return done_cycle_ == cycle || fault_cycle_ == cycle; }
  /// It has no command, and nothing of one.
  [[nodiscard]] bool empty() const { return !run_ && !slot_ && a_.asks() == 0 && b_.asks() == 0; }
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
  static constexpr unsigned kMostRows = 8;  // of a group
  /// The rows of a group that ECC could not correct, and where.
  struct Marks {
    uint32_t bad = 0;
    std::array<uint64_t, kMostRows> addresses;
  };
  /// rtl/vpu/vpu_operand.sv: walks the rows of a tensor, a group at a time; up to two groups wait for their use.
  struct Operand {
    uint32_t windows = 0;             // whose rows are not all requested
    uint32_t address = 0, first = 0;  // of row 0 of the group; of its window
    uint32_t stride = 0, inner = 0;
    uint32_t window = 1, inside = 1;  // rows of a window, those left to request
    uint32_t sublanes = 1;            // rows of a group, the last one except
    bool keep = false;                // its group stays
    uint32_t pending = 0;             // rows of the group that are still to be granted, a bit each
    uint32_t groups = 0;              // whole ones, one that arrives in this cycle included
    std::array<Marks, 2> marks{};     // of those, and of the group that is being granted
    uint32_t granted_rows = 0;        // since the command's start
    uint32_t asked = 0, granted = 0;  // in the cycle under way
    void start();
    [[nodiscard]] uint32_t asks() const { return groups < 2 ? pending : 0; }
    [[nodiscard]] uint32_t row_address(unsigned row) const { return address + row * stride; }
    void pop();
    void mark(unsigned row, const Mark& what);
    void advance();
  };
  void start(uint64_t cycle);
  void move_pipeline(bool execute, uint32_t good);
  void take_group(uint32_t group, uint32_t good);
  void grant_acc(uint64_t cycle);
  void look_at_rows();
  void finish_command(uint64_t rows);
  void count_cycle() const;
  [[nodiscard]] BankSet row_banks(const VmemArbiter& vmem, uint32_t word) const;

  // ECC (vpu_ecc.cpp)
  [[nodiscard]] EccRead read_vmem(uint64_t word, uint64_t first_byte, uint64_t lanes) const;
  [[nodiscard]] Mark look_at_a(uint32_t address);
  [[nodiscard]] Mark look_at_b(uint32_t address);
  [[nodiscard]] Mark look_at_kept();
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
  uint32_t sublanes_ = 1;
  uint32_t inner_stages_ = 0;  // of the tree or the functions; 0: rows skip them
  // The registers of rtl/vpu/vpu_control.sv.
  Operand a_, b_;
  Operand kept_;              // rtl/vpu/vpu_kept_row.sv
  uint32_t b_lane_ = 0;       // of a column
  uint32_t left_ = 0;         // rows that no group has taken
  uint32_t good_ = 0;         // rows of the group before one that is poisoned
  bool cut_ = false;          // a group was cut short
  uint64_t cut_address_ = 0;  // of the fault
  uint32_t inside_ = 0, loaded_ = 0, emitted_ = 0, unwritten_ = 0, written_ = 0, write_address_ = 0;
  uint32_t result_rows_ = 0;  // of the group in the result register
  bool result_valid_ = false, emit_valid_ = false;
  uint32_t out_rows_ = 0;       // to be written, a bit each
  uint32_t inner_valid_ = 0;    // a bit a stage
  uint32_t write_granted_ = 0;  // rows, in the cycle under way

  uint64_t done_cycle_ = kNever, fault_cycle_ = kNever;
  UnitFault fault_;
  uint64_t next_event_ = kNever;
  bool progressed_ = false;
};

}  // namespace weft::core::fast
