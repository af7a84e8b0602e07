/// CRC-32C (Castagnoli, reflected polynomial 0x82f63b78): link frames, and what the manager computes in its CRC unit.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::ici {

/// Of all bytes of `data`; 0 for none.
constexpr uint32_t crc32c(std::span<const std::byte> data) {
  constexpr auto kTable = [] {
    constexpr uint32_t kPolynomial = 0x82f63b78;
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < table.size(); i++) {
      uint32_t crc = i;
      for (int bit = 0; bit < 8; bit++) crc = (crc & 1) != 0 ? crc >> 1 ^ kPolynomial : crc >> 1;
      table[i] = crc;
    }
    return table;
  }();
  uint32_t crc = ~uint32_t{0};
  for (const std::byte b : data) crc = crc >> 8 ^ kTable[(crc ^ std::to_integer<uint32_t>(b)) & 0xff];
  return ~crc;
}

}  // namespace weft::ici
