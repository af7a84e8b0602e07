// Many descriptors by epoll, few by poll: the same answers.
#include "model/server/poll_set.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

using weft::server::FileDescriptor;
using weft::server::PollSet;

namespace {

struct Pair {
  Pair() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
    here = FileDescriptor(ends[0]);
    there = FileDescriptor(ends[1]);
  }
  void send() const { REQUIRE(::send(there.get(), "x", 1, 0) == 1); }
  void receive() const {
    char byte = 0;
    REQUIRE(::recv(here.get(), &byte, 1, 0) == 1);
  }
  FileDescriptor here, there;
};

constexpr size_t kMany = 2 * PollSet::kFew;

std::vector<pollfd> asked(const std::vector<Pair>& pairs, short events = POLLIN) {
  std::vector<pollfd> polled;
  for (const Pair& pair : pairs) polled.push_back({pair.here.get(), events, 0});
  return polled;
}

size_t ready(const std::vector<pollfd>& polled) {
  size_t count = 0;
  for (const pollfd& p : polled) count += p.revents != 0 ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("Of many descriptors those are ready that poll() says, whatever is asked for in each turn") {
  std::mt19937 random(16);
  std::vector<Pair> pairs(kMany);
  PollSet set;
  size_t found = 0;
  for (int turn = 0; turn < 300; turn++) {
    CAPTURE(turn);
    Pair& one = pairs[random() % kMany];
    if (random() % 2 != 0) one.send();
    if (random() % 8 == 0) {  // closed, and its number is another socket's
      const auto old = asked(pairs);
      one = Pair();
      one = Pair();
      set.renew(old);
    }
    auto polled = asked(pairs);
    for (pollfd& p : polled)
      p.events = static_cast<short>(random() % 4 == 0 ? 0 : random() % 4 == 0 ? POLLIN | POLLOUT : POLLIN);
    std::shuffle(polled.begin(), polled.end(), random);
    polled.resize(PollSet::kFew / 2 + random() % (kMany - PollSet::kFew / 2));
    auto expected = polled;
    const int count = ::poll(expected.data(), expected.size(), 0);
    REQUIRE(set.wait(polled, 0) == count);
    for (size_t i = 0; i < polled.size(); i++) REQUIRE(polled[i].revents == expected[i].revents);
    found += static_cast<size_t>(count);
  }
  CHECK(found > 1000);
}

TEST_CASE("A wait for many descriptors ends when one of them has something") {
  std::vector<Pair> pairs(kMany);
  PollSet set;
  auto polled = asked(pairs);
  CHECK(set.wait(polled, 1) == 0);
  pairs[kMany - 1].send();
  REQUIRE(set.wait(polled, -1) == 1);
  CHECK(ready(polled) == 1);
  CHECK(polled.back().revents == POLLIN);
  pairs[kMany - 1].receive();
  CHECK(set.wait(polled, 0) == 0);
  CHECK(ready(polled) == 0);
}

TEST_CASE("What is kept is looked at in each wait without being asked for") {
  std::mt19937 random(19);
  std::vector<Pair> pairs(kMany);
  std::vector<bool> kept(kMany), sent(kMany);
  PollSet set;
  size_t found = 0;
  for (int turn = 0; turn < 2000; turn++) {
    CAPTURE(turn);
    const size_t i = random() % kMany;
    switch (random() % 4) {
      case 0:
        set.drop(pairs[i].here.get());
        if (!kept[i]) set.keep(pairs[i].here.get(), i);
        kept[i] = !kept[i];
        break;
      case 1:  // closed, and its number is another socket's
        if (const int old = pairs[i].here.get(); kept[i]) {
          pairs[i] = Pair();
          set.drop(old);
          kept[i] = false;
        }
        sent[i] = false;
        pairs[i] = Pair();
        set.renew(asked(pairs));
        break;
      case 2:
        sent[i] ? pairs[i].receive() : pairs[i].send();
        sent[i] = !sent[i];
        break;
      default:
        break;
    }
    std::vector<pollfd> polled;
    std::vector<size_t> expected;
    int count = 0;
    for (size_t k = 0; k < kMany; k++) {
      if (!kept[k] && random() % 8 == 0) continue;  // neither kept nor asked for
      if (!kept[k]) polled.push_back({pairs[k].here.get(), POLLIN, 0});
      if (kept[k] && sent[k]) expected.push_back(k);
      count += sent[k] ? 1 : 0;
    }
    REQUIRE(set.wait(polled, 0) == count);
    std::vector<size_t> got(set.ready().begin(), set.ready().end());
    std::ranges::sort(got);
    REQUIRE(got == expected);
    for (const pollfd& p : polled) {
      const auto of = std::ranges::find_if(pairs, [&](const Pair& pair) { return pair.here.get() == p.fd; });
      REQUIRE((p.revents == POLLIN) == sent[static_cast<size_t>(of - pairs.begin())]);
    }
    found += got.size();
  }
  CHECK(found > 1000);
}

TEST_CASE("One that is kept ends a wait with few others, and says so when its other end has gone") {
  Pair one, other;
  PollSet set;
  set.keep(one.here.get(), 7);
  std::vector<pollfd> polled{{other.here.get(), POLLIN, 0}};
  CHECK(set.wait(polled, 0) == 0);
  CHECK(set.ready().empty());
  one.there.reset();
  REQUIRE(set.wait(polled, -1) == 1);
  REQUIRE(set.ready().size() == 1);
  CHECK(set.ready()[0] == 7);
  CHECK(ready(polled) == 0);
  set.drop(one.here.get());
  CHECK(set.wait(polled, 0) == 0);
  CHECK(set.ready().empty());
}
