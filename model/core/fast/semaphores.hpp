/// Semaphores and the fair choice among those who ask, as in rtl/sync.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>

#include "weft/spec/commands.hpp"

namespace weft::core::fast {

/// Grants one request a cycle, in turn. A cycle without a request gives the turn back to request 0.
class RoundRobin {
 public:
  /// `requests`: a bit each. Returns the bit granted, 0 if none.
  uint32_t grant(uint32_t requests) {
    const uint32_t first = requests & after_;
    const uint32_t turn = first != 0 ? first : requests;
    const uint32_t granted = turn & (0u - turn);
    after_ = requests == 0 ? 0 : ~(granted | (granted - 1));
    return granted;
  }
  void reset() { after_ = 0; }

 private:
  uint32_t after_ = 0;
};

class Semaphores {
 public:
  [[nodiscard]] uint16_t value(unsigned index) const { return values_[index]; }
  void set(unsigned index, uint16_t value) {
    values_[index] = value;
    changed_ = true;
  }
  void reset() {
    values_.fill(0);
    changed_ = true;
  }
  /// A count may have grown since this was asked last.
  bool changed() { return std::exchange(changed_, false); }
  /// Bit i: semaphore i is not 0.
  [[nodiscard]] uint64_t nonzero() const {
    uint64_t bits = 0;
    for (unsigned i = 0; i < values_.size(); i++) bits |= uint64_t{values_[i] != 0} << i;
    return bits;
  }

  /// Both counts are there.
  [[nodiscard]] bool can_take(const spec::CommandHeader& h) const {
    return at_least(h.wait_sem0, h.wait_count0) && at_least(h.wait_sem1, h.wait_count1);
  }
  void take(const spec::CommandHeader& h) {
    if (h.wait_sem0 != WEFT_NO_SEMAPHORE) values_[h.wait_sem0] -= h.wait_count0;
    if (h.wait_sem1 != WEFT_NO_SEMAPHORE) values_[h.wait_sem1] -= h.wait_count1;
  }
  /// Adds both, or neither and returns the semaphore that would exceed 65535.
  std::optional<uint8_t> post(const spec::CommandHeader& h) {
    if (overflows(h.post_sem0, h.post_count0)) return h.post_sem0;
    if (overflows(h.post_sem1, h.post_count1)) return h.post_sem1;
    if (h.post_sem0 != WEFT_NO_SEMAPHORE) values_[h.post_sem0] += h.post_count0;
    if (h.post_sem1 != WEFT_NO_SEMAPHORE) values_[h.post_sem1] += h.post_count1;
    changed_ = true;
    return std::nullopt;
  }

 private:
  [[nodiscard]] bool at_least(uint8_t semaphore, uint16_t count) const {
    return semaphore == WEFT_NO_SEMAPHORE || values_[semaphore] >= count;
  }
  [[nodiscard]] bool overflows(uint8_t semaphore, uint16_t count) const {
    return semaphore != WEFT_NO_SEMAPHORE && values_[semaphore] + uint32_t{count} > UINT16_MAX;
  }
  std::array<uint16_t, WEFT_SEMAPHORES> values_{};
  bool changed_ = false;
};

}  // namespace weft::core::fast
