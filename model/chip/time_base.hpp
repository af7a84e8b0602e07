/// Core cycles and femtoseconds: integer cycles are the truth, time follows from them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>

namespace weft::chip {

__extension__ using Uint128 = unsigned __int128;

inline constexpr uint64_t kFemtosecondsPerSecond = 1'000'000'000'000'000;
inline constexpr uint64_t kNever = UINT64_MAX;  ///< a cycle that does not come

/// Clock edge n of a core lies at floor(n * 1e15 / clock_hz) fs. A value, no state.
class TimeBase {
 public:
  explicit constexpr TimeBase(uint64_t clock_hz)
      : clock_hz_(clock_hz),
        last_cycle_(to_cycle_floor(UINT64_MAX / 2)),
        fs_(kFemtosecondsPerSecond / std::gcd(kFemtosecondsPerSecond, clock_hz)),
        cycles_(clock_hz / std::gcd(kFemtosecondsPerSecond, clock_hz)) {}

  [[nodiscard]] constexpr uint64_t clock_hz() const { return clock_hz_; }

  /// Time of the edge. Cycles beyond last_cycle() (two and a half simulated hours) give that cycle's.
  [[nodiscard]] constexpr uint64_t edge_fs(uint64_t cycle) const {
    if (cycle <= UINT64_MAX / fs_ && cycle <= last_cycle_) return cycle * fs_ / cycles_;
    return static_cast<uint64_t>(Uint128{std::min(cycle, last_cycle_)} * kFemtosecondsPerSecond / clock_hz_);
  }

  /// The cycle whose edge is at `fs`, or the next one.
  [[nodiscard]] constexpr uint64_t cycle_at(uint64_t fs) const {
    if (fs <= (UINT64_MAX - fs_) / cycles_) return (fs * cycles_ + fs_ - 1) / fs_;
    return static_cast<uint64_t>((Uint128{fs} * clock_hz_ + kFemtosecondsPerSecond - 1) / kFemtosecondsPerSecond);
  }

  /// The last cycle that simulated time can reach.
  [[nodiscard]] constexpr uint64_t last_cycle() const { return last_cycle_; }

 private:
  [[nodiscard]] constexpr uint64_t to_cycle_floor(uint64_t fs) const {
    return static_cast<uint64_t>(Uint128{fs} * clock_hz_ / kFemtosecondsPerSecond);
  }

  uint64_t clock_hz_;
  uint64_t last_cycle_;
  uint64_t fs_, cycles_;  ///< fs_ femtoseconds are cycles_ cycles, in lowest terms: most sums stay within 64 bits
};

}  // namespace weft::chip
