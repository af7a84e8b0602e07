// Groups of chips that wait for each other: who is released, who is told that it cannot end.
#include "model/chip/slice_barriers.hpp"

#include <catch2/catch.hpp>

#include "model/golden/remote.hpp"

using namespace weft;
using chip::SliceBarriers;

namespace {

spec::BarrierCommand group(uint16_t base, uint16_t count, uint16_t stride, uint32_t signature = 1) {
  spec::BarrierCommand c;
  c.base = base;
  c.count0 = count;
  c.stride0 = count > 1 ? stride : 0;
  c.count1 = c.count2 = 1;
  c.signature = signature;
  return c;
}

bool all_well(const std::vector<SliceBarriers::Release>& released) {
  for (const auto& r : released)
    if (r.fault) return false;
  return true;
}

}  // namespace

TEST_CASE("A barrier ends for all when the last chip comes, and again in the next round") {
  SliceBarriers barriers;
  for (int round = 0; round < 2; round++) {
    CHECK(barriers.arrive(2, group(0, 3, 1)).empty());
    CHECK(barriers.arrive(0, group(0, 3, 1)).empty());
    const auto released = barriers.arrive(1, group(0, 3, 1));
    REQUIRE(released.size() == 3);
    CHECK(all_well(released));
    for (uint32_t i = 0; i < 3; i++) CHECK(released[i].chip == i);
  }
}

TEST_CASE("A group of one ends at once") {
  SliceBarriers barriers;
  CHECK(barriers.arrive(3, group(3, 1, 0)).size() == 1);
}

TEST_CASE("Groups beside each other do not notice each other") {
  SliceBarriers barriers;
  CHECK(barriers.arrive(0, group(0, 2, 1)).empty());
  CHECK(barriers.arrive(2, group(2, 2, 1, 9)).empty());
  CHECK(barriers.arrive(3, group(2, 2, 1, 9)).size() == 2);
  CHECK(barriers.arrive(1, group(0, 2, 1)).size() == 2);
}

TEST_CASE("Another signature fails those who wait, and those who come later") {
  SliceBarriers barriers;
  CHECK(barriers.arrive(0, group(0, 4, 1)).empty());
  const auto failed = barriers.arrive(1, group(0, 4, 1, 0xabc));
  REQUIRE(failed.size() == 2);
  const auto fault = golden::ici_fault(WEFT_ICI_CAUSE_BARRIER_MISMATCH, 1, 0xabc);
  CHECK(failed[0].fault == fault);
  CHECK(failed[1].fault == fault);
  const auto later = barriers.arrive(3, group(0, 4, 1));
  REQUIRE(later.size() == 1);
  CHECK(later[0].chip == 3);
  CHECK(later[0].fault == fault);
  CHECK(barriers.arrive(2, group(0, 4, 1)).size() == 1);
  CHECK(barriers.arrive(2, group(0, 4, 1)).empty());  // all have come once: the next round is new
}

TEST_CASE("A chip that comes again after a failure begins another round") {
  SliceBarriers barriers;
  (void)barriers.arrive(0, group(0, 2, 1));
  (void)barriers.arrive(1, group(0, 2, 1, 5));
  CHECK(barriers.arrive(0, group(0, 2, 1)).empty());
  const auto released = barriers.arrive(1, group(0, 2, 1));
  CHECK(released.size() == 2);
  CHECK(all_well(released));
}

TEST_CASE("Chips that wait for each other at barriers of different groups are told, no matter who came first") {
  SliceBarriers barriers;
  CHECK(barriers.arrive(0, group(0, 2, 1)).empty());
  const auto failed = barriers.arrive(1, group(0, 4, 1));
  REQUIRE(failed.size() == 2);
  CHECK(failed[0].fault.has_value());
  CHECK(failed[1].fault.has_value());
}

TEST_CASE("A small group inside a large one may come first") {
  SliceBarriers barriers;
  CHECK(barriers.arrive(3, group(0, 4, 1)).empty());
  CHECK(barriers.arrive(0, group(0, 2, 1)).empty());
  CHECK(all_well(barriers.arrive(1, group(0, 2, 1))));
  CHECK(barriers.arrive(0, group(0, 4, 1)).empty());
  CHECK(barriers.arrive(1, group(0, 4, 1)).empty());
  CHECK(barriers.arrive(2, group(0, 4, 1)).size() == 4);
}

TEST_CASE("A chip that was reset does not wait any more, and its old arrival counts for nothing") {
  SliceBarriers barriers;
  (void)barriers.arrive(0, group(0, 2, 1));
  barriers.forget(0);
  CHECK(barriers.arrive(1, group(0, 2, 1)).empty());
  CHECK(barriers.arrive(0, group(0, 2, 1)).size() == 2);
}
