// The arithmetic shift of Verilated models against Verilator's own.
#include "model/verilated/arithmetic_shift.hpp"

#include <catch2/catch.hpp>
#include <random>

namespace {

// The name in parentheses is Verilator's function, and not the macro that takes its place.
IData verilators(int obits, int lbits, IData lhs, IData rhs) { return (VL_SHIFTRS_III)(obits, lbits, 32, lhs, rhs); }

TEST_CASE("a shift of 32 bits is Verilator's, bit for bit, by 0 to 31") {
  std::mt19937 random(20261126);
  for (IData by = 0; by < 32; by++) {
    for (int n = 0; n < 20'000; n++) {
      const IData any = n < 64 ? (n < 32 ? 1u << n : ~(1u << (n - 32))) : static_cast<IData>(random());
      const IData got = VL_SHIFTRS_III(32, 32, 32, any, by), expected = verilators(32, 32, any, by);
      if (got != expected) FAIL("seed 20261126: " << any << " by " << by << " gives " << got << ", not " << expected);
    }
  }
  CHECK(VL_SHIFTRS_III(32, 32, 5, 0x80000000u, 31) == 0xffffffffu);
  CHECK(VL_SHIFTRS_III(32, 32, 5, 0x40000000u, 30) == 1);
}

TEST_CASE("a shift of other widths is Verilator's") {
  std::mt19937 random(20261127);
  for (int obits = 1; obits <= 32; obits++) {
    for (int lbits = 1; lbits <= 32; lbits++) {
      for (IData by = 0; by < 32; by++) {
        const IData any = static_cast<IData>(random()) & VL_MASK_I(lbits);
        CAPTURE(obits, lbits, by, any);
        REQUIRE(VL_SHIFTRS_III(obits, lbits, 32, any, by) == verilators(obits, lbits, any, by));
      }
    }
  }
}

}  // namespace
