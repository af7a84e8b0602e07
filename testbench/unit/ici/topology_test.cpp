#include "model/ici/topology.hpp"

#include <catch2/catch.hpp>
#include <deque>

using namespace weft::ici;

namespace {

/// Links between two chips by breadth-first search over neighbours alone.
std::vector<unsigned> distances(const Topology& topology, uint32_t from) {
  std::vector<unsigned> found(topology.chips(), ~0u);
  found[from] = 0;
  for (std::deque<uint32_t> next{from}; !next.empty(); next.pop_front())
    for (unsigned port = 0; port < kPorts; port++)
      if (const auto to = topology.neighbor(next.front(), port); to != kNoChip && found[to] == ~0u) {
        found[to] = found[next.front()] + 1;
        next.push_back(to);
      }
  return found;
}

const std::vector<Topology> kTopologies{
    {{1, 1, 1}, {false, false, false}, false}, {{4, 4, 1}, {false, false, false}, false},
    {{5, 3, 1}, {true, true, false}, false},   {{2, 2, 1}, {true, true, false}, false},
    {{4, 4, 4}, {true, true, true}, false},    {{4, 4, 8}, {true, true, true}, false},
    {{4, 4, 8}, {true, true, true}, true},     {{4, 8, 8}, {true, true, true}, true},
    {{8, 4, 4}, {true, true, true}, true}};

}  // namespace

TEST_CASE("a link leads back by the opposite port") {
  for (const auto& topology : kTopologies)
    for (uint32_t chip = 0; chip < topology.chips(); chip++)
      for (unsigned port = 0; port < kPorts; port++)
        if (const auto to = topology.neighbor(chip, port); to != kNoChip) {
          REQUIRE(topology.neighbor(to, opposite(port)) == chip);
          REQUIRE(topology.is_wrap_link(to, opposite(port)) == topology.is_wrap_link(chip, port));
        }
}

TEST_CASE("coordinates and numbers of chips belong together") {
  for (const auto& topology : kTopologies)
    for (uint32_t chip = 0; chip < topology.chips(); chip++) REQUIRE(topology.chip(topology.coordinates(chip)) == chip);
}

TEST_CASE("a way is a shortest one and ends where it should") {
  for (const auto& topology : kTopologies)
    for (uint32_t from = 0; from < topology.chips(); from++) {
      const auto shortest = distances(topology, from);
      for (uint32_t to = 0; to < topology.chips(); to++) {
        REQUIRE(topology.distance(from, to) == shortest[to]);
        const auto way = topology.way(from, to);
        auto at = from;
        for (unsigned axis = 0; axis < kAxes; axis++)
          for (int step = way[axis]; step != 0; step += step > 0 ? -1 : 1) {
            at = topology.neighbor(at, port_of(axis, step > 0));
            REQUIRE(at != kNoChip);
          }
        REQUIRE(at == to);
      }
    }
}

TEST_CASE("twisting shortens the longest and the mean way") {
  const Topology plain({4, 4, 8}, {true, true, true}, false), twisted({4, 4, 8}, {true, true, true}, true);
  unsigned long plain_sum = 0, twisted_sum = 0;
  for (uint32_t to = 0; to < plain.chips(); to++) {
    plain_sum += plain.distance(0, to);
    twisted_sum += twisted.distance(0, to);
  }
  CHECK(twisted_sum < plain_sum);
}

TEST_CASE("only k x k x 2k and k x 2k x 2k can be twisted") {
  CHECK(Topology::is_twistable({4, 4, 8}));
  CHECK(Topology::is_twistable({8, 4, 8}));
  CHECK_FALSE(Topology::is_twistable({4, 4, 4}));
  CHECK_FALSE(Topology::is_twistable({4, 8, 16}));
  CHECK_FALSE(Topology::is_twistable({1, 1, 2}));
}

TEST_CASE("a link has a name for people") {
  CHECK(port_name(port_of(0, true)) == "+x");
  CHECK(port_name(port_of(2, false)) == "-z");
}
