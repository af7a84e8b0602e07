/// The VPU and ECC: what its reads meet, and what its writes flip.
#include "model/core/fast/vpu.hpp"

namespace weft::core::fast {

/// A row of an operand from `word` on, of which `lanes` lanes from `first_byte` on are used.
EccRead VpuUnit::read_vmem(uint64_t word, uint64_t first_byte, uint64_t lanes) const {
  const uint64_t granules = state_.chip().word_bytes / kGranuleBytes;
  const uint64_t words = golden::words_per_row(body_.src_dtype);
  const uint64_t lane_bytes = words == 2 ? 4 : body_.src_dtype == WEFT_VPU_DTYPE_BF16 ? 2 : 1;
  const uint64_t first = word * granules, end = first + words * granules;
  EccRead all, used;
  vmem_flips_.read(first, end, first, all);
  const uint64_t used_end = first + (first_byte + lanes * lane_bytes + kGranuleBytes - 1) / kGranuleBytes;
  vmem_flips_.read(first + first_byte / kGranuleBytes, end, used_end, used);
  all.first_poison = used.first_poison;
  counters_[WEFT_COUNTER_ECC_VMEM_CORRECTED] += all.corrected;
  counters_[WEFT_COUNTER_ECC_VMEM_UNCORRECTABLE] += all.poisoned;
  return all;
}

/// The row of a at `address` that is read in this cycle.
VpuUnit::Mark VpuUnit::look_at_a(uint32_t address) {
  if (iota_) return {};
  if (!from_acc_) {
    if (vmem_flips_.idle()) return {};
    const uint64_t first = body_.op == WEFT_VPU_OP_UPPER ? state_.chip().n : 0,
                   lanes = body_.op == WEFT_VPU_OP_ROTATE ? state_.chip().n : body_.cols;
    const auto read = read_vmem(address, first, lanes);
    return {read.first_poison.has_value(), read.first_poison.value_or(0) * kGranuleBytes};
  }
  const uint64_t first = uint64_t{address} * state_.chip().n;
  const AccFlips& flips = mxu_.acc_flips(first);
  if (flips.idle()) return {};
  EccRead read;
  flips.read(first, first + state_.chip().n, first + body_.cols, read);
  counters_[WEFT_COUNTER_ECC_ACC_CORRECTED] += read.corrected;
  counters_[WEFT_COUNTER_ECC_ACC_UNCORRECTABLE] += read.poisoned;
  return {read.first_poison.has_value(), kAccAddress | address};
}

VpuUnit::Mark VpuUnit::look_at_b(uint32_t address) {
  if (vmem_flips_.idle()) return {};
  const uint64_t lanes = columns_ ? body_.rows - uint64_t{b_.granted_rows} * state_.chip().n : body_.cols;
  const auto read = read_vmem(address, 0, lanes);
  return {read.first_poison.has_value(), read.first_poison.value_or(0) * kGranuleBytes};
}

VpuUnit::Mark VpuUnit::look_at_kept() {
  if (vmem_flips_.idle()) return {};
  const auto read = read_vmem(body_.scalar2, 0, body_.cols);
  return {read.first_poison.has_value(), read.first_poison.value_or(0) * kGranuleBytes};
}

/// `rows` rows of d have been written, all of them: a flip stays only if no later row wrote over it.
void VpuUnit::write_rows(uint64_t rows) {
  if (vmem_flips_.idle()) return;
  const uint64_t granules = state_.chip().word_bytes / kGranuleBytes;
  const uint64_t words = golden::words_per_row(body_.dst_dtype);
  std::optional<VmemFlips::Flipped> stays;
  for (uint64_t row = 0; row < rows; row++) {
    const uint64_t end = (body_.d_addr + row * body_.d_stride + words) * granules;
    const uint64_t first = end - (golden::writes_upper_half(body_) ? granules / 2 : words * granules);
    if (stays && stays->place >= first && stays->place < end) stays.reset();
    if (const auto flipped = vmem_flips_.written(first, end)) stays = flipped;
  }
  if (stays) state_.flip_vmem(stays->place * kGranuleBytes, stays->change);
}

}  // namespace weft::core::fast
