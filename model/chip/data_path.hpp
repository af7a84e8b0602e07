/// A path that moves a fixed number of bytes a second, one booking after the other.
#pragma once
#include <cstdint>

namespace weft::chip {

/// Keeps the time at which it becomes free as an exact rational of cycles, so no rate is ever rounded. Once it has been
/// free for a moment it keeps nothing of the past: bookings after that do not depend on those before. A value, not
/// thread-safe.
class DataPath {
 public:
  DataPath(uint64_t bytes_per_second, uint64_t clock_hz);

  /// Books `bytes` at `cycle` or as soon as the path is free. Returns the first cycle in which all of them are through.
  uint64_t book(uint64_t bytes, uint64_t cycle);

  /// Cycles of transfer booked ahead of `cycle`, rounded up.
  [[nodiscard]] uint64_t booked_ahead(uint64_t cycle) const { return free() > cycle ? free() - cycle : 0; }

  /// The first cycle in which the path is free.
  [[nodiscard]] uint64_t free() const { return free_cycle_ + (free_fraction_ != 0 ? 1 : 0); }

  /// Forgets all bookings.
  void reset() { free_cycle_ = free_fraction_ = 0; }

 private:
  uint64_t cost_per_byte_;   // in fractions of a cycle
  uint64_t fractions_;       // a cycle has so many
  uint64_t free_cycle_ = 0;  // free at free_cycle_ + free_fraction_ / fractions_
  uint64_t free_fraction_ = 0;
};

}  // namespace weft::chip
