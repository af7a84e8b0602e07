// Ranks as threads: what they exchange comes whole, to the right one, in every round.
#include "model/ranks/shared_ranks.hpp"

#include <poll.h>

#include <catch2/catch.hpp>
#include <random>
#include <thread>

using namespace weft;
using Bytes = chip::RankLink::Bytes;

namespace {

/// What rank `from` gives to rank `to` in a round: often nothing, at times several boxes.
Bytes gift(unsigned from, unsigned to, unsigned round) {
  std::mt19937 draw(from * 7919 + to * 104729 + round);
  const size_t kind = draw() % 8, longest = kind == 0 ? 300'000 : kind < 4 ? 100 : 0;
  Bytes bytes(longest == 0 ? 0 : draw() % longest);
  for (auto& byte : bytes) byte = static_cast<std::byte>(draw());
  return bytes;
}

/// Rounds in which a rank has been given something else than what was meant for it.
unsigned wrong_rounds(chip::RankLink& link, unsigned rounds) {
  unsigned wrong = 0;
  std::vector<Bytes> out(link.ranks()), in(link.ranks());
  for (unsigned round = 0; round < rounds; round++) {
    for (unsigned to = 0; to < link.ranks(); to++)
      if (to != link.rank()) out[to] = gift(link.rank(), to, round);
    link.exchange(out, in);
    for (unsigned from = 0; from < link.ranks(); from++)
      wrong += from != link.rank() && in[from] != gift(from, link.rank(), round);
  }
  return wrong;
}

bool readable(int fd) {
  pollfd polled{fd, POLLIN, 0};
  return ::poll(&polled, 1, 0) == 1;
}

}  // namespace

TEST_CASE("Ranks get in each round what the others have given them, however long it is") {
  const unsigned ranks = GENERATE(1u, 2u, 3u, 5u);
  std::string error;
  const auto shared = ranks::SharedRanks::make(ranks, error);
  REQUIRE(shared != nullptr);
  std::vector<unsigned> wrong(ranks);
  std::vector<std::thread> threads;
  for (unsigned rank = 0; rank < ranks; rank++)
    threads.emplace_back([&, rank] { wrong[rank] = wrong_rounds(*shared->link(rank), 60); });
  for (auto& thread : threads) thread.join();
  CHECK(wrong == std::vector<unsigned>(ranks));
}

TEST_CASE("A call wakes the other ranks once, and is for one meeting") {
  std::string error;
  const auto shared = ranks::SharedRanks::make(3, error);
  REQUIRE(shared != nullptr);
  const auto first = shared->link(0), second = shared->link(1), third = shared->link(2);
  CHECK_FALSE(readable(second->wake_fd()));
  first->call(5);
  for (auto* link : {second.get(), third.get()}) {
    CHECK(readable(link->wake_fd()));
    CHECK(link->called(5));
    CHECK_FALSE(link->called(6));
    CHECK_FALSE(readable(link->wake_fd()));
  }
  CHECK_FALSE(readable(first->wake_fd()));
}
