#include "model/ici/exchange.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <set>

using namespace weft::ici;

namespace {

const Topology kRing({3, 6, 1}, {false, true, false}, false), kOddRing({1, 5, 2}, {false, true, false}, false),
    kLine({2, 5, 1}, {false, false, false}, false);

}  // namespace

TEST_CASE("in an all-to-all each chip sends its part to each other of its group") {
  for (const auto& slice : {kRing, kOddRing, kLine}) {
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> pairs;
    const auto size = slice.size(1);
    for (const auto& message : exchange(slice, {ExchangeKind::kAllToAll, 101 * size * size, 1})) {
      pairs[{message.from, message.to}] += message.bytes;
      const auto a = slice.coordinates(message.from), b = slice.coordinates(message.to);
      CHECK(a[0] == b[0]);
      CHECK(a[2] == b[2]);
    }
    CHECK(pairs.size() == slice.chips() * (size - 1));
    for (const auto& [pair, bytes] : pairs) CHECK(bytes == 101);
  }
}

TEST_CASE("an all-to-all on an even ring loads every link alike") {
  std::map<std::pair<uint32_t, unsigned>, uint64_t> load;
  for (const auto& message : exchange(kRing, {ExchangeKind::kAllToAll, 3600, 1})) {
    auto route = dimension_order(kRing, message.from, message.to, 0, message.way);
    auto chip = message.from;
    for (auto port = route.port(); port != kPorts; port = route.port()) {
      load[{chip, port}] += message.bytes;
      route.take(port);
      chip = kRing.neighbor(chip, port);
    }
    CHECK(chip == message.to);
  }
  CHECK(load.size() == 2 * kRing.chips());
  for (const auto& [link, bytes] : load) CHECK(bytes == 450);
}

TEST_CASE("a broadcast passes every chip of the group once") {
  for (const auto& slice : {kRing, kOddRing, kLine})
    for (unsigned root = 0; root < slice.size(1); root++) {
      std::map<uint32_t, unsigned> reached;
      for (const auto& message : exchange(slice, {ExchangeKind::kBroadcast, 7, 1, root})) {
        auto route = dimension_order(slice, message.from, message.to, 0, message.way);
        auto chip = message.from;
        for (auto port = route.port(); port != kPorts; port = route.port()) {
          route.take(port);
          chip = slice.neighbor(chip, port);
          reached[chip]++;
        }
      }
      CHECK(reached.size() == slice.chips() / slice.size(1) * (slice.size(1) - 1));
      for (const auto& [chip, times] : reached) CHECK(times == 1);
    }
}

TEST_CASE("a permutation sends each chip's array so many places on") {
  std::set<uint32_t> receivers;
  for (const auto& message : exchange(kRing, {ExchangeKind::kPermute, 7, 1, 0, 4})) {
    const auto a = kRing.coordinates(message.from), b = kRing.coordinates(message.to);
    CHECK((a[1] + 4) % 6 == b[1]);
    receivers.insert(message.to);
  }
  CHECK(receivers.size() == kRing.chips());
}
