// Command ids: a 12-bit slot with a 4-bit generation, so that a late completion cannot hit a slot that has been given
// away again.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace weft::driver {

/// What a completion's command id stands for.
enum class IdMatch {
  kOutstanding,  ///< the command is in flight
  kDuplicate,    ///< its slot is free and this was its last owner: completed twice
  kLate,         ///< its slot belongs to another command now, or to an older one
  kUnknown,      ///< no such slot, or never used
};

/// Slots of one queue with a payload each. Freed slots are reused in the order they were freed, which keeps an old id
/// recognisable for longest: a slot comes back only after all others, and its id repeats after 15 turns. Not
/// thread-safe.
template <typename Payload>
class CommandIds {
 public:
  static constexpr uint32_t kSlotBits = 12;
  static constexpr uint32_t kGenerations =
      15;  ///< 1 to 15: so that no id is 0, which a fault record uses for "no command"

  explicit CommandIds(uint32_t slots) : slots_(slots), free_(slots) {
    for (uint32_t i = 0; i < slots; i++) free_[i] = static_cast<uint16_t>(i);
    free_count_ = slots;
  }

  uint32_t in_use() const { return static_cast<uint32_t>(slots_.size()) - free_count_; }
  uint32_t free() const { return free_count_; }
  static constexpr uint32_t slot_of(uint16_t id) { return id & ((1u << kSlotBits) - 1); }

  /// An id for a new command; nothing if every slot is in flight.
  std::optional<uint16_t> acquire(Payload payload) {
    if (free_count_ == 0) return std::nullopt;
    const uint16_t slot = free_[free_head_];
    free_head_ = next(free_head_);
    free_count_--;
    Slot& s = slots_[slot];
    s.generation = s.generation % kGenerations + 1;
    s.used = true;
    s.order = ++acquired_;
    s.payload = std::move(payload);
    return static_cast<uint16_t>(slot | s.generation << kSlotBits);
  }

  IdMatch match(uint16_t id) const {
    const uint32_t slot = slot_of(id);
    if (slot >= slots_.size()) return IdMatch::kUnknown;
    const Slot& s = slots_[slot];
    if (s.generation == kNever) return IdMatch::kUnknown;
    const bool current = s.generation == id >> kSlotBits;
    if (s.used) return current ? IdMatch::kOutstanding : IdMatch::kLate;
    return current ? IdMatch::kDuplicate : IdMatch::kLate;
  }

  /// Frees the slot of an outstanding id and hands back its payload.
  Payload release(uint16_t id) {
    const uint32_t slot = slot_of(id);
    Slot& s = slots_[slot];
    s.used = false;
    const size_t end = free_head_ + free_count_;
    free_[end < free_.size() ? end : end - free_.size()] = static_cast<uint16_t>(slot);
    free_count_++;
    return std::exchange(s.payload, Payload{});
  }

  /// The payload of some outstanding id for which `wanted` holds; an empty one if there is none.
  template <typename Predicate>
  Payload any(Predicate&& wanted) const {
    for (const Slot& slot : slots_) {
      if (slot.used && wanted(slot.payload)) return slot.payload;
    }
    return {};
  }

  /// Calls with (order of acquisition, payload) for every outstanding id, in no order.
  template <typename Function>
  void for_each(Function&& function) const {
    for (const Slot& slot : slots_) {
      if (slot.used) function(slot.order, slot.payload);
    }
  }

  /// Frees every outstanding id, oldest slot number first.
  template <typename Function>
  void release_all(Function&& function) {
    for (uint32_t slot = 0; slot < slots_.size(); slot++) {
      if (slots_[slot].used) function(release(static_cast<uint16_t>(slot | slots_[slot].generation << kSlotBits)));
    }
  }

 private:
  static constexpr uint32_t kNever = 0;  ///< a slot that no command has had
  struct Slot {
    uint32_t generation = kNever;
    bool used = false;
    uint64_t order = 0;  ///< of acquisition
    Payload payload{};
  };

  size_t next(size_t index) const { return index + 1 == free_.size() ? 0 : index + 1; }

  std::vector<Slot> slots_;
  std::vector<uint16_t> free_;  ///< circular: free_count_ slots from free_head_
  size_t free_head_ = 0;
  uint32_t free_count_ = 0;
  uint64_t acquired_ = 0;
};

}  // namespace weft::driver
