/// The VPU's timeline: one command executes, the next stands checked; one row a cycle.
#pragma once
#include <deque>

#include "model/core/fast_core_mxu.hpp"
#include "model/core/fast_core_timing.hpp"
#include "model/core/fast_core_unit.hpp"

namespace weft::core::fast {

/// A command's times are known when it is taken: nothing that happens later changes them. Data move when it is done.
class VpuUnit {
 public:
  VpuUnit(golden::CoreState& state, const FastTiming& timing, Counters& counters, VmemFlips& vmem_flips, MxuGroup& mxu)
      : state_(state), timing_(timing), counters_(counters), vmem_flips_(vmem_flips), mxu_(mxu) {}

  /// Another command may be taken in `cycle`.
  [[nodiscard]] bool ready(uint64_t cycle) const { return !refusing_ && cycle >= slot_free_ && cycle < dead_from_; }
  void take(const spec::Command& command, uint64_t cycle);
  UnitOutcome step(uint64_t cycle);
  [[nodiscard]] bool active() const { return !running_.empty() || refusing_; }
  /// First cycle from which step() has something to say, or ready() changes; kNever: none.
  [[nodiscard]] uint64_t next_event(uint64_t cycle) const;
  /// Last cycle in which a row was or will be moved.
  [[nodiscard]] uint64_t last_progress() const { return last_write_; }
  /// Banks of VMEM that operands are read from, results are written to, in `cycle`.
  [[nodiscard]] uint32_t read_banks(uint64_t cycle) const;
  [[nodiscard]] uint32_t write_banks(uint64_t cycle) const;
  /// Counts the states of cycles from the last call's to `cycle`, exclusive.
  void account(uint64_t cycle);
  void reset(uint64_t cycle);

 private:
  struct Running {
    spec::Command command;
    spec::VpuCommand body;
    golden::VpuRows rows;
    uint64_t start, steps, last_write;  // steps: cycles in which a row of a is read
  };
  [[nodiscard]] uint64_t latency(const spec::VpuCommand& c) const;
  [[nodiscard]] uint32_t a_banks(const Running& r, uint64_t step) const;
  [[nodiscard]] uint32_t b_banks(const Running& r, uint64_t step) const;

  // ECC (fast_core_vpu_ecc.cpp)
  struct Poison {
    uint64_t step, address;
  };
  [[nodiscard]] EccRead read_vmem(uint64_t word, const spec::VpuCommand& c, uint64_t first_byte, uint64_t lanes) const;
  [[nodiscard]] EccRead read_a(const Running& r, uint64_t step, uint64_t cycle, uint64_t& address);
  [[nodiscard]] EccRead read_b(const Running& r, uint64_t row) const;
  [[nodiscard]] std::optional<Poison> find_poison(const Running& r, uint64_t cycle);
  void count_reads(const Running& r, uint64_t a_steps, uint64_t b_rows, uint64_t cycle);
  void look_for_poison(uint64_t cycle);
  void write_rows(const Running& r);
  UnitFault stop_by_ecc(uint64_t cycle);

  golden::CoreState& state_;
  const FastTiming& timing_;
  Counters& counters_;
  VmemFlips& vmem_flips_;
  MxuGroup& mxu_;
  std::deque<Running> running_;  // taken and not done
  std::deque<Running> counted_;  // their rows are not all counted
  uint64_t slot_free_ = 0;       // first cycle in which the slot takes a command
  uint64_t last_write_ = 0;
  bool refusing_ = false;
  uint64_t refuse_cycle_ = kNever;
  UnitFault refusal_;
  uint64_t ecc_fault_ = kNever;  // when running_.front() faults; its steps and rows are those done until then
  uint64_t poison_address_ = 0;
  uint64_t stall_from_ = kNever;  // of the command that faults: its reads stand still, rows are left to read
  uint64_t dead_from_ = kNever;
  uint64_t accounted_ = 0;
};

}  // namespace weft::core::fast
