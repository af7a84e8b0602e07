// Bandwidth as an exact rational, and the time base.
#include "model/chip/data_path.hpp"

#include <catch2/catch.hpp>

#include "model/chip/time_base.hpp"

using weft::chip::DataPath;
using weft::chip::TimeBase;

TEST_CASE("a booking takes its bytes over the bandwidth, rounded up") {
  DataPath path(34'000'000'000, 1'000'000'000);  // 34 bytes a cycle
  CHECK(path.book(34, 100) == 101);
  CHECK(path.book(35, 1000) == 1002);
  CHECK(path.book(1, 2000) == 2001);
}

TEST_CASE("fractions of a cycle are not lost between bookings that follow one another") {
  DataPath path(810'000'000'000, 1'500'000'000);  // 540 bytes a cycle
  uint64_t end = 0;
  for (int i = 0; i < 540; i++) end = path.book(1, 10);
  CHECK(end == 11);
  DataPath odd(7, 3);  // 7/3 bytes a cycle: 3 cycles for 7 bytes
  for (int i = 0; i < 7'000'000; i++) end = odd.book(1, 0);
  CHECK(end == 3'000'000);
}

TEST_CASE("a path that was free keeps nothing of its past") {
  DataPath path(34'000'000'000, 1'000'000'000);
  path.book(33, 0);
  CHECK(path.book(34, 1) == 2);  // the fraction left in cycle 0 does not count
  path.book(35, 10);             // busy to 11 + 1/34
  CHECK(path.book(34, 11) == 13);
  CHECK(path.booked_ahead(11) == 2);
  CHECK(path.booked_ahead(13) == 0);
}

TEST_CASE("edges lie at floor(n * 1e15 / f), and their cycles are found back") {
  const TimeBase time(1'500'000'000);
  CHECK(time.edge_fs(0) == 0);
  CHECK(time.edge_fs(1) == 666'666);
  CHECK(time.edge_fs(2) == 1'333'333);
  CHECK(time.edge_fs(3) == 2'000'000);
  for (uint64_t n = 0; n < 100'000; n++) REQUIRE(time.cycle_at(time.edge_fs(n)) == n);
  for (uint64_t n = 1'000'000'000'000; n < 1'000'000'010'000; n++) REQUIRE(time.cycle_at(time.edge_fs(n)) == n);
  CHECK(time.cycle_at(1) == 1);
  CHECK(time.edge_fs(UINT64_MAX) == time.edge_fs(time.last_cycle()));
}
