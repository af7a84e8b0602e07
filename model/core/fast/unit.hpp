/// What the units of the fast core tell the control in a cycle, and what they share.
#pragma once
#include <array>
#include <cstdint>

#include "model/core/memory_bus.hpp"
#include "model/golden/core_state.hpp"

namespace weft::core::fast {

inline constexpr uint64_t kNever = UINT64_MAX;

/// Banks of `words` consecutive VMEM words, a bit each. `banks` is a power of two up to 32.
inline uint32_t bank_mask(uint64_t first, uint32_t words, unsigned banks) {
  uint32_t mask = 0;
  for (uint32_t i = 0; i < words; i++) mask |= 1u << ((first + i) % banks);
  return mask;
}

/// A refusal or bus error of a unit, for one cycle.
struct UnitFault {
  bool valid = false;
  golden::Fault fault;
  uint16_t tag = 0;
};

/// The outputs of a unit in one cycle.
struct UnitOutcome {
  bool done = false;
  UnitFault fault;
};

/// Counters by index of weft_counter: running values. Owned by the registers; units add.
using Counters = std::array<uint64_t, WEFT_COUNTERS>;

/// CoreState's memory where no command reaches memory through it: the fast core moves DMA data itself.
class NoMemory final : public golden::MemoryAccess {
 public:
  bool read(weft_address_space, uint64_t, std::span<std::byte>) override { return false; }
  bool write(weft_address_space, uint64_t, std::span<const std::byte>) override { return false; }
};

}  // namespace weft::core::fast
