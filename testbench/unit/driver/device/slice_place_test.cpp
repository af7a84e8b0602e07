// Slice registers: what they mean, and garbage in them.
#include "driver/device/slice_place.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "weft/spec/spec.h"

using namespace weft::driver;

namespace {

/// Chip 3 of 2 x 4 x 1, y closed to a ring.
constexpr SliceRegisterValues kRegisters{.chip = 3 | 8u << 16,
                                         .shape = 2 | 4ull << 16 | 1ull << 32 | 1ull << 49,
                                         .neighbors = 0x0001'0005'0002'ffff,
                                         .neighbors_z = 0xffffffff,
                                         .link_bytes_per_second = 5};

}  // namespace

TEST_CASE("the registers of a chip in a slice") {
  const auto place = decode_slice_place(kRegisters);
  REQUIRE(place.ok());
  CHECK(place.value().chip == 3);
  CHECK(place.value().chips == 8);
  CHECK(place.value().dimensions == std::array<uint32_t, 3>{2, 4, 1});
  CHECK(place.value().wraps == std::array<bool, 3>{false, true, false});
  CHECK_FALSE(place.value().twisted);
  CHECK(place.value().coordinates() == std::array<uint32_t, 3>{1, 1, 0});
  CHECK(place.value().neighbors == std::array<uint32_t, 6>{kNoNeighbor, 2, 5, 1, kNoNeighbor, kNoNeighbor});
  CHECK(place.value().link_bytes_per_second == 5);
}

TEST_CASE("a chip that stands alone is in no slice") {
  CHECK(decode_slice_place({}).status().code() == WEFT_ERROR_INVALID_STATE);
}

TEST_CASE("registers that contradict themselves are refused") {
  auto registers = kRegisters;
  registers.chip = 8 | 8u << 16;  // a ninth chip of eight
  CHECK(decode_slice_place(registers).status().code() == WEFT_ERROR_INTERNAL);
  registers = kRegisters;
  registers.chip = 3 | 9u << 16;  // 9 is not 2 x 4 x 1
  CHECK(decode_slice_place(registers).status().code() == WEFT_ERROR_INTERNAL);
  registers = kRegisters;
  registers.neighbors = 0x0008;  // no such chip
  CHECK(decode_slice_place(registers).status().code() == WEFT_ERROR_INTERNAL);
}

TEST_CASE("any registers give a place in range, or a refusal") {
  std::mt19937_64 random(1);
  const auto neighbor = [&] { return random() % 4 != 0 ? uint64_t{0xffff} : random() % 12; };
  unsigned places = 0, refusals = 0;
  for (int i = 0; i < 20'000; i++) {
    const uint64_t neighbors = neighbor() | neighbor() << 16 | neighbor() << 32 | neighbor() << 48;
    const auto place = decode_slice_place({.chip = static_cast<uint32_t>(random() % 8 | (random() % 9) << 16),
                                           .shape = random() & 0xf'0003'0003'0003,
                                           .neighbors = neighbors,
                                           .neighbors_z = static_cast<uint32_t>(neighbor() | neighbor() << 16),
                                           .link_bytes_per_second = random()});
    if (!place.ok()) {
      refusals++;
      continue;
    }
    places++;
    const SlicePlace& p = place.value();
    bool inside = p.chip < p.chips;
    for (unsigned axis = 0; axis < kSliceAxes; axis++) inside &= p.coordinates()[axis] < p.dimensions[axis];
    for (const uint32_t chip : p.neighbors) inside &= chip == kNoNeighbor || chip < p.chips;
    REQUIRE(inside);
  }
  CHECK(places > 0);
  CHECK(refusals > 0);
}
