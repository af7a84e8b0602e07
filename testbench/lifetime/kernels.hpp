/// The programs that are launched.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::lifetime {

inline constexpr uint32_t kWriterWords = 16384;
inline constexpr uint64_t kWriterBytes = kWriterWords * 4;
inline constexpr uint32_t kOld = 0x0dd0dd01;  ///< what the writers write

/// A .weft file for nano with one kernel, which writes kOld over its argument of kWriterBytes, `times` times.
std::vector<std::byte> writer(uint32_t times);

}  // namespace weft::lifetime
