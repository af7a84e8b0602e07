/// Time of the interconnect in femtoseconds, the resolution of the chip model.
#pragma once
#include <cstdint>

namespace weft::ici {

using Femtoseconds = uint64_t;  ///< 2^64 fs are five hours

inline constexpr Femtoseconds kNanosecond = 1'000'000;
inline constexpr Femtoseconds kMicrosecond = 1'000 * kNanosecond;
inline constexpr Femtoseconds kMillisecond = 1'000 * kMicrosecond;
inline constexpr Femtoseconds kNever = ~Femtoseconds{0};

/// How long `bytes` take at a rate, rounded down to 1 fs. Exact: 128-bit arithmetic.
constexpr Femtoseconds transfer_time(uint64_t bytes, uint64_t bytes_per_second) {
  constexpr uint64_t kSecond = 1'000'000'000'000'000;
  if (bytes <= ~uint64_t{0} / kSecond) return bytes * kSecond / bytes_per_second;
  return static_cast<Femtoseconds>(static_cast<unsigned __int128>(bytes) * kSecond / bytes_per_second);
}

constexpr double microseconds(Femtoseconds time) { return static_cast<double>(time) / 1e9; }

}  // namespace weft::ici
