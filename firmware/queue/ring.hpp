/// Index arithmetic of rings: pure functions. Indices run freely through 2^32; sizes are powers of two; full capacity
/// is usable.
#pragma once
#include <stdint.h>

#include "weft/spec/spec.h"

namespace weft::fw::ring {

constexpr bool size_valid(uint32_t entries) {
  return entries >= WEFT_LIMIT_RING_ENTRIES_MIN && entries <= WEFT_LIMIT_RING_ENTRIES_MAX &&
         (entries & (entries - 1)) == 0;
}

/// Place of a free-running index in the ring.
constexpr uint32_t slot(uint32_t index, uint32_t entries) { return index & (entries - 1); }

/// Entries between head and tail.
constexpr uint32_t used(uint32_t head, uint32_t tail) { return tail - head; }

/// A tail that the host wrote: it went forward from `old_tail` (or stayed), and holds no more than the ring does.
constexpr bool tail_valid(uint32_t head, uint32_t old_tail, uint32_t new_tail, uint32_t entries) {
  return used(head, new_tail) <= entries && used(head, new_tail) >= used(head, old_tail);
}

/// A head that the host wrote on a completion ring: it went forward from `old_head` (or stayed), and not past the tail.
constexpr bool head_valid(uint32_t old_head, uint32_t new_head, uint32_t tail) {
  return used(old_head, new_head) <= used(old_head, tail);
}

/// Entries that one contiguous read can fetch: up to the tail, the ring's end, or `limit`.
constexpr uint32_t contiguous(uint32_t head, uint32_t tail, uint32_t entries, uint32_t limit) {
  uint32_t count = used(head, tail);
  const uint32_t to_end = entries - slot(head, entries);
  count = count < to_end ? count : to_end;
  return count < limit ? count : limit;
}

/// Binary logarithm of a size.
constexpr uint32_t order(uint32_t entries) {
  uint32_t bits = 0;
  while ((entries >> bits) > 1) bits++;
  return bits;
}

/// How often a ring of size 2^order was filled before the entry with this index.
constexpr uint32_t lap(uint32_t index, uint32_t order) { return index >> order; }

/// Phase bit of the completion with this index: 1 in the first lap, then alternating.
constexpr uint32_t phase(uint32_t index, uint32_t entries) { return (index & entries) == 0 ? 1 : 0; }

}  // namespace weft::fw::ring
