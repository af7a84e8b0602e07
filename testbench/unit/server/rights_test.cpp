// What clients and observers may do to each other, and whose turn it is.
#include "model/server/rights.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <vector>

#include "model/server/fair_turns.hpp"

using namespace weft;
using namespace weft::server;
using namespace std::chrono_literals;

namespace {

using Clients = std::vector<std::optional<Peer>>;

constexpr std::optional<Peer> kNone;
const uid_t kOwn = ::geteuid();
const uid_t kOther = kOwn + 1000;

}  // namespace

TEST_CASE("one process with a function of each chip is one tenant, and anything else is several") {
  const std::optional<Peer> a = Peer{100, kOwn}, b = Peer{101, kOwn}, far = Peer{0, kOwn};
  CHECK(is_one_tenant(Clients{}, 1));
  CHECK(is_one_tenant(Clients{kNone, kNone}, 2));
  CHECK(is_one_tenant(Clients{kNone, a, kNone, kNone}, 4));
  CHECK_FALSE(is_one_tenant(Clients{a, b}, 1));
  CHECK_FALSE(is_one_tenant(Clients{a, a}, 2));  // two clients of one chip
  CHECK(is_one_tenant(Clients{a, a, a}, 1));
  CHECK(is_one_tenant(Clients{a, kNone, kNone, a}, 2));
  CHECK_FALSE(is_one_tenant(Clients{a, kNone, a, a}, 2));
  CHECK_FALSE(is_one_tenant(Clients{a, kNone, Peer{100, kOther}, kNone}, 2));
  CHECK(is_one_tenant(Clients{far}, 1));
  CHECK_FALSE(is_one_tenant(Clients{far, far}, 1));  // processes of another namespace cannot be told apart
}

TEST_CASE("holding and injecting are for the server's user alone, unless an option says otherwise") {
  const auto rights = [](uid_t uid, bool alone, const Permissions& permissions = {}) {
    const chip::HostRights r = rights_of(Peer{100, uid}, alone, permissions);
    return std::pair(r.hold, r.inject);
  };
  CHECK(rights(kOwn, true) == std::pair(true, true));
  CHECK(rights(0, true) == std::pair(true, true));
  CHECK(rights(kOwn, false) == std::pair(false, false));
  CHECK(rights(kOther, true) == std::pair(false, false));
  CHECK(rights(kOwn, false, {.hold = true, .inject = false, .reset = false, .group = {}}) == std::pair(true, false));
  CHECK(rights(kOther, false, {.hold = false, .inject = true, .reset = false, .group = {}}) == std::pair(false, true));
}

TEST_CASE("an observer injects as the server's user, and resets its own functions, unless an option says otherwise") {
  CHECK(may_inject({}, kOwn));
  CHECK_FALSE(may_inject({}, kOther));
  CHECK(may_inject({.hold = false, .inject = true, .reset = false, .group = {}}, kOther));
  CHECK(may_reset({}, kOther, std::nullopt));
  CHECK(may_reset({}, kOther, kOther));
  CHECK(may_reset({}, kOwn, kOther));
  CHECK_FALSE(may_reset({}, kOther, kOther + 1));
  CHECK(may_reset({.hold = false, .inject = false, .reset = true, .group = {}}, kOther, kOther + 1));
  CHECK(may_connect({}, kOwn));
  CHECK(may_connect({}, 0));
  CHECK_FALSE(may_connect({}, kOther));
  CHECK(may_connect({.hold = false, .inject = false, .reset = false, .group = 7}, kOther));
}

TEST_CASE("tenants that always have messages get equal times, however long a message of one takes") {
  FairTurns turns(4);
  auto now = FairTurns::Clock::now();
  const std::vector<size_t> waiting{0, 1, 3};
  const std::vector<FairTurns::Time> a_message{2ms, 3us, 1us, 50us};
  std::vector<FairTurns::Time> used(4);
  for (int turn = 0; turn < 20'000; turn++) {
    turns.begin(waiting, waiting.size(), true, now);
    for (const size_t i : waiting) {
      FairTurns::Time spent{};
      const auto time = turns.time_for(i);
      if (time <= FairTurns::Time::zero()) continue;
      do spent += a_message[i];
      while (spent < time);
      turns.spend(i, spent);
      used[i] += spent;
      now += spent;
    }
    now += 300us;  // the slice of the device
  }
  CHECK(used[2] == 0us);
  for (const size_t i : waiting) {
    CAPTURE(i);
    CHECK(used[i] > 20'000 * 80us);  // of the 300 us of a turn
    CHECK(used[i] < 20'000 * 120us);
  }
}

TEST_CASE("a tenant in debt waits while others want the time, and not while nobody does") {
  FairTurns turns(2);
  auto now = FairTurns::Clock::now();
  const std::vector<size_t> first{0}, both{0, 1};
  turns.begin(first, 2, false, now);
  CHECK(turns.time_for(0) == chip::tenant_limits::kTurn);
  turns.spend(0, 10ms);
  turns.begin(both, 2, false, now);
  CHECK(turns.time_for(0) == 0us);
  CHECK(turns.time_for(1) == chip::tenant_limits::kTurn / 2);
  turns.begin(first, 2, true, now += 1ms);  // the device wants it
  CHECK(turns.time_for(0) == 0us);
  turns.begin(first, 2, false, now);
  CHECK(turns.time_for(0) == chip::tenant_limits::kTurn);
  turns.spend(0, 10ms);
  turns.begin(first, 2, true, now += 41ms);
  CHECK(turns.time_for(0) > 0us);
}
