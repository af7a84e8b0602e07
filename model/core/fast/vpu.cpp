/// The VPU's commands and its pipeline: rtl/vpu/vpu_control.sv and vpu_operand.sv, a cycle at a time.
#include "model/core/fast/vpu.hpp"

#include <algorithm>
#include <bit>

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
  use_b_ = columns_ || c.b_mode == WEFT_VPU_B_MODE_TENSOR || c.b_mode == WEFT_VPU_B_MODE_ROW;
  windows_ = c.axis == WEFT_VPU_AXIS_ROWS;
  transpose_ = c.header.opcode == WEFT_OPCODE_TRANSPOSE;
  inner_stages_ = 0;
  if (c.header.opcode == WEFT_OPCODE_REDUCE && !windows_)
    inner_stages_ = static_cast<uint32_t>(std::bit_width(state_.chip().n) - 1);
  if (golden::is_vpu_function(static_cast<weft_vpu_op>(c.op))) inner_stages_ = timing_.vpu_function;
  const uint32_t window = windows_ ? c.window : 1;
  a_ = {.windows = c.rows,
        .address = c.a_addr,
        .first = c.a_addr,
        .stride = c.a_stride,
        .inner = c.b_stride,
        .window = window,
        .inside = window};
  b_ = {.windows = use_b_ ? static_cast<uint32_t>(tensor_.b) : 0,
        .address = c.b_addr,
        .first = c.b_addr,
        .stride = c.b_stride,
        .keep = c.b_mode == WEFT_VPU_B_MODE_ROW};
  b_lane_ = 0;
  inside_ = window;
  loaded_ = emitted_ = 0;
  unwritten_ = transpose_ ? c.cols : c.rows;
  write_address_ = c.d_addr;
  run_ = true;
  slot_.reset();
  next_event_ = cycle + 1;  // ready() has changed
}

/// A request that was granted goes on to the next row; a row that is used up makes room.
void VpuUnit::Operand::advance(bool pop, const Mark& mark) {
  if (pop && !keep) {
    marks[0] = marks[1];
    rows--;
  }
  if (!granted) return;
  marks[rows++] = mark;
  granted_rows++;
  if (inside == 1) {
    first += stride;
    address = first;
    inside = window;
    windows--;
  } else {
    address += inner;
    inside--;
  }
}

uint32_t VpuUnit::row_banks(const VmemArbiter& vmem, uint32_t word) const {
  return vmem.banks(word, golden::words_per_row(body_.src_dtype));
}

void VpuUnit::request(VmemArbiter& vmem) {
  a_.asked = a_.asks();
  b_.asked = b_.asks();
  a_.granted = a_.asked && (iota_ || (!from_acc_ && vmem.read(row_banks(vmem, a_.address))));
  b_.granted = b_.asked && vmem.read(row_banks(vmem, b_.address));
  write_granted_ = out_valid_ && vmem.write(vmem.banks(write_address_, golden::words_per_row(body_.dst_dtype)));
}

/// What the cycle was, by the grants that it had.
void VpuUnit::count_cycle() const {
  const bool write_refused = out_valid_ && !write_granted_;
  if (a_.granted)
    counters_[WEFT_COUNTER_VPU_BUSY]++;
  else if (run_ && (a_.windows != 0 || b_.windows != 0 || write_refused))
    counters_[WEFT_COUNTER_VPU_STALLED]++;
  else
    counters_[WEFT_COUNTER_VPU_IDLE]++;
  const bool a_of_vmem = a_.asked && !from_acc_ && !iota_;
  counters_[WEFT_COUNTER_VMEM_GRANTS_VPU_READ] += (a_of_vmem && a_.granted) || b_.granted;
  counters_[WEFT_COUNTER_VMEM_CONFLICTS_VPU_READ] += (a_of_vmem && !a_.granted) || (b_.asked && !b_.granted);
  counters_[WEFT_COUNTER_VMEM_GRANTS_VPU_WRITE] += write_granted_;
  counters_[WEFT_COUNTER_VMEM_CONFLICTS_VPU_WRITE] += write_refused;
}

void VpuUnit::clock(uint64_t cycle) {
  if (next_event_ <= cycle) next_event_ = kNever;
  if (a_.asked && from_acc_) a_.granted = mxu_.acc_free(a_.address, cycle);
  progressed_ = (a_.granted && !from_acc_ && !iota_) || b_.granted || write_granted_;
  if (!run_ && !slot_ && !a_.asked && !b_.asked) {
    counters_[WEFT_COUNTER_VPU_IDLE]++;
    return;
  }
  count_cycle();
  const Mark a_mark = a_.granted ? look_at_a() : Mark{}, b_mark = b_.granted ? look_at_b() : Mark{};
  const bool last_write = write_granted_ && unwritten_ == 1;
  const bool go = !out_valid_ || write_granted_;
  const bool operands = a_.rows != 0 && (!use_b_ || b_.rows != 0);
  const bool a_bad = operands && a_.marks[0].bad, bad = a_bad || (operands && use_b_ && b_.marks[0].bad);
  const bool execute = go && operands && !bad;
  const bool empty = !result_valid_ && inner_valid_ == 0 && !emit_valid_ && !out_valid_;
  const bool poisoned = run_ && bad && empty;
  const bool checked = slot_ && !dead_ && cycle >= slot_->checked;

  if (poisoned) fault_ = {true, {WEFT_FAULT_ECC_UNCORRECTABLE, (a_bad ? a_ : b_).marks[0].address}, body_.header.tag};
  const bool b_pop = execute && use_b_ && (!columns_ || (b_lane_ + 1) % state_.chip().n == 0);
  if (execute) b_lane_++;
  a_.advance(execute, a_mark);
  b_.advance(b_pop, b_mark);
  if (go) move_pipeline(execute);
  if (write_granted_) {
    unwritten_--;
    write_address_ += body_.d_stride;
  }
  if (last_write || poisoned) {
    // All rows that are written; the columns of a TRANSPOSE come out when all rows are there.
    finish_command(transpose_ && poisoned ? 0 : body_.rows - (transpose_ ? 0 : unwritten_));
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

/// The registers behind the operands, which move together.
void VpuUnit::move_pipeline(bool execute) {
  const bool emit = transpose_ && run_ && loaded_ == body_.rows && emitted_ != body_.cols;
  const bool load = transpose_ && result_valid_;
  out_valid_ = transpose_           ? emit_valid_
               : inner_stages_ != 0 ? (inner_valid_ >> (inner_stages_ - 1) & 1) != 0
                                    : result_valid_;
  inner_valid_ = inner_stages_ == 0 ? 0 : (inner_valid_ << 1 | (result_valid_ ? 1u : 0u)) & ((1u << inner_stages_) - 1);
  emit_valid_ = emit;
  result_valid_ = execute && inside_ == 1;
  if (execute) inside_ = inside_ != 1 ? inside_ - 1 : windows_ ? body_.window : 1;
  loaded_ += load;
  emitted_ += emit;
}

/// Its first `rows` rows have been read and written.
void VpuUnit::finish_command(uint64_t rows) {
  if (rows == 0) return;
  NoMemory none;
  spec::VpuCommand c = body_;
  c.rows = static_cast<uint16_t>(rows);
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
  a_ = b_ = {};
  result_valid_ = emit_valid_ = out_valid_ = write_granted_ = progressed_ = false;
  inner_valid_ = 0;
  done_cycle_ = fault_cycle_ = next_event_ = kNever;
}

}  // namespace weft::core::fast
