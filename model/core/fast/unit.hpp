/// What the units of the fast core tell the control in a cycle, and what they share.
#pragma once
#include <array>
#include <cstdint>

#include "model/core/memory_bus.hpp"
#include "model/golden/core_state.hpp"

namespace weft::core::fast {

inline constexpr uint64_t kNever = UINT64_MAX;

/// A bit for each bank of VMEM.
using BankSet = uint64_t;

/// Banks of `words` consecutive VMEM words. `banks` is a power of two up to 64 and at least `words`, which is below 64.
inline BankSet bank_mask(uint64_t first, uint32_t words, unsigned banks) {
  const BankSet ones = (BankSet{1} << words) - 1;
  const auto bank = static_cast<unsigned>(first & (banks - 1));
  BankSet mask = ones << bank;
  if (bank + words > banks) mask |= ones >> (banks - bank);
  return banks == 64 ? mask : mask & ((BankSet{1} << banks) - 1);
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
