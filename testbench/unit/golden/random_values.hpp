/// Seeded random operands that visit the corners of the number formats.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace weft::test {

/// WEFT_SEED, or 1; printed, so that a failure can be run again.
inline uint64_t seed() {
  const char* text = std::getenv("WEFT_SEED");
  const uint64_t value = text == nullptr ? 1 : std::strtoull(text, nullptr, 0);
  std::printf("WEFT_SEED=%llu\n", static_cast<unsigned long long>(value));
  return value;
}

class RandomValues {
 public:
  explicit RandomValues(uint64_t seed) : engine_(seed) {}

  uint64_t bits() { return engine_(); }
  uint64_t below(uint64_t limit) { return engine_() % limit; }
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low + 1)));
  }

  /// Any bf16: mostly normal numbers near 1, some of any exponent, some special.
  uint16_t bf16() {
    const uint64_t r = bits();
    switch (r % 16) {
      case 0:
        return kSpecial[r / 16 % std::size(kSpecial)];
      case 1:
      case 2:
        return static_cast<uint16_t>(r >> 16);
      default:
        return near_one(r >> 16);
    }
  }
  /// A normal bf16 with an exponent of -4 to 3.
  uint16_t finite_bf16() { return near_one(bits()); }

  /// Any f32.
  uint32_t f32() {
    const uint64_t r = bits();
    switch (r % 16) {
      case 0:
        return static_cast<uint32_t>(kSpecial[r / 16 % std::size(kSpecial)]) << 16 | (r >> 32 & 1);
      case 1:
      case 2:
        return static_cast<uint32_t>(r >> 16);
      default:
        return static_cast<uint32_t>((r >> 16 & 0x807fffff) | (120 + r % 13) << 23);
    }
  }

  /// Zeros, subnormals, smallest and largest normals, one, infinities, NaNs, with both signs.
  static constexpr uint16_t kSpecial[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x007f, 0x807f, 0x0080, 0x8080,
                                          0x0081, 0x00ff, 0x3f80, 0xbf80, 0x3f81, 0x7f00, 0x7f7f, 0xff7f,
                                          0x7f80, 0xff80, 0x7f81, 0xffc0, 0x1980, 0x9980, 0x1f80, 0x9fff,
                                          0x2000, 0x5f80, 0xdfff, 0x6000, 0x7fff, 0xff81};

 private:
  static uint16_t near_one(uint64_t r) { return static_cast<uint16_t>((r & 0x807f) | (123 + (r >> 20) % 8) << 7); }
  std::mt19937_64 engine_;
};

}  // namespace weft::test
