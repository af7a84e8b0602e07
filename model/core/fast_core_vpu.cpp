/// The VPU's timeline.
#include "model/core/fast_core_vpu.hpp"

#include <algorithm>
#include <bit>

#include "model/golden/vpu_functions.hpp"

namespace weft::core::fast {

void VpuUnit::take(const spec::Command& command, uint64_t cycle) {
  const auto c = spec::decode_vpu(command);
  const bool busy = last_write_ != 0 && last_write_ >= cycle;
  const uint64_t checked = cycle + timing_.vpu_start;
  if (auto fault = golden::check_unit(command, WEFT_QUEUE_VPU, state_.chip(), state_.segments())) {
    refusing_ = true;
    refusal_ = {true, *fault, c.header.tag};
    refuse_cycle_ = std::max(checked, busy ? last_write_ + 1 : 0) + 1;
    return;
  }
  const uint64_t start = busy ? std::max(checked, last_write_) : checked;
  const golden::VpuRows rows = golden::vpu_rows(c, state_.chip());
  const uint64_t steps = c.rows * rows.window;
  last_write_ = start + steps + latency(c);
  slot_free_ = start + 1;
  account(cycle);
  running_.push_back({command, c, rows, start, steps, last_write_});
  counted_.push_back(running_.back());
  if (running_.size() == 1) look_for_poison(cycle);
}

/// From the last row read to the last row written.
uint64_t VpuUnit::latency(const spec::VpuCommand& c) const {
  uint64_t cycles = timing_.vpu_pipeline;
  if (c.header.opcode == WEFT_OPCODE_REDUCE && c.axis == WEFT_VPU_AXIS_LANES)
    cycles += std::bit_width(state_.chip().n) - 1;
  if (c.header.opcode == WEFT_OPCODE_TRANSPOSE) cycles += c.cols + timing_.vpu_turn;
  if (golden::is_vpu_function(static_cast<weft_vpu_op>(c.op))) cycles += timing_.vpu_function;
  return cycles;
}

UnitOutcome VpuUnit::step(uint64_t cycle) {
  UnitOutcome out;
  if (ecc_fault_ == cycle) {
    out.fault = stop_by_ecc(cycle);
    return out;
  }
  if (ecc_fault_ == kNever && !running_.empty() && running_.front().last_write + timing_.vpu_done == cycle) {
    const Running& r = running_.front();
    NoMemory none;
    (void)state_.execute_checked(r.command, WEFT_QUEUE_VPU, none);
    // A row of b comes in the cycle of a row of a, and both count once.
    counters_[WEFT_COUNTER_VMEM_GRANTS_VPU_READ] += r.body.src_space == WEFT_VPU_SPACE_VMEM ? r.rows.a : r.rows.b;
    counters_[WEFT_COUNTER_VMEM_GRANTS_VPU_WRITE] += r.rows.d;
    write_rows(r);
    out.done = true;
    running_.pop_front();
    look_for_poison(cycle);
  }
  if (refuse_cycle_ == cycle) {
    out.fault = refusal_;
    refuse_cycle_ = kNever;
  }
  return out;
}

uint64_t VpuUnit::next_event(uint64_t cycle) const {
  uint64_t next = std::min(refuse_cycle_, ecc_fault_);
  if (ecc_fault_ == kNever && !running_.empty()) next = std::min(next, running_.front().last_write + timing_.vpu_done);
  if (slot_free_ > cycle) next = std::min(next, slot_free_);
  return next;
}

uint32_t VpuUnit::a_banks(const Running& r, uint64_t step) const {
  if (r.body.src_space != WEFT_VPU_SPACE_VMEM || r.rows.a == 0) return 0;
  const uint64_t inside = step % r.rows.window;
  return bank_mask(r.body.a_addr + step / r.rows.window * r.body.a_stride + inside * r.body.b_stride,
                   golden::words_per_row(r.body.src_dtype), state_.chip().vmem_banks);
}

/// A row for each row of a, or one. Of a column vector, two rows are asked for at once and each further one in the
/// cycle after N more elements are used up.
uint32_t VpuUnit::b_banks(const Running& r, uint64_t step) const {
  uint64_t row = step;
  if (r.body.b_mode == WEFT_VPU_B_MODE_COLUMN && step >= 2) {
    const uint64_t n = state_.chip().n;
    if ((step - 1) % n != 0) return 0;
    row = (step - 1) / n + 1;
  }
  if (row >= r.rows.b) return 0;
  return bank_mask(r.body.b_addr + row * r.body.b_stride, golden::words_per_row(r.body.src_dtype),
                   state_.chip().vmem_banks);
}

uint32_t VpuUnit::read_banks(uint64_t cycle) const {
  for (const Running& r : running_)
    if (cycle > r.start && cycle <= r.start + r.steps)
      return a_banks(r, cycle - r.start - 1) | b_banks(r, cycle - r.start - 1);
  return 0;
}

uint32_t VpuUnit::write_banks(uint64_t cycle) const {
  for (const Running& r : running_) {
    if (cycle > r.last_write || cycle + r.rows.d * r.rows.window <= r.last_write) continue;
    const uint64_t left = r.last_write - cycle;
    if (left % r.rows.window != 0) return 0;
    const uint64_t row = r.rows.d - 1 - left / r.rows.window;
    return bank_mask(r.body.d_addr + row * r.body.d_stride, golden::words_per_row(r.body.dst_dtype),
                     state_.chip().vmem_banks);
  }
  return 0;
}

void VpuUnit::account(uint64_t cycle) {
  if (cycle <= accounted_) return;
  uint64_t busy = 0;
  for (const Running& r : counted_) {
    const uint64_t first = std::max(r.start + 1, accounted_);
    const uint64_t end = std::min(r.start + 1 + r.steps, cycle);
    busy += end > first ? end - first : 0;
  }
  while (!counted_.empty() && counted_.front().start + 1 + counted_.front().steps <= cycle) counted_.pop_front();
  counters_[WEFT_COUNTER_VPU_BUSY] += busy;
  counters_[WEFT_COUNTER_VPU_IDLE] += cycle - accounted_ - busy;
  accounted_ = cycle;
}

void VpuUnit::reset(uint64_t cycle) {
  account(cycle);
  running_.clear();
  counted_.clear();
  slot_free_ = 0;
  last_write_ = 0;
  refusing_ = false;
  refuse_cycle_ = ecc_fault_ = dead_from_ = kNever;
}

}  // namespace weft::core::fast
