/// Runs one Verilated MXU of any size against a VMEM that refuses nothing. For figures and for results at full size.
#pragma once
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include "weft/spec/chips.hpp"
#include "weft/spec/commands.hpp"

namespace weft::mxu_bench {

template <class Top>
class Driver {
 public:
  /// `vmem` holds whole words of `chip.n` lanes; addresses wrap at its end. In reset until the first step.
  Driver(const spec::Chip& chip, std::span<const uint16_t> vmem)
      : chip_(chip), vmem_(vmem), words_(vmem.size() / chip.n) {
    top_.rst_ni = 0;
    top_.clk_i = 0;
    top_.eval();  // an edge needs a level before it
    clock();
    top_.rst_ni = 1;
  }

  void push(const spec::MxuCommand& command) { waiting_.push_back(spec::encode(command)); }
  [[nodiscard]] bool waiting() const { return !waiting_.empty(); }
  [[nodiscard]] bool active() const { return top_.active_o; }
  [[nodiscard]] uint64_t cycles() const { return cycles_; }
  [[nodiscard]] uint64_t busy() const { return busy_; }
  [[nodiscard]] uint64_t macs() const { return macs_; }
  [[nodiscard]] uint64_t done() const { return done_; }
  [[nodiscard]] bool overflowed() const { return overflowed_; }

  /// One cycle.
  void step() {
    top_.cmd_valid_i = !waiting_.empty();
    if (!waiting_.empty()) {
      std::memcpy(top_.cmd_i.data(), waiting_.front().bytes.data(), sizeof waiting_.front().bytes);
      if (top_.cmd_ready_o) waiting_.pop_front();
    }
    answer(x_granted_, x_word_, top_.x_rvalid_i, top_.x_i);
    answer(w_granted_, w_word_, top_.w_rvalid_i, top_.w_i);
    top_.x_gnt_i = x_granted_ = top_.x_req_o != 0;
    top_.w_gnt_i = w_granted_ = top_.w_req_o != 0;
    x_word_ = top_.x_addr_o;
    w_word_ = top_.w_addr_o;
    macs_ += top_.cnt_macs_o;
    busy_ += top_.cnt_busy_o;
    done_ += top_.done_o;
    overflowed_ |= top_.int_overflow_o != 0;
    cycles_++;
    clock();
  }

  /// Reads an ACC row through the VPU's port while the unit is idle.
  std::vector<uint32_t> read_row(unsigned row) {
    top_.acc_req_i = 1;
    top_.acc_row_i = static_cast<uint16_t>(row);
    step();
    top_.acc_req_i = 0;
    return {top_.acc_o.data(), top_.acc_o.data() + chip_.n};
  }

 private:
  /// Data stand lowest in an answer; nothing is poisoned.
  template <class Answer>
  void answer(bool granted, unsigned word, uint8_t& rvalid, Answer& answer) {
    rvalid = granted;
    if (granted) std::memcpy(answer.data(), &vmem_[word % words_ * chip_.n], chip_.word_bytes);
  }

  void clock() {
    top_.clk_i = 1;
    top_.eval();
    top_.clk_i = 0;
    top_.eval();
  }

  const spec::Chip& chip_;
  std::span<const uint16_t> vmem_;
  size_t words_;
  Top top_;
  std::deque<spec::Command> waiting_;
  bool x_granted_ = false, w_granted_ = false, overflowed_ = false;
  unsigned x_word_ = 0, w_word_ = 0;
  uint64_t cycles_ = 0, busy_ = 0, macs_ = 0, done_ = 0;
};

}  // namespace weft::mxu_bench
