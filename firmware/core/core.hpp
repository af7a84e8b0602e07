/// Small steps on the tensor core's registers.
#pragma once
#include <stdint.h>

#include "weft/spec/spec.h"

namespace weft::fw::core {

inline constexpr uint64_t kInterruptAll =
    WEFT_CSR_INTERRUPT_FAULT | WEFT_CSR_INTERRUPT_IDLE | WEFT_CSR_INTERRUPT_QUEUE_LOW | WEFT_CSR_INTERRUPT_VERSION;

/// Bit s of two halves: a 64-bit shift by a variable is a library call on RV32. 0 for no semaphore.
constexpr uint64_t semaphore_bit(uint32_t semaphore) {
  if (semaphore >= WEFT_SEMAPHORES) return 0;
  const uint32_t half = 1u << (semaphore & 31);
  return semaphore < 32 ? uint64_t{half} : uint64_t{half} << 32;
}

/// Semaphores that a command posts, by its header.
constexpr uint64_t posted_by(const uint8_t* command) {
  return semaphore_bit(command[WEFT_COMMAND_POST_SEM0]) | semaphore_bit(command[WEFT_COMMAND_POST_SEM1]);
}

/// Resets queues, units, semaphores and the fault. False: the core is still busy after the limit.
bool reset();

/// Reads and clears the interrupt bits that are set.
uint64_t take_interrupts();

void map_segment(uint32_t segment, weft_address_space space, uint64_t base, uint64_t bytes, uint64_t permissions);
/// Which versions of a segment's base a write is for: the lowest bits of what is written.
enum class BaseOf : uint8_t { kBoth = 0, kVersion1 = 1, kVersion0 = 2 };
/// Another base for a mapped segment.
void move_segment(uint32_t segment, uint64_t base, BaseOf versions = BaseOf::kBoth);
void unmap_segment(uint32_t segment);

/// Lets queue `queue`, which has no fetch under way, read `count` commands from HBM address `address` on. reset() ends
/// it.
void start_fetch(uint32_t queue, uint64_t address, uint32_t count);
/// The same behind a fetch of the other version; this one's commands name `version` (0 or 1) of the segments' bases.
void start_fetch_of(uint32_t version, uint32_t queue, uint64_t address, uint32_t count);

/// No command may look up this version of the segments' bases any more, and no queue fetches for it.
bool version_free(uint32_t version);

/// Commands of the queue's fetch that are not in the queue yet.
uint32_t fetch_left(uint32_t queue);

}  // namespace weft::fw::core
