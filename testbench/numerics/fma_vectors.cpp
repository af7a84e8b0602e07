// Operands of multiply-adds from a seed and an index.
#include "testbench/numerics/fma_vectors.hpp"

#include <bit>
#include <cstdlib>
#include <vector>

#include "testbench/numerics/mixed_bits.hpp"

namespace weft::numerics {
namespace {

constexpr uint16_t kOperands[] = {0x0000, 0x8000, 0x0001, 0x807f, 0x0080, 0x8080, 0x00ff, 0x3f80,
                                  0xbf80, 0x3fff, 0x7f7f, 0xff7f, 0x7f00, 0x7f80, 0xff80, 0x7fc0,
                                  0xffc0, 0x7f81, 0x2000, 0xa000, 0x1fff, 0x5f80, 0x4000, 0xc000};
constexpr uint32_t kAddends[] = {0x00000000, 0x80000000, 0x00000001, 0x807fffff, 0x00800000, 0x80800000,
                                 0x00ffffff, 0x3f800000, 0xbf800000, 0x3fffffff, 0x7f7fffff, 0xff7fffff,
                                 0x7f000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0xffc12345,
                                 0x00800001, 0x80800001, 0x01000000, 0x7effffff, 0x40800000, 0xc0800000};

uint16_t bf16(uint64_t sign, int exponent, uint64_t fraction) {
  return static_cast<uint16_t>((sign & 1) << 15 | (static_cast<uint32_t>(exponent) & 0xff) << 7 | (fraction & 0x7f));
}
uint32_t f32(uint64_t sign, int exponent, uint64_t fraction) {
  return static_cast<uint32_t>((sign & 1) << 31 | (static_cast<uint32_t>(exponent) & 0xff) << 23 |
                               (fraction & 0x7fffff));
}
bool normal(int exponent) { return exponent >= 1 && exponent <= 254; }

/// Two exponents that add up to `sum`, both of normal numbers if that is possible.
void split(int sum, Bits& bits, int& a, int& b) {
  const int low = sum > 255 ? sum - 254 : 1, high = sum > 255 ? 254 : sum - 1;
  a = low <= high ? low + static_cast<int>(bits.below(static_cast<uint64_t>(high - low + 1))) : 1;
  b = sum - a;
}

struct Significands {
  uint8_t a, b;  // with the leading one
};
/// Pairs whose product is a power of two but for at most 48 units of its last place, and is none.
const std::vector<Significands>& almost_powers() {
  static const std::vector<Significands> pairs = [] {
    std::vector<Significands> found;
    for (int a = 128; a < 256; a++)
      for (int b = 128; b < 256; b++)
        for (const int power : {1 << 14, 1 << 15, 1 << 16})
          if (a * b != power && std::abs(a * b - power) <= 48)
            found.push_back({static_cast<uint8_t>(a), static_cast<uint8_t>(b)});
    return found;
  }();
  return pairs;
}

/// The product that is exact as an fp32 number of the same sign, if in range.
uint32_t product_bits(uint16_t a, uint16_t b) {
  const uint32_t p = (128u | (a & 127u)) * (128u | (b & 127u));
  const int width = std::bit_width(p);
  const int exponent = (a >> 7 & 0xff) + (b >> 7 & 0xff) - 127 + width - 15;
  if (!normal(exponent)) return 0;
  return f32((a ^ b) >> 15, exponent, p << (24 - width));
}

FmaVector normal_vector(Bits& bits) {
  return {bf16(bits.take(1), 110 + static_cast<int>(bits.below(35)), bits.take(7)),
          bf16(bits.take(1), 110 + static_cast<int>(bits.below(35)), bits.take(7)),
          f32(bits.take(1), 95 + static_cast<int>(bits.below(65)), bits.take(23))};
}

FmaVector cancellation_vector(Bits& bits) {
  FmaVector v{bf16(bits.take(1), 64 + static_cast<int>(bits.below(127)), bits.take(7)),
              bf16(bits.take(1), 64 + static_cast<int>(bits.below(127)), bits.take(7)), 0};
  const uint64_t reach = uint64_t{1} << bits.below(16);
  v.c = (product_bits(v.a, v.b) ^ 0x80000000u) + static_cast<uint32_t>(bits.below(2 * reach + 1) - reach);
  return v;
}

/// The lowest bit of the product is half a unit of c.
FmaVector tie_vector(Bits& bits) {
  const uint32_t a = 128 + static_cast<uint32_t>(bits.take(7)), b = 128 + static_cast<uint32_t>(bits.take(7));
  const int c = 20 + static_cast<int>(bits.below(220));
  int ea = 0, eb = 0;
  split(c + 117 - std::countr_zero(a * b), bits, ea, eb);
  return {bf16(bits.take(1), ea, a), bf16(bits.take(1), eb, b), f32(bits.take(1), c, bits.take(23))};
}

/// Just above or below half-way: the lower of the two is a power of two but for its last bits.
FmaVector near_tie_vector(Bits& bits) {
  int ea = 0, eb = 0;
  if (bits.take(1) != 0) {  // the product below c
    const auto& pairs = almost_powers();
    const Significands s = pairs[bits.below(pairs.size())];
    const uint32_t p = uint32_t{s.a} * s.b;
    const int top = std::bit_width(p + 64) - 1;  // of the power that it almost is
    const int c = 30 + static_cast<int>(bits.below(200));
    split(c + 117 - top, bits, ea, eb);
    const uint64_t fraction = bits.take(2) == 0 ? 0x7fffff * bits.take(1) : bits.take(23);
    return {bf16(bits.take(1), ea, s.a), bf16(bits.take(1), eb, s.b), f32(bits.take(1), c, fraction)};
  }
  const uint32_t a = 128 + static_cast<uint32_t>(bits.take(7)), b = 128 + static_cast<uint32_t>(bits.take(7));
  const int width = std::bit_width(a * b);
  const bool above = bits.take(1) != 0;
  const int c = 30 + static_cast<int>(bits.below(200));
  // c is half of the unit of a 24-bit result as large as the product, or half a unit of c less
  split(c + (above ? 0 : 1) + 24 + 127 - (width - 15), bits, ea, eb);
  const uint64_t tail = uint64_t{1} << bits.below(4);
  return {bf16(bits.take(1), ea, a), bf16(bits.take(1), eb, b),
          f32(bits.take(1), c, above ? tail : 0x7fffff ^ (tail - 1))};
}

FmaVector underflow_vector(Bits& bits) {
  int ea = 0, eb = 0;
  if (bits.take(2) == 0) {  // the smallest normal number less something far below its unit
    split(254 - 126 - 34 + static_cast<int>(bits.below(16)), bits, ea, eb);
    return {bf16(bits.take(1), ea, bits.take(7)), bf16(bits.take(1), eb, bits.take(7)),
            f32(bits.take(1), 1, bits.take(1))};
  }
  split(127 + static_cast<int>(bits.below(16)) - 8, bits, ea, eb);
  FmaVector v{bf16(bits.take(1), ea, bits.take(7)), bf16(bits.take(1), eb, bits.take(7)), 0};
  if (bits.take(1) != 0)
    v.c = (product_bits(v.a, v.b) ^ 0x80000000u) + static_cast<uint32_t>(bits.take(3)) - 4;
  else
    v.c = f32(bits.take(1), static_cast<int>(bits.below(12)), bits.take(23));
  return v;
}

FmaVector overflow_vector(Bits& bits) {
  int ea = 0, eb = 0;
  if (bits.take(1) != 0) {  // the largest number and about half of its unit
    split(254 + 103 + static_cast<int>(bits.below(6)) - 4, bits, ea, eb);
    const uint64_t sign = bits.take(1);
    return {bf16(sign, ea, bits.take(7)), bf16(0, eb, bits.take(7)),
            f32(sign ^ (bits.take(3) == 0), 254, 0x7fffff - bits.take(2))};
  }
  split(381 - static_cast<int>(bits.below(4)), bits, ea, eb);
  return {bf16(bits.take(1), ea, bits.take(7) | (bits.take(1) != 0 ? 0x70 : 0)), bf16(bits.take(1), eb, bits.take(7)),
          f32(bits.take(1), 254 - static_cast<int>(bits.below(4)), bits.take(23))};
}

FmaVector special_vector(Bits& bits) {
  FmaVector v;
  const auto operand = [&] {
    return bits.take(2) == 0 ? static_cast<uint16_t>(bits.take(16)) : kOperands[bits.below(std::size(kOperands))];
  };
  v.a = operand();
  v.b = operand();
  v.c = bits.take(2) == 0 ? static_cast<uint32_t>(bits.take(32)) : kAddends[bits.below(std::size(kAddends))];
  return v;
}

}  // namespace

FmaVector fma_vector(uint64_t seed, uint64_t index) {
  Bits bits(seed, index);
  switch (class_of(index)) {
    case FmaClass::kRandom:
      break;
    case FmaClass::kNormal:
      return normal_vector(bits);
    case FmaClass::kCancellation:
      return cancellation_vector(bits);
    case FmaClass::kTie:
      return tie_vector(bits);
    case FmaClass::kNearTie:
      return near_tie_vector(bits);
    case FmaClass::kUnderflow:
      return underflow_vector(bits);
    case FmaClass::kOverflow:
      return overflow_vector(bits);
    case FmaClass::kSpecial:
      return special_vector(bits);
  }
  const uint64_t any = bits.take(64);
  return {static_cast<uint16_t>(any), static_cast<uint16_t>(any >> 16), static_cast<uint32_t>(any >> 32)};
}

}  // namespace weft::numerics
