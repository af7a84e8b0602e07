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
