/// Values at which a check may be wrong.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>

namespace weft::fuzz {

/// In the place of `old`: a neighbour of it, one bit of it changed, anything, or a boundary.
inline uint64_t boundary_value(std::mt19937_64& random, uint64_t old) {
  static constexpr std::array<uint64_t, 22> kValues{
      0,    1,     2,     4,          7,          8,          9,
      15,   16,    17,    31,         32,         4095,       4096,
      4097, 65535, 65536, 0x7fffffff, 0x80000000, 0xfffff000, 0x7ffffffffffff000,
      ~0ull};
  switch (random() % 5) {
    case 0:
      return old + 1;
    case 1:
      return old - 1;
    case 2:
      return old ^ uint64_t { 1 } << random() % 64;
    case 3:
      return random();
    default:
      return kValues[random() % kValues.size()];
  }
}

/// Puts one into a field of 1, 2, 4 or 8 bytes, at a multiple of its width from the front. Too few bytes: nothing.
inline void put_boundary_value(std::mt19937_64& random, std::span<uint8_t> bytes) {
  static constexpr std::array<size_t, 4> kWidths{1, 2, 4, 8};
  const size_t width = kWidths[random() % kWidths.size()];
  if (bytes.size() < width) return;
  uint8_t* const field = &bytes[random() % (bytes.size() / width) * width];
  uint64_t value = 0;
  std::memcpy(&value, field, width);
  value = boundary_value(random, value);
  std::memcpy(field, &value, width);
}

}  // namespace weft::fuzz
