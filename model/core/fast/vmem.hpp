/// VMEM's arbiter: which accesses of a cycle go on, as in rtl/vmem/vmem_arbiter.sv.
#pragma once
#include <cstdint>

#include "model/core/fast/unit.hpp"

namespace weft::core::fast {

/// One cycle at a time: begin(), the accesses of MXUs and VPU in the order of their priority, end(). Every access names
/// its banks, a bit each, and goes on whole or not at all. Reads and writes never meet: a bank has a port for each.
class VmemArbiter {
 public:
  /// `starve_limit`: refusals in a row after which an access of DMA goes first.
  VmemArbiter(unsigned banks, uint32_t starve_limit) : banks_(banks), starve_limit_(starve_limit) {}

  /// A cycle begins, in which DMA asks to read and to write these banks; 0: it does not.
  void begin(BankSet dma_read, BankSet dma_write) {
    dma_read_ = dma_read;
    dma_write_ = dma_write;
    read_first_ = dma_read != 0 && read_refusals_ == starve_limit_;
    write_first_ = dma_write != 0 && write_refusals_ == starve_limit_;
    reading_ = read_first_ ? dma_read : 0;
    writing_ = write_first_ ? dma_write : 0;
  }
  /// A read: x of all MXUs first, then weights of all MXUs, then the rows of the VPU's a, then of its b.
  bool read(BankSet banks) {
    if ((reading_ & banks) != 0) return false;
    reading_ |= banks;
    return true;
  }
  /// A write of the VPU: its rows in their order.
  bool write(BankSet banks) {
    if ((writing_ & banks) != 0) return false;
    writing_ |= banks;
    return true;
  }
  /// All have asked: what is left is DMA's.
  void end() {
    read_granted_ = dma_read_ != 0 && (read_first_ || (reading_ & dma_read_) == 0);
    write_granted_ = dma_write_ != 0 && (write_first_ || (writing_ & dma_write_) == 0);
    read_refusals_ = dma_read_ == 0 || read_granted_ ? 0 : read_refusals_ + 1;
    write_refusals_ = dma_write_ == 0 || write_granted_ ? 0 : write_refusals_ + 1;
  }
  [[nodiscard]] bool dma_read_granted() const { return read_granted_; }
  [[nodiscard]] bool dma_write_granted() const { return write_granted_; }
  void reset() { read_refusals_ = write_refusals_ = 0; }

  /// Banks of `words` consecutive words from `first` on.
  [[nodiscard]] BankSet banks(uint64_t first, uint32_t words) const { return bank_mask(first, words, banks_); }

 private:
  unsigned banks_;
  uint32_t starve_limit_;
  uint32_t read_refusals_ = 0, write_refusals_ = 0;
  // Of the cycle under way.
  BankSet dma_read_ = 0, dma_write_ = 0, reading_ = 0, writing_ = 0;
  bool read_first_ = false, write_first_ = false;
  bool read_granted_ = false, write_granted_ = false;
};

}  // namespace weft::core::fast
