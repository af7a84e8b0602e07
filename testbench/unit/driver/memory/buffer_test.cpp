// HBM ranges, and who is told how much is used.
#include "driver/memory/buffer.hpp"

#include <catch2/catch.hpp>

#include "testbench/unit/driver/device_fixture.hpp"

using namespace weft::driver;

TEST_CASE("a watcher is told at once, after every change, and no more when it is taken away") {
  const auto space = std::make_shared<HbmSpace>(4096, 1 << 20);
  std::vector<HbmSpace::Usage> told;
  space->watch([&](const HbmSpace::Usage& usage) { told.push_back(usage); });
  REQUIRE(told.size() == 1);
  CHECK((told[0].free_bytes == 1 << 20 && told[0].largest_bytes == 1 << 20));
  {
    auto range = HbmRange::allocate(space, 65536);
    REQUIRE(range.ok());
    REQUIRE(told.size() == 2);
    CHECK(told[1].total_bytes - told[1].free_bytes == 65536);
  }
  REQUIRE(told.size() == 3);
  CHECK(told[2].largest_bytes == 1 << 20);
  CHECK_FALSE(HbmRange::allocate(space, 2 << 20).ok());
  CHECK(told.size() == 3);
  space->watch({});
  (void)HbmRange::allocate(space, 64);
  CHECK(told.size() == 3);
}
