// The two rings of a queue in host memory. Indices run freely through 2^32; sizes are powers of two; full capacity is
// usable.
//
// Orderings, each with its pair:
//   submission: entry (plain stores) -> release fence -> doorbell
//     pairs with: the device reads the doorbell, then the entry
//   completion: the device stores bytes 0 to 23, then the last 8, with the phase, by one release store
//     pairs with: the acquire load in CompletionRing::peek
#pragma once
#include <atomic>
#include <cstring>
#include <optional>

#include "base/crc32c.hpp"
#include "weft/spec/spec.h"

namespace weft::driver {

constexpr bool ring_size_valid(uint32_t entries) {
  return entries >= WEFT_LIMIT_RING_ENTRIES_MIN && entries <= WEFT_LIMIT_RING_ENTRIES_MAX &&
         (entries & (entries - 1)) == 0;
}

/// Phase bit of the completion with this free-running index: 1 in the first lap, then alternating.
constexpr uint32_t ring_phase(uint32_t index, uint32_t entries) { return (index & entries) == 0 ? 1 : 0; }

/// How often the ring was filled before the entry with this free-running index.
constexpr uint32_t ring_lap(uint32_t index, uint32_t entries) { return index / entries; }

/// What `crc32c` of a submission in this lap says.
inline uint32_t submission_seal(const weft_submission_entry& entry, uint32_t lap) {
  return crc32c(&entry, offsetof(weft_submission_entry, crc32c)) ^ lap;
}

/// The check in the entry's status fits the rest of the entry, so it arrived whole.
inline bool completion_check_holds(weft_completion_entry entry) {
  const uint32_t check = WEFT_STATUS_CHECK(entry.status);
  entry.status = WEFT_STATUS_WITH_CHECK(entry.status, 0);
  return (crc32c(&entry, sizeof entry) & 0xff) == check;
}

/// Producer side of a submission ring. No lock of its own: its queue's mutex.
class SubmissionRing {
 public:
  /// `memory`: `entries` entries, device-visible, outlives the ring. `first_index` is 0 except in tests of the wrap.
  SubmissionRing(void* memory, uint32_t entries, uint32_t first_index = 0)
      : memory_(static_cast<weft_submission_entry*>(memory)),
        entries_(entries),
        head_(first_index),
        tail_(first_index) {}

  uint32_t head() const { return head_; }
  uint32_t tail() const { return tail_; }
  uint32_t entries() const { return entries_; }
  uint32_t used() const { return tail_ - head_; }
  bool full() const { return used() == entries_; }

  /// Seals the entry, writes it at the tail and returns the new tail. Not called when full.
  uint32_t push(weft_submission_entry entry) {
    entry.crc32c = submission_seal(entry, ring_lap(tail_, entries_));
    std::memcpy(&memory_[tail_ & (entries_ - 1)], &entry, sizeof entry);
    return ++tail_;
  }

  /// Between the last push and the doorbell.
  void publish() const {
    std::atomic_thread_fence(std::memory_order_release);  // pairs with the device: doorbell, then entry
  }

  /// From the first entry again; its entries() may be read beside this.
  void restart() { head_ = tail_ = 0; }

  /// Takes over the device's head from a completion. False: it lies outside of head to tail, and nothing changes.
  bool advance_head(uint32_t head) {
    if (head - head_ > used()) return false;
    head_ = head;
    return true;
  }

 private:
  weft_submission_entry* memory_;
  const uint32_t entries_;
  uint32_t head_;  ///< first entry that the device may not have fetched
  uint32_t tail_;
};

/// Consumer side of a completion ring. No lock of its own: its queue's mutex.
class CompletionRing {
 public:
  /// `memory`: `entries` zeroed entries, device-visible, outlives the ring.
  CompletionRing(const void* memory, uint32_t entries, uint32_t first_index = 0)
      : memory_(static_cast<const unsigned char*>(memory)),
        entries_(entries),
        head_(first_index),
        acknowledged_(first_index) {}

  uint32_t head() const { return head_; }
  uint32_t entries() const { return entries_; }
  /// Entries consumed since the device was told last.
  uint32_t unacknowledged() const { return head_ - acknowledged_; }
  void acknowledge() { acknowledged_ = head_; }

  /// The entry at the head if its phase says that the device has written it.
  std::optional<weft_completion_entry> peek() const {
    const unsigned char* place = memory_ + size_t{head_ & (entries_ - 1)} * sizeof(weft_completion_entry);
    constexpr size_t kLastWord = offsetof(weft_completion_entry, command_id);
    static_assert(kLastWord % sizeof(uint64_t) == 0 && kLastWord + sizeof(uint64_t) == sizeof(weft_completion_entry));
    // Acquire: pairs with the device's release store of the last 8 bytes.
    const uint64_t last = __atomic_load_n(reinterpret_cast<const uint64_t*>(place + kLastWord), __ATOMIC_ACQUIRE);
    weft_completion_entry entry;
    std::memcpy(reinterpret_cast<unsigned char*>(&entry) + kLastWord, &last, sizeof last);
    if (WEFT_STATUS_PHASE(entry.status) != ring_phase(head_, entries_)) return std::nullopt;
    std::memcpy(&entry, place, kLastWord);
    return entry;
  }

  void pop() { head_++; }

  /// From the first entry again, of zeroed memory; its entries() may be read beside this.
  void restart() { head_ = acknowledged_ = 0; }

 private:
  const unsigned char* memory_;
  const uint32_t entries_;
  uint32_t head_;
  uint32_t acknowledged_;
};

}  // namespace weft::driver
