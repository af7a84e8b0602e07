/// Which banks of VMEM the MXU and the VPU use in a cycle: what a DMA access may collide with.
#pragma once
#include "model/core/fast_core_mxu.hpp"
#include "model/core/fast_core_vpu.hpp"

namespace weft::core::fast {

/// A bit a bank. Asked for cycles in ascending order.
class VmemTraffic {
 public:
  VmemTraffic(MxuGroup& mxu, const VpuUnit& vpu, const spec::Chip& chip)
      : mxu_(mxu), vpu_(vpu), banks_(chip.vmem_banks) {}

  [[nodiscard]] uint32_t read_banks(uint64_t cycle) { return mxu_.read_banks(cycle) | vpu_.read_banks(cycle); }
  [[nodiscard]] uint32_t write_banks(uint64_t cycle) const { return vpu_.write_banks(cycle); }
  /// Banks of `words` words from `first` on.
  [[nodiscard]] uint32_t banks(uint64_t first, uint32_t words) const { return bank_mask(first, words, banks_); }

 private:
  MxuGroup& mxu_;
  const VpuUnit& vpu_;
  unsigned banks_;
};

}  // namespace weft::core::fast
