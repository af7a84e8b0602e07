/// The VPU's timeline.
#include "model/core/fast_core_vpu.hpp"

#include <algorithm>
#include <bit>

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
  const uint64_t tree = c.header.opcode == WEFT_OPCODE_REDUCE ? std::bit_width(state_.chip().n) - 1 : 0;
  last_write_ = start + c.rows + timing_.vpu_pipeline + tree;
  slot_free_ = start + 1;
  account(cycle);
  running_.push_back({command, c, start, c.rows, last_write_});
  counted_.push_back(running_.back());
}

UnitOutcome VpuUnit::step(uint64_t cycle) {
  UnitOutcome out;
  if (!running_.empty() && running_.front().last_write + timing_.vpu_done == cycle) {
    const spec::VpuCommand& c = running_.front().body;
    NoMemory none;
    (void)state_.execute_checked(running_.front().command, WEFT_QUEUE_VPU, none);
    const bool reads_b = c.b_mode == WEFT_VPU_B_MODE_TENSOR;
    if (c.src_space == WEFT_VPU_SPACE_VMEM) counters_[WEFT_COUNTER_VMEM_GRANTS_VPU_READ] += c.rows;
    counters_[WEFT_COUNTER_VMEM_GRANTS_VPU_READ] += reads_b ? c.rows : c.b_mode == WEFT_VPU_B_MODE_ROW ? 1 : 0;
    counters_[WEFT_COUNTER_VMEM_GRANTS_VPU_WRITE] += c.rows;
    out.done = true;
    running_.pop_front();
  }
  if (refuse_cycle_ == cycle) {
    out.fault = refusal_;
    refuse_cycle_ = kNever;
  }
  return out;
}

uint64_t VpuUnit::next_event(uint64_t cycle) const {
  uint64_t next = refuse_cycle_;
  if (!running_.empty()) next = std::min(next, running_.front().last_write + timing_.vpu_done);
  if (slot_free_ > cycle) next = std::min(next, slot_free_);
  return next;
}

uint32_t VpuUnit::read_banks(uint64_t cycle) const {
  for (const Running& r : running_) {
    if (cycle <= r.start || cycle > r.start + r.rows) continue;
    const uint64_t row = cycle - r.start - 1;
    const unsigned words = golden::words_per_row(r.body.src_dtype), banks = state_.chip().vmem_banks;
    uint32_t mask = 0;
    if (r.body.src_space == WEFT_VPU_SPACE_VMEM) mask |= bank_mask(r.body.a_addr + row * r.body.a_stride, words, banks);
    if (r.body.b_mode == WEFT_VPU_B_MODE_TENSOR || (r.body.b_mode == WEFT_VPU_B_MODE_ROW && row == 0))
      mask |= bank_mask(r.body.b_addr + row * r.body.b_stride, words, banks);
    return mask;
  }
  return 0;
}

uint32_t VpuUnit::write_banks(uint64_t cycle) const {
  for (const Running& r : running_) {
    if (cycle > r.last_write || cycle + r.rows <= r.last_write) continue;
    const uint64_t row = cycle + r.rows - r.last_write - 1;
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
    const uint64_t end = std::min(r.start + 1 + r.rows, cycle);
    busy += end > first ? end - first : 0;
  }
  while (!counted_.empty() && counted_.front().start + 1 + counted_.front().rows <= cycle) counted_.pop_front();
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
  refuse_cycle_ = kNever;
}

}  // namespace weft::core::fast
