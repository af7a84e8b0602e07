/// The VPU's commands and its pipeline: rtl/vpu/vpu_control.sv and vpu_operand.sv, a cycle at a time.
#include "model/core/fast/vpu.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "model/golden/vpu_functions.hpp"

namespace weft::core::fast {

void VpuUnit::take(const spec::Command& command, uint64_t cycle) {
  slot_ =
      Slot{command, spec::decode_vpu(command),
           golden::check_unit(command, WEFT_QUEUE_VPU, state_.chip(), state_.segments()), cycle + timing_.vpu_start};
}

/// The slot's command is the one that executes from now on; its first rows are requested in the next cycle.
void VpuUnit::start(uint64_t cycle) {
  const spec::VpuCommand& c = slot_->body;
  command_ = slot_->command;
  body_ = c;
  tensor_ = golden::vpu_rows(c, state_.chip());
  from_acc_ = c.src_space == WEFT_VPU_SPACE_ACC;
  iota_ = c.op == WEFT_VPU_OP_IOTA;
  columns_ = c.b_mode == WEFT_VPU_B_MODE_COLUMN;
  use_b_ = tensor_.b != 0;
  windows_ = c.axis == WEFT_VPU_AXIS_ROWS;
  transpose_ = c.header.opcode == WEFT_OPCODE_TRANSPOSE;
  inner_stages_ = 0;
  if (c.header.opcode == WEFT_OPCODE_REDUCE && !windows_)
    inner_stages_ = static_cast<uint32_t>(std::bit_width(state_.chip().n) - 1);
  if (golden::is_vpu_function(static_cast<weft_vpu_op>(c.op))) inner_stages_ = timing_.vpu_function;
  sublanes_ = state_.chip().vpu_sublanes;
  const uint32_t window = windows_ ? c.window : 1;
  a_ = {.windows = c.rows,
        .address = c.a_addr,
        .first = c.a_addr,
        .stride = c.a_stride,
        .inner = c.b_stride,
        .window = window,
        .inside = window,
        .sublanes = sublanes_};
  b_ = {.windows = use_b_ ? static_cast<uint32_t>(tensor_.b) : 0,
        .address = c.b_addr,
        .first = c.b_addr,
        .stride = c.b_stride,
        .sublanes = c.b_mode == WEFT_VPU_B_MODE_TENSOR || c.b_mode == WEFT_VPU_B_MODE_RESIDUAL ? sublanes_ : 1,
        .keep = c.b_mode == WEFT_VPU_B_MODE_ROW || c.b_mode == WEFT_VPU_B_MODE_SCALED};
  kept_ = {.windows = static_cast<uint32_t>(tensor_.kept), .address = c.scalar2, .first = c.scalar2, .keep = true};
  a_.start();
  b_.start();
  kept_.start();
  b_lane_ = 0;
  left_ = c.rows;
  good_ = sublanes_;
  inside_ = window;
  loaded_ = emitted_ = written_ = 0;
  unwritten_ = transpose_ ? c.cols : c.rows;
  write_address_ = c.d_addr;
  run_ = true;
  slot_.reset();
  next_event_ = cycle + 1;  // ready() has changed
}

void VpuUnit::Operand::start() { pending = (1u << std::min(windows, sublanes)) - 1; }

void VpuUnit::Operand::pop() {
  if (keep) return;
  marks[0].bad = std::exchange(marks[1].bad, 0);
  if (marks[0].bad != 0) marks[0].addresses = marks[1].addresses;
  groups--;
}

void VpuUnit::Operand::mark(unsigned row, const Mark& what) {
  if (!what.bad) return;
  marks[groups].bad |= 1u << row;
  marks[groups].addresses[row] = what.address;
}

/// Requests that were granted go on to the next rows.
void VpuUnit::Operand::advance() {
  if (granted == 0) return;
  granted_rows += static_cast<uint32_t>(std::popcount(granted));
  pending &= ~granted;
  if (pending != 0) return;
  groups++;
  if (inside == 1) {
    first += sublanes * stride;
    address = first;
    inside = window;
    windows -= std::min(windows, sublanes);
  } else {
    address += inner;
    inside--;
  }
  start();
}

BankSet VpuUnit::row_banks(const VmemArbiter& vmem, uint32_t word) const {
  return vmem.banks(word, golden::words_per_row(body_.src_dtype));
}

void VpuUnit::request(VmemArbiter& vmem) {
  const auto read = [&](Operand& operand) {
    for (uint32_t rows = operand.asked; rows != 0; rows &= rows - 1) {
      const auto row = static_cast<unsigned>(std::countr_zero(rows));
      if (vmem.read(row_banks(vmem, operand.row_address(row)))) operand.granted |= 1u << row;
    }
  };
  a_.asked = a_.asks();
  b_.asked = b_.asks();
  kept_.asked = kept_.asks();
  a_.granted = iota_ ? a_.asked : 0;
  b_.granted = kept_.granted = write_granted_ = 0;
  if (!iota_ && !from_acc_) read(a_);
  read(kept_);
  read(b_);
  for (uint32_t rows = out_rows_; rows != 0; rows &= rows - 1) {
    const auto row = static_cast<unsigned>(std::countr_zero(rows));
    const uint32_t word = write_address_ + row * body_.d_stride;
    if (vmem.write(vmem.banks(word, golden::words_per_row(body_.dst_dtype)))) write_granted_ |= 1u << row;
  }
}

/// ACC gives rows of a bank that no seed reads; of two that one of its RAMs has, the first.
void VpuUnit::grant_acc(uint64_t cycle) {
  uint64_t taken = 0;  // RAMs: a bit for each bank of each MXU and row modulo the sublanes
  for (uint32_t rows = a_.asked; rows != 0; rows &= rows - 1) {
    const auto row = static_cast<unsigned>(std::countr_zero(rows));
    const uint32_t at = a_.row_address(row);
    const uint64_t ram = uint64_t{1} << (at / state_.chip().acc_bank_rows * sublanes_ + at % sublanes_);
    if ((taken & ram) != 0 || !mxu_.acc_free(at, cycle)) continue;
    taken |= ram;
    a_.granted |= 1u << row;
  }
}

/// What the cycle was, by the grants that it had.
void VpuUnit::count_cycle() const {
  const bool write_refused = (out_rows_ & ~write_granted_) != 0;
  if (a_.granted != 0)
    counters_[WEFT_COUNTER_VPU_BUSY]++;
  else if (run_ && (a_.windows != 0 || b_.windows != 0 || kept_.windows != 0 || write_refused))
    counters_[WEFT_COUNTER_VPU_STALLED]++;
  else
    counters_[WEFT_COUNTER_VPU_IDLE]++;
  const bool a_of_vmem = !from_acc_ && !iota_;
  counters_[WEFT_COUNTER_VMEM_GRANTS_VPU_READ] += (a_of_vmem && a_.granted != 0) || (b_.granted | kept_.granted) != 0;
  counters_[WEFT_COUNTER_VMEM_CONFLICTS_VPU_READ] +=
      (a_of_vmem && a_.granted != a_.asked) || b_.granted != b_.asked || kept_.granted != kept_.asked;
  counters_[WEFT_COUNTER_VMEM_GRANTS_VPU_WRITE] += write_granted_ != 0;
  counters_[WEFT_COUNTER_VMEM_CONFLICTS_VPU_WRITE] += write_refused;
}

/// The rows that are read in this cycle.
void VpuUnit::look_at_rows() {
  for (uint32_t rows = a_.granted; rows != 0; rows &= rows - 1) {
    const auto row = static_cast<unsigned>(std::countr_zero(rows));
    a_.mark(row, look_at_a(a_.row_address(row)));
  }
  for (uint32_t rows = b_.granted; rows != 0; rows &= rows - 1) {
    const auto row = static_cast<unsigned>(std::countr_zero(rows));
    b_.mark(row, look_at_b(b_.row_address(row)));
  }
  if (kept_.granted != 0) kept_.mark(0, look_at_kept());
}

void VpuUnit::clock(uint64_t cycle) {
  if (next_event_ <= cycle) next_event_ = kNever;
  if (a_.asked != 0 && from_acc_) grant_acc(cycle);
  progressed_ = (a_.granted != 0 && !from_acc_ && !iota_) || (b_.granted | kept_.granted) != 0 || write_granted_ != 0;
  if (!run_ && !slot_ && a_.asked == 0 && b_.asked == 0) {
    counters_[WEFT_COUNTER_VPU_IDLE]++;
    return;
  }
  count_cycle();
  const auto written = static_cast<uint32_t>(std::popcount(write_granted_));
  const bool last_write = written != 0 && unwritten_ == written && !cut_;
  const bool go = (out_rows_ & ~write_granted_) == 0;
  const bool operands = a_.groups != 0 && (!use_b_ || b_.groups != 0) && (tensor_.kept == 0 || kept_.groups != 0);

  // Of the group the rows before the first that is poisoned.
  const uint32_t group = std::min(left_, sublanes_);
  uint32_t good = std::min(good_, group);
  const uint32_t counts = (1u << good) - 1;
  const uint32_t a_bad = a_.marks[0].bad & counts, b_bad = use_b_ ? b_.marks[0].bad & counts : 0,
                 kept_bad = tensor_.kept != 0 ? kept_.marks[0].bad & counts : 0, bad = a_bad | b_bad | kept_bad;
  uint64_t bad_address = 0;
  if (bad != 0) {
    good = static_cast<uint32_t>(std::countr_zero(bad));
    const auto is_bad = [&](uint32_t rows) { return (rows >> good & 1) != 0; };
    bad_address = (is_bad(a_bad) ? a_ : is_bad(b_bad) ? b_ : kept_).marks[0].addresses[good];
  }
  const bool execute = go && operands && good != 0 && !cut_;
  const bool empty = !result_valid_ && inner_valid_ == 0 && !emit_valid_ && out_rows_ == 0;
  const bool poisoned = run_ && empty && (cut_ || (operands && good == 0));
  const bool checked = slot_ && !dead_ && cycle >= slot_->checked;

  if (poisoned) fault_ = {true, {WEFT_FAULT_ECC_UNCORRECTABLE, cut_ ? cut_address_ : bad_address}, body_.header.tag};
  if (execute) {
    if (bad != 0) cut_address_ = bad_address;
    a_.pop();
    b_lane_ += sublanes_;
    if (use_b_ && (!columns_ || b_lane_ % state_.chip().n == 0)) b_.pop();
  }
  if ((a_.granted | b_.granted | kept_.granted) != 0 && !(vmem_flips_.idle() && mxu_.acc_idle())) look_at_rows();
  a_.advance();
  b_.advance();
  kept_.advance();
  if (write_granted_ != 0) {
    unwritten_ -= written;
    written_ += written;
  }
  if (out_rows_ != 0 && go) write_address_ += sublanes_ * body_.d_stride;
  out_rows_ &= ~write_granted_;
  if (go) move_pipeline(execute, good);
  if (execute) take_group(group, good);
  if (last_write || poisoned) {
    // All rows that are written; the columns of a TRANSPOSE come out when all rows are there.
    finish_command(transpose_ ? (poisoned ? 0 : body_.rows) : written_);
    run_ = false;
    (poisoned ? fault_cycle_ : done_cycle_) = next_event_ = cycle + 1;
  }
  if (poisoned) {
    slot_.reset();
    dead_ = true;
  } else if (checked && slot_->refusal && !run_ && !last_write) {
    fault_ = {true, *slot_->refusal, slot_->body.header.tag};
    fault_cycle_ = next_event_ = cycle + 1;
    dead_ = true;
  } else if (checked && !slot_->refusal && !run_) {
    start(cycle);
  }
}

/// The lanes have taken a group: `good` of its rows.
void VpuUnit::take_group(uint32_t group, uint32_t good) {
  if (inside_ != 1) {
    inside_--;
    good_ = good;
    return;
  }
  inside_ = windows_ ? body_.window : 1;
  good_ = sublanes_;
  if (good != group) {  // what is behind the cut is never written
    cut_ = true;
    unwritten_ -= left_ - good;
  }
  left_ -= group;
}

/// The registers behind the operands, which move together.
void VpuUnit::move_pipeline(bool execute, uint32_t good) {
  const bool emit = transpose_ && run_ && loaded_ == body_.rows && emitted_ < body_.cols;
  const bool load = transpose_ && result_valid_;
  const bool finish = transpose_           ? emit_valid_
                      : inner_stages_ != 0 ? (inner_valid_ >> (inner_stages_ - 1) & 1) != 0
                                           : result_valid_;
  out_rows_ = finish ? (1u << std::min(unwritten_, sublanes_)) - 1 : 0;
  inner_valid_ = inner_stages_ == 0 ? 0 : (inner_valid_ << 1 | (result_valid_ ? 1u : 0u)) & ((1u << inner_stages_) - 1);
  emit_valid_ = emit;
  result_valid_ = execute && inside_ == 1;
  if (load) loaded_ += result_rows_;
  result_rows_ = good;
  if (emit) emitted_ += sublanes_;
}

/// Its first `rows` rows have been read and written.
void VpuUnit::finish_command(uint64_t rows) {
  if (rows == 0) return;
  NoMemory none;
  spec::VpuCommand c = body_;
  c.rows = static_cast<uint16_t>(rows);
  if (timing_.carries_data)
    (void)state_.execute_checked(rows == body_.rows ? command_ : spec::encode(c), WEFT_QUEUE_VPU, none);
  write_rows(transpose_ ? body_.cols : rows);
}

void VpuUnit::skip(uint64_t from, uint64_t to) {
  progressed_ = false;
  if (next_event_ < to) next_event_ = kNever;
  counters_[WEFT_COUNTER_VPU_IDLE] += to - from;
}

UnitOutcome VpuUnit::outcome(uint64_t cycle) {
  UnitOutcome out;
  out.done = done_cycle_ == cycle;
  if (fault_cycle_ == cycle) out.fault = fault_;
  return out;
}

void VpuUnit::reset() {
  slot_.reset();
  dead_ = run_ = false;
  a_ = b_ = kept_ = {};
  result_valid_ = emit_valid_ = progressed_ = cut_ = false;
  inner_valid_ = out_rows_ = write_granted_ = 0;
  done_cycle_ = fault_cycle_ = next_event_ = kNever;
}

}  // namespace weft::core::fast
