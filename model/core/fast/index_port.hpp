/// Who reads VMEM for DMA in a cycle: indices of a channel, or a beat of dma_out. rtl/dma/dma_index_port.sv said again.
#pragma once
#include <array>

#include "model/core/fast/dma.hpp"

namespace weft::core::fast {

/// One cycle at a time: choose(), the arbiter, then end().
class IndexPort {
 public:
  IndexPort(DmaDirection& in, DmaDirection& out, const VmemArbiter& vmem, const golden::CoreState& state,
            const VmemFlips& flips, Counters& counters)
      : in_(in), out_(out), vmem_(vmem), state_(state), flips_(flips), counters_(counters) {}

  /// Banks of the read that goes to VMEM, 0 if none does. A refused read is repeated before any other.
  BankSet choose() {
    const BankSet data = out_.vmem_banks();
    chosen_ = nullptr;
    for (unsigned i = 0; i < WEFT_CORE_DMA_CHANNELS && !(data != 0 && data_refused_); i++) {
      RowFetch* rows = i < 2 ? in_.index_read(i) : out_.index_read(i - 2);
      if (rows != nullptr && (chosen_ == nullptr || rows == refused_)) chosen_ = rows;
    }
    out_.yield_vmem(chosen_ != nullptr);
    data_ = chosen_ == nullptr && data != 0;
    return chosen_ != nullptr ? vmem_.banks(chosen_->word(), 1) : data;
  }
  /// The arbiter has spoken. True: a word of indices was granted.
  bool end() {
    const bool granted = vmem_.dma_read_granted();
    data_refused_ = data_ && !granted;
    refused_ = granted ? nullptr : chosen_;
    if (chosen_ == nullptr) return false;
    counters_[granted ? WEFT_COUNTER_VMEM_GRANTS_DMA_READ : WEFT_COUNTER_VMEM_CONFLICTS_DMA_READ]++;
    if (granted) chosen_->granted(state_, flips_, counters_);
    return granted;
  }
  /// Indices are asked for in this cycle.
  [[nodiscard]] bool asked() const { return chosen_ != nullptr; }
  void reset() {
    chosen_ = refused_ = nullptr;
    data_ = data_refused_ = false;
  }

 private:
  DmaDirection &in_, &out_;
  const VmemArbiter& vmem_;
  const golden::CoreState& state_;
  const VmemFlips& flips_;
  Counters& counters_;
  RowFetch *chosen_ = nullptr, *refused_ = nullptr;
  bool data_ = false, data_refused_ = false;
};

}  // namespace weft::core::fast
