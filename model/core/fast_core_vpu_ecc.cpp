/// The VPU and ECC: what the reads of a command meet, and where a poisoned row stops it.
#include <algorithm>

#include "model/core/fast_core_vpu.hpp"

namespace weft::core::fast {

/// A row of an operand from `word` on, of which `lanes` lanes from `first_byte` on are used.
EccRead VpuUnit::read_vmem(uint64_t word, const spec::VpuCommand& c, uint64_t first_byte, uint64_t lanes) const {
  const uint64_t granules = state_.chip().word_bytes / kGranuleBytes;
  const uint64_t words = golden::words_per_row(c.src_dtype);
  const uint64_t lane_bytes = words == 2 ? 4 : c.src_dtype == WEFT_VPU_DTYPE_BF16 ? 2 : 1;
  const uint64_t first = word * granules, end = first + words * granules;
  EccRead all, used;
  vmem_flips_.read(first, end, first, all);
  const uint64_t used_end = first + (first_byte + lanes * lane_bytes + kGranuleBytes - 1) / kGranuleBytes;
  vmem_flips_.read(first + first_byte / kGranuleBytes, end, used_end, used);
  all.first_poison = used.first_poison;
  return all;
}

/// Step `step` of a; `address`: of the fault, if it is poisoned.
EccRead VpuUnit::read_a(const Running& r, uint64_t step, uint64_t cycle, uint64_t& address) {
  EccRead read;
  if (r.rows.a == 0) return read;
  const uint64_t at = r.body.a_addr + step / r.rows.window * r.body.a_stride +
                      (r.rows.window == 1 ? 0 : step % r.rows.window * r.body.b_stride);
  if (r.body.src_space == WEFT_VPU_SPACE_ACC) {
    const uint64_t first = at * state_.chip().n;
    mxu_.acc_flips(first, cycle).read(first, first + state_.chip().n, first + r.body.cols, read);
    address = kAccAddress | at;
  } else {
    read = read_vmem(at, r.body, r.body.op == WEFT_VPU_OP_UPPER ? state_.chip().n : 0, r.body.cols);
    address = read.first_poison.value_or(0) * kGranuleBytes;
  }
  return read;
}

EccRead VpuUnit::read_b(const Running& r, uint64_t row) const {
  const bool column = r.body.b_mode == WEFT_VPU_B_MODE_COLUMN;
  const uint64_t lanes = column ? r.body.rows - row * state_.chip().n : r.body.cols;
  return read_vmem(r.body.b_addr + row * r.body.b_stride, r.body, 0, lanes);
}

/// The first step that would use a poisoned row; a before b.
std::optional<VpuUnit::Poison> VpuUnit::find_poison(const Running& r, uint64_t cycle) {
  for (uint64_t step = 0; step < r.steps; step++) {
    uint64_t address = 0;
    if (read_a(r, step, cycle, address).first_poison) return Poison{step, address};
    const bool column = r.body.b_mode == WEFT_VPU_B_MODE_COLUMN;
    if (column && step % state_.chip().n != 0) continue;
    const uint64_t row = column ? step / state_.chip().n : step;
    if (row >= r.rows.b) continue;
    if (const auto poison = read_b(r, row).first_poison) return Poison{step, *poison * kGranuleBytes};
  }
  return std::nullopt;
}

void VpuUnit::count_reads(const Running& r, uint64_t a_steps, uint64_t b_rows, uint64_t cycle) {
  const bool acc = r.body.src_space == WEFT_VPU_SPACE_ACC;
  const auto count = [&](const EccRead& read, bool of_acc) {
    counters_[of_acc ? WEFT_COUNTER_ECC_ACC_CORRECTED : WEFT_COUNTER_ECC_VMEM_CORRECTED] += read.corrected;
    counters_[of_acc ? WEFT_COUNTER_ECC_ACC_UNCORRECTABLE : WEFT_COUNTER_ECC_VMEM_UNCORRECTABLE] += read.poisoned;
  };
  uint64_t address = 0;
  for (uint64_t step = 0; step < a_steps; step++) count(read_a(r, step, cycle, address), acc);
  for (uint64_t row = 0; row < b_rows; row++) count(read_b(r, row), false);
}

/// The command that starts next: what its reads meet, and whether they stop it. Two rows of an operand are read behind
/// the last one that was used up.
void VpuUnit::look_for_poison(uint64_t cycle) {
  if (running_.empty()) return;
  Running& r = running_.front();
  if (vmem_flips_.idle() && (r.body.src_space != WEFT_VPU_SPACE_ACC || mxu_.acc_idle(cycle))) return;
  const auto poison = find_poison(r, cycle);
  if (!poison) return count_reads(r, r.steps, r.rows.b, cycle);
  const uint64_t step = poison->step;
  const bool column = r.body.b_mode == WEFT_VPU_B_MODE_COLUMN,
             transpose = r.body.header.opcode == WEFT_OPCODE_TRANSPOSE;
  const uint64_t used_b = column ? step / state_.chip().n : step;
  const uint64_t a_steps = std::min(r.steps, step + 2), b_rows = std::min(r.rows.b, used_b + 2);
  count_reads(r, a_steps, b_rows, cycle);
  const uint64_t done = transpose ? 0 : step / r.rows.window;
  // The pipeline is empty once the last row before the poisoned one is written, or has gone into the transposition.
  const uint64_t first = r.start + timing_.vpu_pipeline;
  ecc_fault_ = first + step;
  if (done != 0) ecc_fault_ = std::max(ecc_fault_, r.start + done * r.rows.window + latency(r.body) + 2);
  if (transpose && step != 0) ecc_fault_ = first + step + 1;
  poison_address_ = poison->address;
  stall_from_ = a_steps < r.steps || b_rows < r.rows.b ? r.start + 1 + a_steps : kNever;
  for (Running& counted : counted_)
    if (counted.start == r.start) counted.steps = a_steps;
  r.steps = a_steps;
  r.rows = {r.rows.a == 0 ? 0 : a_steps, r.rows.window, b_rows, done};
  r.last_write = r.start + done * r.rows.window + (transpose ? 0 : latency(r.body));
}

/// The rows of d have been written, all of them: a flip stays only if no later row wrote over it.
void VpuUnit::write_rows(const Running& r) {
  if (vmem_flips_.idle()) return;
  const uint64_t granules = state_.chip().word_bytes / kGranuleBytes;
  const uint64_t words = golden::words_per_row(r.body.dst_dtype);
  std::optional<VmemFlips::Flipped> stays;
  for (uint64_t row = 0; row < r.rows.d; row++) {
    const uint64_t first = (r.body.d_addr + row * r.body.d_stride) * granules, end = first + words * granules;
    if (stays && stays->place >= first && stays->place < end) stays.reset();
    if (const auto flipped = vmem_flips_.written(first, end)) stays = flipped;
  }
  if (stays) state_.flip_vmem(stays->place * kGranuleBytes, stays->change);
}

/// The rows before the poisoned one are written; then the unit is empty and takes nothing more.
UnitFault VpuUnit::stop_by_ecc(uint64_t cycle) {
  account(cycle);
  const Running& r = running_.front();
  const UnitFault fault{true, {WEFT_FAULT_ECC_UNCORRECTABLE, poison_address_}, r.body.header.tag};
  if (cycle > stall_from_) {
    counters_[WEFT_COUNTER_VPU_STALLED] += cycle - stall_from_;
    counters_[WEFT_COUNTER_VPU_IDLE] -= cycle - stall_from_;
  }
  // A row of b comes in the cycle of a row of a, and both count once.
  counters_[WEFT_COUNTER_VMEM_GRANTS_VPU_READ] += r.body.src_space == WEFT_VPU_SPACE_VMEM ? r.rows.a : r.rows.b;
  counters_[WEFT_COUNTER_VMEM_GRANTS_VPU_WRITE] += r.rows.d;
  if (r.rows.d != 0) {
    spec::VpuCommand c = r.body;
    c.rows = static_cast<uint16_t>(r.rows.d);
    NoMemory none;
    (void)state_.execute_checked(spec::encode(c), WEFT_QUEUE_VPU, none);
    write_rows(r);
  }
  running_.clear();
  dead_from_ = cycle;
  ecc_fault_ = refuse_cycle_ = kNever;
  refusing_ = false;
  return fault;
}

}  // namespace weft::core::fast
