// Slots, generations, and what a completion's id is told to be.
#include "driver/queue/command_ids.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <set>

using weft::driver::CommandIds;
using weft::driver::IdMatch;
using Ids = CommandIds<std::shared_ptr<int>>;

TEST_CASE("all slots can be in flight, then there is none left") {
  Ids ids(4);
  std::set<uint16_t> given;
  for (int i = 0; i < 4; i++) given.insert(ids.acquire(std::make_shared<int>(i)).value());
  CHECK(given.size() == 4);
  CHECK(given.count(0) == 0);
  CHECK_FALSE(ids.acquire(nullptr));
  CHECK(ids.in_use() == 4);
}

TEST_CASE("an id is outstanding, then a duplicate, then late") {
  Ids ids(2);
  const uint16_t a = ids.acquire(std::make_shared<int>(7)).value();
  CHECK(ids.match(a) == IdMatch::kOutstanding);
  CHECK(*ids.release(a) == 7);
  CHECK(ids.match(a) == IdMatch::kDuplicate);
  (void)ids.acquire(std::make_shared<int>(8));
  const uint16_t again = ids.acquire(std::make_shared<int>(9)).value();
  CHECK(Ids::slot_of(again) == Ids::slot_of(a));
  CHECK(again != a);
  CHECK(ids.match(a) == IdMatch::kLate);
  CHECK(ids.match(again) == IdMatch::kOutstanding);
}

TEST_CASE("ids of slots that do not exist or were never used are unknown") {
  Ids ids(8);
  CHECK(ids.match(8) == IdMatch::kUnknown);
  CHECK(ids.match(0xffff) == IdMatch::kUnknown);
  CHECK(ids.match(3) == IdMatch::kUnknown);
  CHECK(ids.match(0x1003) == IdMatch::kUnknown);
}

TEST_CASE("an id repeats only after 15 turns of its slot, and is never 0") {
  Ids ids(1);
  std::set<uint16_t> seen;
  for (int turn = 0; turn < 15; turn++) {
    const uint16_t id = ids.acquire(std::make_shared<int>(turn)).value();
    CHECK(id != 0);
    CHECK(seen.insert(id).second);
    ids.release(id);
  }
  CHECK(seen.count(ids.acquire(nullptr).value()) == 1);
}

TEST_CASE("release_all hands out every payload once") {
  Ids ids(16);
  for (int i = 0; i < 10; i++) (void)ids.acquire(std::make_shared<int>(i));
  int sum = 0;
  ids.release_all([&](std::shared_ptr<int> p) { sum += *p; });
  CHECK(sum == 45);
  CHECK(ids.in_use() == 0);
}
