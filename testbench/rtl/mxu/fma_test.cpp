// The multiply-add of a PE against the host's, over the classes of operands that tell an error apart.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <random>

#include "Vfma_probe.h"
#include "testbench/rtl/mxu/mxu_reference.hpp"

namespace {
using weft::mxu_bench::host_fma;
constexpr uint64_t kSeed = 20240607;
constexpr unsigned kVectors = 500000;  // a class

struct Operands {
  uint16_t a, b;
  uint32_t c;
};

class Probe {
 public:
  /// Compares one vector; counts links that the unpacked chain may take.
  void check(const Operands& v) {
    top_.a_i = v.a;
    top_.b_i = v.b;
    top_.c_i = v.c;
    top_.eval();
    const uint32_t expected = host_fma(v.a, v.b, v.c);
    if (top_.fma_o != expected && differing_++ == 0) report("fma", v, top_.fma_o, expected);
    if (top_.link_valid_o) {
      links_++;
      if (top_.link_o != expected && differing_++ == 0) report("link", v, top_.link_o, expected);
    }
  }
  [[nodiscard]] unsigned differing() const { return differing_; }
  [[nodiscard]] unsigned links() const { return links_; }

 private:
  static void report(const char* what, const Operands& v, uint32_t got, uint32_t expected) {
    UNSCOPED_INFO(
        fmt::format("{}: {:04x} * {:04x} + {:08x} = {:08x}, expected {:08x}", what, v.a, v.b, v.c, got, expected));
  }
  Vfma_probe top_;
  unsigned differing_ = 0, links_ = 0;
};

std::mt19937_64 seeded() {
  UNSCOPED_INFO(fmt::format("seed {}", kSeed));
  return std::mt19937_64(kSeed);
}

uint16_t bf16(unsigned sign, unsigned exponent, unsigned fraction) {
  return static_cast<uint16_t>((sign & 1) << 15 | (exponent & 0xff) << 7 | (fraction & 0x7f));
}

/// -(a * b) rounded to fp32, moved by `ulps`; `exact` is the product's own bits when 24 bits hold it (always, in
/// range).
uint32_t near_product(uint16_t a, uint16_t b, int ulps) {
  return (host_fma(a, b, 0) ^ 0x80000000u) + static_cast<uint32_t>(ulps);
}
}  // namespace

TEST_CASE("random bits give the host's multiply-add") {
  auto random = seeded();
  Probe probe;
  for (unsigned i = 0; i < kVectors; i++) {
    const uint64_t r = random();
    probe.check({static_cast<uint16_t>(r), static_cast<uint16_t>(r >> 16), static_cast<uint32_t>(r >> 32)});
  }
  CHECK(probe.differing() == 0);
}

TEST_CASE("ordinary numbers give the host's multiply-add, and take the unpacked chain") {
  auto random = seeded();
  Probe probe;
  for (unsigned i = 0; i < kVectors; i++) {
    const uint64_t r = random();
    const uint16_t a = bf16(r & 1, 110 + (r >> 1) % 35, static_cast<unsigned>(r >> 8));
    const uint16_t b = bf16(r >> 16 & 1, 110 + (r >> 17) % 35, static_cast<unsigned>(r >> 24));
    probe.check({a, b, static_cast<uint32_t>((r >> 32 & 0x807fffff) | ((95 + random() % 65) << 23))});
  }
  CHECK(probe.differing() == 0);
  CHECK(probe.links() > kVectors * 99 / 100);
}

TEST_CASE("special values give the host's multiply-add, in all combinations") {
  auto random = seeded();
  Probe probe;
  const uint16_t operands[] = {0x0000, 0x8000, 0x0001, 0x807f, 0x0080, 0x8080, 0x00ff, 0x3f80, 0xbf80, 0x3fff, 0x7f7f,
                               0xff7f, 0x7f00, 0x7f80, 0xff80, 0x7fc0, 0xffc0, 0x7f81, 0x2000, 0xa000, 0x1fff, 0x5f80};
  const uint32_t sums[] = {0x00000000, 0x80000000, 0x00000001, 0x807fffff, 0x00800000, 0x80800000,
                           0x00ffffff, 0x3f800000, 0xbf800000, 0x3fffffff, 0x7f7fffff, 0xff7fffff,
                           0x7f000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0xffc12345,
                           0x00800001, 0x80800001, 0x01000000, 0x7effffff, 0x40800000, 0xc0800000};
  for (uint16_t a : operands) {
    for (uint16_t b : operands) {
      for (uint32_t c : sums) probe.check({a, b, c});
    }
  }
  for (unsigned i = 0; i < kVectors; i++) {
    const uint64_t r = random();
    const uint16_t a = r & 1 ? operands[r / 2 % std::size(operands)] : static_cast<uint16_t>(r >> 48);
    const uint16_t b = r & 64 ? operands[r / 128 % std::size(operands)] : static_cast<uint16_t>(r >> 32);
    probe.check({a, b, r & 4096 ? sums[r / 8192 % std::size(sums)] : static_cast<uint32_t>(random())});
  }
  CHECK(probe.differing() == 0);
}

TEST_CASE("near-cancellation gives the host's multiply-add") {
  auto random = seeded();
  Probe probe;
  for (unsigned i = 0; i < kVectors; i++) {
    const uint64_t r = random();
    const uint16_t a = bf16(r & 1, 64 + (r >> 1) % 128, static_cast<unsigned>(r >> 8));
    const uint16_t b = bf16(r >> 16 & 1, 64 + (r >> 17) % 128, static_cast<unsigned>(r >> 24));
    const int reach = 1 << (r >> 32 & 15);
    probe.check(
        {a, b, near_product(a, b, static_cast<int>((r >> 40) % (2u * static_cast<unsigned>(reach) + 1)) - reach)});
  }
  CHECK(probe.differing() == 0);
}

TEST_CASE("ties and their neighbours give the host's multiply-add") {
  auto random = seeded();
  Probe probe;
  for (unsigned i = 0; i < kVectors; i++) {
    // a product whose lowest bits lie around half a unit of the sum's last place
    const uint64_t r = random();
    const unsigned shift = 8 + r % 20;
    const uint16_t a = bf16(r >> 8 & 1, 127, static_cast<unsigned>(r >> 9 & (r >> 16 & 1 ? 0x7f : 0x40)));
    const uint16_t b = bf16(r >> 20 & 1, 127 - shift, static_cast<unsigned>(r >> 21 & (r >> 28 & 1 ? 0x7f : 0x60)));
    const uint32_t fraction = static_cast<uint32_t>(random()) & (r >> 30 & 1   ? 0x7fffffu
                                                                 : r >> 31 & 1 ? 3u
                                                                               : 0x7ffffcu);
    probe.check(
        {a, b,
         static_cast<uint32_t>(r >> 32 & 0x80000000u) | (127u + static_cast<uint32_t>(r >> 33) % 3) << 23 | fraction});
  }
  CHECK(probe.differing() == 0);
}

TEST_CASE("the edge of underflow gives the host's multiply-add") {
  auto random = seeded();
  Probe probe;
  for (unsigned i = 0; i < kVectors; i++) {
    const uint64_t r = random();
    const unsigned exponent_a = 1 + static_cast<unsigned>(r % 126);
    const uint16_t a = bf16(r >> 8 & 1, exponent_a, static_cast<unsigned>(r >> 9));
    const uint16_t b =
        bf16(r >> 16 & 1, 127 - exponent_a + static_cast<unsigned>(r >> 17 & 15) - 8, static_cast<unsigned>(r >> 21));
    const uint32_t exponent_c = static_cast<uint32_t>(r >> 32) % 12;
    const uint32_t c = r >> 40 & 1 ? near_product(a, b, static_cast<int>(r >> 41 & 7) - 4)
                                   : static_cast<uint32_t>(random()) % 0x807fffffu / 16 % 0x800000u | exponent_c << 23 |
                                         (r >> 44 & 1) << 31;
    probe.check({a, b, c});
  }
  CHECK(probe.differing() == 0);
}

TEST_CASE("the edge of overflow gives the host's multiply-add") {
  auto random = seeded();
  Probe probe;
  for (unsigned i = 0; i < kVectors; i++) {
    const uint64_t r = random();
    const unsigned exponent_a = 130 + static_cast<unsigned>(r % 125);
    const uint16_t a = bf16(r >> 8 & 1, exponent_a, static_cast<unsigned>(r >> 9 | (r >> 40 & 1 ? 0x7f : 0)));
    const uint16_t b =
        bf16(r >> 16 & 1, 381 - exponent_a - static_cast<unsigned>(r >> 17 & 3), static_cast<unsigned>(r >> 21));
    const uint32_t c = (254u - static_cast<uint32_t>(r >> 32) % 4) << 23 | (random() & 0x7fffff) |
                       (r >> 36 & 1 ? 0x7ffff0 : 0) | (r >> 37 & 1) << 31;
    probe.check({a, b, c});
  }
  CHECK(probe.differing() == 0);
}
