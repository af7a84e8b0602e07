/// The rows of an indexed command, an index a cycle.
#include "model/core/fast/row_fetch.hpp"

#include <algorithm>
#include <array>

#include "model/golden/indexed_rows.hpp"

namespace weft::core::fast {

void RowFetch::load(const spec::IndexedCommand& command, const spec::Chip& chip) {
  command_ = command;
  lanes_ = chip.word_bytes / static_cast<uint32_t>(sizeof(int32_t));
  word_ = command.index_off / chip.word_bytes;
  words_ = (command.count + lanes_ - 1) / lanes_;
  number_ = 0;
}

void RowFetch::granted(const golden::CoreState& state, const VmemFlips& flips, Counters& counters) {
  const uint64_t bytes = uint64_t{lanes_} * sizeof(int32_t), first = word_ * bytes;
  const uint64_t before = first - command_.index_off;
  std::array<int32_t, 128> values{};
  const auto count = std::min<size_t>(lanes_, command_.count - before / sizeof(int32_t));
  state.read_vmem(first, std::as_writable_bytes(std::span(values).first(count)));
  if (!flips.idle()) {
    EccRead met;
    flips.read(first / kGranuleBytes, (first + bytes) / kGranuleBytes, 0, met);
    counters[WEFT_COUNTER_ECC_VMEM_CORRECTED] += met.corrected;
    counters[WEFT_COUNTER_ECC_VMEM_UNCORRECTABLE] += met.poisoned;
  }
  for (size_t i = 0; i < count; i++) {
    EccRead met;
    const uint64_t granule = (first + i * sizeof(int32_t)) / kGranuleBytes;
    if (!flips.idle()) flips.read(granule, granule + 1, granule + 1, met);
    indices_.push_back({values[i], met.first_poison.has_value()});
  }
  word_++;
  words_--;
  granted_ = true;
}

IndexedRow RowFetch::row_of(uint32_t number, const Index& index) const {
  using Kind = IndexedRow::Kind;
  if (index.poisoned) {
    const uint64_t at = uint64_t{command_.index_off} + sizeof index.value * number;
    return {Kind::kRefused, 0, {WEFT_FAULT_ECC_UNCORRECTABLE, at / kGranuleBytes * kGranuleBytes}};
  }
  if (index.value == golden::kNoRow) return {Kind::kSkipped, 0, {}};
  if (!golden::index_legal(command_, index.value))
    return {Kind::kRefused, 0, {WEFT_FAULT_INDEX, golden::index_fault_address(number, index.value)}};
  return {Kind::kMoved, static_cast<uint64_t>(index.value * golden::indexed_table(command_).stride), {}};
}

bool RowFetch::clock() {
  // All from the registers of the cycle's start.
  const bool next = there_ != 0 && number_ != command_.count && taken_ < depth_;
  const bool used_up = next && (number_ % lanes_ == lanes_ - 1 || number_ + 1 == command_.count);
  const bool moved = next || made_ || coming_ != 0 || granted_ || back_taken_;
  if (made_ && !ended_) {
    rows_.push_back(making_);
    ended_ = making_.kind == IndexedRow::Kind::kRefused;
  }
  if (back_taken_) {
    rows_.pop_front();
    front_--;
    taken_--;
  }
  made_ = next;
  if (next) {
    making_ = row_of(number_++, indices_.front());
    indices_.pop_front();
    taken_++;
  }
  if (used_up) held_--, there_--;
  there_ += coming_;
  coming_ = granted_ ? 1 : 0;
  held_ += coming_;
  granted_ = back_taken_ = false;
  return moved;
}

}  // namespace weft::core::fast
