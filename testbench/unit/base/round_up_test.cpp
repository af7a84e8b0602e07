// round_up() around multiples of powers of two and of other units.
#include "base/round_up.hpp"

#include <catch2/catch.hpp>

TEST_CASE("round_up gives the next multiple, and a multiple itself") {
  for (const uint64_t unit : {uint64_t{1}, uint64_t{3}, uint64_t{16}, uint64_t{4096}})
    for (uint64_t count = 1; count < 5; count++) {
      const uint64_t multiple = count * unit;
      CHECK(weft::round_up(multiple, unit) == multiple);
      CHECK(weft::round_up(multiple - unit + 1, unit) == multiple);
      CHECK(weft::round_up(multiple + 1, unit) == multiple + unit);
    }
  CHECK(weft::round_up(0, 64) == 0);
}
