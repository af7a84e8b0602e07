// The MSI-X table and its pending bits.
#include "model/chip/msix.hpp"

#include <bit>

namespace weft::chip {

static_assert(Msix::kVectors <= 64, "pending bits are one word");
static_assert(Msix::kVectors * Msix::kEntryBytes <= Msix::kPendingOffset &&
              Msix::kPendingOffset + 8 <= WEFT_PCI_BAR4_BYTES);

void Msix::reset() {
  for (auto& entry : table_) entry = {0, 0, 0, kMaskBit};
  pending_ = 0;
  enabled_ = function_masked_ = false;
}

uint32_t Msix::read(uint64_t offset) const {
  if (offset < kVectors * kEntryBytes) return table_[offset / kEntryBytes][offset % kEntryBytes / 4];
  if (offset == kPendingOffset) return static_cast<uint32_t>(pending_);
  if (offset == kPendingOffset + 4) return static_cast<uint32_t>(pending_ >> 32);
  return 0;
}

void Msix::write(uint64_t offset, uint32_t value, uint32_t enabled) {
  if (offset >= kVectors * kEntryBytes) return;
  const unsigned field = static_cast<unsigned>(offset % kEntryBytes / 4);
  uint32_t& word = table_[offset / kEntryBytes][field];
  const uint32_t merged = (word & ~enabled) | (value & enabled);
  word = field == kControl ? merged & kMaskBit : merged;
  deliver();
}

void Msix::raise(unsigned vector) {
  if (vector >= kVectors) return;
  pending_ |= uint64_t{1} << vector;
  deliver();
}

void Msix::set_vector_mask(unsigned vector, bool masked) {
  if (vector >= kVectors) return;
  table_[vector][kControl] = masked ? kMaskBit : 0;
  deliver();
}

void Msix::set_control(bool enabled, bool function_masked) {
  enabled_ = enabled;
  function_masked_ = function_masked;
  deliver();
}

void Msix::set_sink(InterruptSink* sink) {
  sink_ = sink;
  deliver();
}

void Msix::deliver() {
  if (!enabled_ || function_masked_ || sink_ == nullptr) return;
  for (uint64_t left = pending_; left != 0; left &= left - 1) {
    const unsigned vector = static_cast<unsigned>(std::countr_zero(left));
    if (!vector_masked(vector) && sink_->signal(vector)) pending_ &= ~(uint64_t{1} << vector);
  }
}

}  // namespace weft::chip
