/// The memory that a tensor core sees outside of itself: HBM, and host memory behind PCIe.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/spec/spec.h"

namespace weft::core {

/// HBM and host memory, function and timing apart: data moves at once, the schedule says when it counts.
/// One owner (the chip); called by one thread. All cycles are core cycles.
class MemoryBus {
 public:
  virtual ~MemoryBus() = default;

  /// Copies `out.size()` bytes from `address`. False: bus error (outside of the space, or not mapped); out is then
  /// unspecified.
  [[nodiscard]] virtual bool read(weft_address_space space, uint64_t address, std::span<std::byte> out) = 0;

  /// Copies `data` to `address`. False: bus error; nothing is written.
  [[nodiscard]] virtual bool write(weft_address_space space, uint64_t address, std::span<const std::byte> data) = 0;

  /// Books a read of `bytes` requested in `cycle`, after all bookings before it. Returns the cycle in which the data is
  /// there. Calls must not go back in time by more than the requester's own step; the result never decreases for one
  /// space.
  virtual uint64_t schedule_read(weft_address_space space, uint64_t bytes, uint64_t cycle) = 0;

  /// Books a write. Returns the cycle in which it is visible.
  virtual uint64_t schedule_write(weft_address_space space, uint64_t bytes, uint64_t cycle) = 0;

  /// True if a request in `cycle` would find the space's queue full (more than 64 cycles of transfer booked ahead).
  [[nodiscard]] virtual bool congested(weft_address_space space, uint64_t cycle) const = 0;
};

}  // namespace weft::core
