#include "model/ici/arbiter.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <map>

using namespace weft::ici;

namespace {

constexpr uint32_t kPacket = 4096;
constexpr std::array<uint32_t, 4> kRoom{1 << 20, 1 << 20, 1 << 20, 0};

Waiting packet(uint32_t source, bool sets_out, bool control = false, uint8_t channel = 0) {
  return {source, 0, 0, kPacket, channel, Arbiter::account_of(source), control, sets_out};
}

/// Packets of each source that go if all of these wait again as soon as they have gone.
std::map<uint32_t, unsigned> gone(Arbiter& arbiter, const std::vector<Waiting>& all, unsigned packets) {
  std::map<uint32_t, unsigned> count;
  for (const auto& one : all) arbiter.add(one);
  for (unsigned i = 0; i < packets; i++) {
    Waiting next{};
    REQUIRE(arbiter.take(kRoom, 0, next));
    count[next.queue]++;
    arbiter.add(next);
  }
  return count;
}

}  // namespace

TEST_CASE("what is on its way goes before what sets out, until that has fallen behind by its lag") {
  Arbiter arbiter;
  const auto count = gone(arbiter, {packet(0, false), packet(1, true)}, Arbiter::kLag / kPacket);
  CHECK(count.count(1) == 0);
}

TEST_CASE("each source gets as much of a link in the long run, whichever queues it stands in") {
  Arbiter arbiter;
  const auto count = gone(arbiter, {packet(0, false), packet(0, false), packet(1, false), packet(2, true)}, 30'000);
  CHECK(count.at(0) == Approx(10'000).epsilon(0.01));
  CHECK(count.at(1) == Approx(10'000).epsilon(0.01));
  CHECK(count.at(2) == Approx(10'000).epsilon(0.01));
}

TEST_CASE("shares stay equal when accounts are counted from a later point") {
  Arbiter arbiter;
  const unsigned packets = 3 * ((1u << 31) / kPacket);  // 6 GiB
  const auto count = gone(arbiter, {packet(0, false), packet(1, false), packet(2, true)}, packets);
  for (uint32_t source = 0; source < 3; source++) CHECK(count.at(source) == Approx(packets / 3.0).epsilon(0.001));
}

TEST_CASE("a source that was silent catches up by its claim and no more") {
  Arbiter arbiter;
  (void)gone(arbiter, {packet(0, false), packet(1, false)}, 10'000);
  arbiter.clear();
  const auto count = gone(arbiter, {packet(1, false), packet(2, false)}, 1000);
  CHECK(count.at(2) - count.at(1) <= (Arbiter::kClaim + Arbiter::kQuantum) / kPacket + 1);
  CHECK(count.at(2) > count.at(1));
}

TEST_CASE("control goes before data and leaves every fifth packet to them") {
  Arbiter arbiter;
  const auto count = gone(arbiter, {packet(0, false), packet(1, true, true)}, 1000);
  CHECK(count.at(1) == 800);
  CHECK(count.at(0) == 200);
}

TEST_CASE("what has no room does not stand in the way") {
  Arbiter arbiter;
  arbiter.add(packet(0, false, true, 3));
  arbiter.add(packet(1, false, false, 3));
  Waiting next{};
  CHECK_FALSE(arbiter.take(kRoom, 0, next));
  arbiter.add(packet(2, true));
  REQUIRE(arbiter.take(kRoom, 0, next));
  CHECK(next.queue == 2);
}

TEST_CASE("a new period knows nothing of the last one") {
  Arbiter arbiter;
  (void)gone(arbiter, {packet(0, false), packet(1, false)}, 101);
  arbiter.clear();
  arbiter.add(packet(2, false));
  arbiter.add(packet(0, false));
  Waiting next{};
  REQUIRE(arbiter.take(kRoom, 1, next));
  REQUIRE(next.queue == 2);
  REQUIRE(arbiter.take(kRoom, 1, next));
  CHECK(next.queue == 0);
}
