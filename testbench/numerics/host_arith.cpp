// The host's arithmetic. Compiled for the vector instructions of the machine that builds.
#include "testbench/numerics/host_arith.hpp"

#include <immintrin.h>

#include <bit>
#include <cmath>

namespace weft::numerics {
namespace {

constexpr uint32_t kNan = 0x7fc00000, kInfinity = 0x7f800000;

/// Not inlined: no operation may move across the change of mode.
__attribute__((noinline)) void fused(size_t count, const uint16_t* a, const uint16_t* b, const uint32_t* c,
                                     uint32_t* out) {
  for (size_t i = 0; i < count; i++) {
    const float y = std::fma(std::bit_cast<float>(uint32_t{a[i]} << 16), std::bit_cast<float>(uint32_t{b[i]} << 16),
                             std::bit_cast<float>(c[i]));
    const auto bits = std::bit_cast<uint32_t>(y);
    out[i] = (bits & 0x7fffffffu) > kInfinity ? kNan : bits;
  }
}

}  // namespace

void host_fma(std::span<const uint16_t> a, std::span<const uint16_t> b, std::span<const uint32_t> c,
              std::span<uint32_t> out) {
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(0x1f80 | 0x8040);  // nearest, exceptions masked, FTZ, DAZ
  fused(out.size(), a.data(), b.data(), c.data(), out.data());
  _mm_setcsr(saved);
}

void exact_products(uint16_t a, std::span<const uint16_t> b, std::span<uint32_t> out) {
  const uint32_t ea = a >> 7 & 0xffu, sa = 128u | (a & 127u);
  const bool zero_a = ea == 0, nan_a = ea == 255 && (a & 127) != 0;
  for (size_t i = 0; i < out.size(); i++) {
    const uint32_t y = b[i];
    const uint32_t eb = y >> 7 & 0xffu, sb = 128u | (y & 127u);
    const uint32_t sign = ((a ^ y) & 0x8000u) << 16;
    const uint32_t product = sa * sb;        // 2^14 to 2^16
    const uint32_t carry = product >> 15;    // 1: the leading one is bit 15
    const uint32_t field = ea + eb + carry;  // biased exponent + 127
    const uint32_t fraction = (product << (9 - carry)) & 0x7fffffu;
    uint32_t r = sign | (field - 127) << 23 | fraction;
    r = field < 128 ? sign : r;
    r = field > 381 ? sign | kInfinity : r;
    const bool zero = zero_a | (eb == 0), infinite = (ea == 255) | (eb == 255);
    r = zero ? sign : r;
    r = infinite ? sign | kInfinity : r;
    const bool nan = nan_a | ((eb == 255) & ((y & 127) != 0)) | (infinite & zero);
    out[i] = nan ? kNan : r;
  }
}

}  // namespace weft::numerics
