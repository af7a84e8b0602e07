// CRC-32C by instruction (8 bytes a step) or by table (1 byte a step).
#include "base/crc32c.hpp"

#include <array>
#include <cstring>

namespace weft {
namespace {

constexpr uint32_t kReflectedPolynomial = 0x82f63b78u;

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; bit++) value = (value >> 1) ^ ((value & 1) != 0 ? kReflectedPolynomial : 0);
    table[i] = value;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kTable = make_table();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t crc32c_instruction(const uint8_t* p, size_t bytes, uint32_t crc) {
  uint64_t value = ~crc;
  for (; bytes >= 8; bytes -= 8, p += 8) {
    uint64_t word;
    std::memcpy(&word, p, sizeof word);
    value = __builtin_ia32_crc32di(value, word);
  }
  uint32_t rest = static_cast<uint32_t>(value);
  for (; bytes != 0; bytes--, p++) rest = __builtin_ia32_crc32qi(rest, *p);
  return ~rest;
}
#endif

}  // namespace

uint32_t crc32c_portable(const void* data, size_t bytes, uint32_t crc) {
  const auto* p = static_cast<const uint8_t*>(data);
  crc = ~crc;
  for (size_t i = 0; i < bytes; i++) crc = (crc >> 8) ^ kTable[(crc ^ p[i]) & 0xff];
  return ~crc;
}

uint32_t crc32c(const void* data, size_t bytes, uint32_t crc) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return crc32c_instruction(static_cast<const uint8_t*>(data), bytes, crc);
#endif
  return crc32c_portable(data, bytes, crc);
}

}  // namespace weft
