#include "model/ici/routing.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "model/ici/network.hpp"
#include "model/ici/slice.hpp"
#include "testbench/unit/ici/named_slice.hpp"

using namespace weft::ici;

namespace {

std::vector<bool> all_alive(const Topology& topology) {
  std::vector<bool> alive(size_t{topology.chips()} * kPorts);
  for (uint32_t i = 0; i < alive.size(); i++) alive[i] = topology.neighbor(i / kPorts, i % kPorts) != kNoChip;
  return alive;
}

void kill(std::vector<bool>& alive, const Topology& topology, uint32_t chip, unsigned port) {
  alive[chip * kPorts + port] = false;
  alive[topology.neighbor(chip, port) * kPorts + opposite(port)] = false;
}

/// Follows the tables; the links taken, or -1 if they lead nowhere or over a dead link.
int walk(const Topology& topology, const FaultTables& tables, const std::vector<bool>& alive, uint32_t from,
         uint32_t to) {
  bool went_down = false;
  for (int hops = 0; hops <= static_cast<int>(2 * topology.chips()); hops++) {
    if (from == to) return hops;
    const auto port = tables.port(from, to, went_down);
    if (port == kPorts || !alive[from * kPorts + port]) return -1;
    went_down |= tables.is_down(from, port);
    from = topology.neighbor(from, port);
  }
  return -1;
}

}  // namespace

TEST_CASE("channels of no slice wait for each other in a circle") {
  for (const auto* name :
       {"v5e-4x4", "v5e-4x16", "v5e-8x8", "v4-4x4x4", "v4-4x4x8", "v4-4x4x8_twisted", "v4-2x2x4", "nano-2x2"}) {
    INFO(name);
    const auto slice = test::topology_of(name);
    CHECK(dependency_cycle(slice, nullptr).value_or("none") == "none");
    CHECK(dependency_cycle(slice, nullptr, Datelines::kAhead).has_value() == slice.twisted());
  }
  for (unsigned size = 3; size < 10; size++) {
    INFO("ring of " << size);
    const Topology ring({size, 1, 1}, {true, false, false}, false);
    CHECK(dependency_cycle(ring, nullptr, Datelines::kAhead).value_or("none") == "none");
  }
}

TEST_CASE("a ring without its dateline has a circle, which is named") {
  const Topology ring({5, 1, 1}, {true, false, false}, false);
  const auto cycle = dependency_cycle(ring, nullptr, Datelines::kIgnored);
  REQUIRE(cycle.has_value());
  CHECK_THAT(*cycle, Catch::Contains("chip 0 +x channel 0, ") && Catch::Contains("and round again"));
}

TEST_CASE("every single dead link leaves a way between all chips, without a circle") {
  for (const auto* name : {"v5e-4x4", "v5e-8x8", "v4-4x4x4", "v4-4x4x8_twisted"}) {
    const auto slice = test::topology_of(name);
    unsigned links = 0;
    for (uint32_t chip = 0; chip < slice.chips(); chip++)
      for (unsigned port = 0; port < kPorts; port += 2) {
        if (slice.neighbor(chip, port) == kNoChip) continue;
        if (slice.chips() > 64 && ++links % 16 != 0)
          continue;  // a sample where there are many: the whole takes minutes
        auto alive = all_alive(slice);
        kill(alive, slice, chip, port);
        const FaultTables tables(slice, alive);
        for (uint32_t from = 0; from < slice.chips(); from++)
          for (uint32_t to = 0; to < slice.chips(); to++) {
            const int hops = walk(slice, tables, alive, from, to);
            if (hops < 0)
              FAIL(name << ": chip " << chip << " " << port_name(port) << " dead: no way from " << from << " to "
                        << to);
          }
        if (slice.chips() <= 64 && chip % 5 == 0) {
          INFO(name << ": chip " << chip << " " << port_name(port));
          CHECK(dependency_cycle(slice, &tables).value_or("none") == "none");
        }
      }
  }
}

TEST_CASE("what cannot be reached is said, not looked for for ever") {
  const auto line = Topology({4, 1, 1}, {false, false, false}, false);
  auto alive = all_alive(line);
  kill(alive, line, 1, port_of(0, true));
  const FaultTables tables(line, alive);
  CHECK(tables.reaches(0, 1));
  CHECK(tables.reaches(3, 2));
  CHECK_FALSE(tables.reaches(0, 2));
  CHECK_FALSE(tables.reaches(3, 1));
}

TEST_CASE("a way in dimension order takes its axes in that order") {
  const auto slice = test::topology_of("v4-4x4x4");
  for (unsigned order = 0; order < kOrders; order++) {
    auto route = dimension_order(slice, 0, slice.chip({1, 1, 1}), order);
    for (const auto axis : kAxisOrders[order]) {
      REQUIRE(axis_of(route.port()) == axis);
      route.take(route.port());
    }
    CHECK(route.port() == kPorts);
  }
}

TEST_CASE("blocks of a pair of chips take all shortest ways alike often, each in all orders of its axes") {
  const auto slice = test::topology_of("v4-4x4x4");
  const auto opposite_corner = slice.chip({2, 2, 2});
  std::map<std::pair<unsigned, unsigned>, unsigned> times;
  for (uint32_t block = 0; block < 96; block++) {
    const auto route = balanced_route(slice, 0, opposite_corner, block);
    times[{route.order, route.way}]++;
  }
  CHECK(times.size() == 8 * kOrders);
  for (const auto& [route, count] : times) CHECK(count == 2);

  std::set<std::pair<unsigned, unsigned>> neighbor, diagonal;
  for (uint32_t block = 0; block < 96; block++) {
    const auto one = balanced_route(slice, 0, 1, block), two = balanced_route(slice, 0, 5, block);
    neighbor.insert({one.order, one.way});
    diagonal.insert({two.order, two.way});
  }
  CHECK(neighbor.size() == 1);
  CHECK(diagonal.size() == 2);
}

TEST_CASE("orders that are alike for a way are dealt out by source: all of them, and one for each pair and sequence") {
  const auto mesh = test::topology_of("v5e-8x8");
  std::set<unsigned> along, across;
  for (uint32_t from = 0; from < 24; from++) {
    along.insert(balanced_route(mesh, from, from + 32, 0).order);
    std::set<unsigned> of_pair;
    for (uint32_t block = 0; block < 24; block++) of_pair.insert(balanced_route(mesh, from, 63, block).order);
    CHECK(of_pair.size() <= 2);
    across.insert(of_pair.begin(), of_pair.end());
  }
  CHECK(along.size() == kOrders);
  CHECK(across.size() == kOrders);
}

TEST_CASE("an all-to-all on 8 x 8 keeps the busiest links at work: what waits to turn holds up few sources") {
  constexpr uint64_t kBlock = 4096, kBlocks = 24;
  Network network(test::topology_of("v5e-8x8"), {.framing = false});
  Femtoseconds last = 0;
  network.on_delivery([&](const Message&, Delivery, Femtoseconds now) { last = now; });
  for (uint32_t from = 0; from < 64; from++)
    for (uint32_t block = 0; block < kBlocks; block++)
      for (uint32_t step = 1; step < 64; step++) {
        const auto to = (from + step * 13) % 64;  // 13 and 64 have no common factor: each other chip once
        const auto route = balanced_route(network.topology(), from, to, block);
        network.send({.from = from, .to = to, .bytes = kBlock, .order = route.order, .way = route.way}, 0);
      }
  network.run_until(kNever);
  const double link_us = 128 * kBlocks * kBlock / 45e3;  // of one in the middle: 32 chips send to 32 others over 8
  CHECK(microseconds(last) < link_us / 0.95 + 14);
}

TEST_CASE("shortest ways are different, all as long, and end where they should") {
  for (const auto* name : {"v5e-4x16", "v4-4x4x4", "v4-4x4x8_twisted", "v4-4x8x8_twisted"}) {
    const auto slice = test::topology_of(name);
    for (uint32_t to = 1; to < slice.chips(); to++) {
      std::set<Coordinates> seen;
      for (unsigned way = 0; way < slice.ways(7, to); way++) {
        const auto links = slice.way(7, to, way);
        seen.insert(links);
        unsigned length = 0;
        auto route = dimension_order(slice, 7, to, 0, way);
        auto at = uint32_t{7};
        for (auto port = route.port(); port != kPorts; port = route.port(), length++) {
          at = slice.neighbor(at, port);
          REQUIRE(at != kNoChip);
          route.take(port);
        }
        CHECK(at == to);
        CHECK(length == slice.distance(7, to));
      }
      CHECK(seen.size() == slice.ways(7, to));
    }
  }
}
