#include "model/ici/flow_network.hpp"

#include <catch2/catch.hpp>
#include <iostream>
#include <map>
#include <random>

#include "model/ici/closed_forms.hpp"
#include "model/ici/collective.hpp"
#include "model/ici/exchange.hpp"
#include "model/ici/slice.hpp"
#include "testbench/unit/ici/named_slice.hpp"

using namespace weft::ici;

namespace {

constexpr uint64_t kBandwidth = 45'000'000'000;
constexpr LinkRate kRate{45e9};
constexpr FlowNetworkOptions kNoFraming{.framing = false};

/// When each message arrives, by its place; all sent at 0.
std::vector<double> arrivals_us(const Topology& slice, std::vector<Message> messages) {
  FlowNetwork network(slice, kNoFraming);
  std::vector<double> at(messages.size(), -1);
  network.on_delivery([&](const Message& message, Femtoseconds time) { at[message.tag] = microseconds(time); });
  for (size_t i = 0; i < messages.size(); i++) {
    messages[i].tag = i;
    network.send(messages[i], 0);
  }
  REQUIRE(network.run_until(kNever));
  REQUIRE(network.messages() == messages.size());
  return at;
}

double flow_us(const Topology& slice, const std::vector<Message>& messages) {
  const auto at = arrivals_us(slice, messages);
  return *std::max_element(at.begin(), at.end());
}

double packet_us(const Topology& slice, const std::vector<Message>& messages) {
  Network network(slice, {.framing = false});
  for (const auto& message : messages) network.send(message, 0);
  REQUIRE(network.run_until(kNever));
  return microseconds(network.now());
}

double flow_us(const Topology& slice, const CollectiveOptions& options) {
  FlowNetwork network(slice, kNoFraming);
  Collective collective(slice, options, [&](const Message& message) { network.send(message, network.now()); });
  network.on_delivery([&](const Message& message, Femtoseconds) { collective.delivered(message); });
  collective.start();
  REQUIRE(network.run_until(kNever));
  REQUIRE(collective.finished());
  return microseconds(network.now());
}

double packet_us(const Topology& slice, const CollectiveOptions& options) {
  Network network(slice, {.framing = false});
  Collective collective(slice, options, [&](const Message& message) { network.send(message, network.now()); });
  network.on_delivery([&](const Message& message, Delivery, Femtoseconds) { collective.delivered(message); });
  collective.start();
  REQUIRE(network.run_until(kNever));
  REQUIRE(collective.finished());
  return microseconds(network.now());
}

constexpr double kExact = 1e-3;  // relative

}  // namespace

TEST_CASE("a message alone takes its bytes over the bandwidth and a latency a hop") {
  const Topology line({4, 1, 1}, {false, false, false}, false);
  const auto at = arrivals_us(line, {{0, 3, 45'000'000}});
  CHECK(at[0] == Approx(1003).epsilon(1e-9));
  CHECK(arrivals_us(line, {{2, 2, 1000}})[0] == 0);
  CHECK(arrivals_us(line, {{1, 2, 0}})[0] == Approx(1).epsilon(1e-9));
}

TEST_CASE("framing adds its bytes") {
  const Topology line({2, 1, 1}, {false, false, false}, false);
  FlowNetwork network(line, {});
  network.send({0, 1, 1'000'000}, 0);
  REQUIRE(network.run_until(kNever));
  CHECK(network.now() / 1e9 == Approx(static_cast<double>(Network::wire_bytes(1'000'000)) / 45e3 + 1).epsilon(1e-9));
  CHECK(network.link_bytes(0, port_of(0, true)) == Network::wire_bytes(1'000'000));
}

TEST_CASE("messages with ways of one length that meet share a link, and what one leaves unused the others get") {
  const Topology line({4, 1, 1}, {false, false, false}, false);
  // 1 -> 3 meets 0 -> 2 on the link 1 - 2, and another of its own kind on both of its links: three over 1 - 2
  Message low{0, 2, 3'000'000}, high{1, 3, 3'000'000}, other{1, 3, 3'000'000};
  other.order = 1;  // else the two of chip 1 would set out one after the other
  const auto thirds = arrivals_us(line, {low, high, other});
  for (const auto at : thirds) CHECK(at == Approx(200 + 2).epsilon(1e-6));
  // two of chip 0 over its link, one of which meets a third on the next: a half each, nothing is left
  Message first{0, 2, 4'500'000}, second{0, 2, 4'500'000}, third{1, 3, 9'000'000};
  second.order = 1;
  const auto at = arrivals_us(line, {first, second, third});
  CHECK(at[0] == Approx(300 + 2).epsilon(1e-6));
  CHECK(at[1] == Approx(300 + 2).epsilon(1e-6));
  CHECK(at[2] == Approx(400 + 2).epsilon(1e-6));
}

TEST_CASE("longer ways go first, and shorter ones take what they leave") {
  const Topology line({3, 1, 1}, {false, false, false}, false);
  const auto at = arrivals_us(line, {{0, 2, 4'500'000}, {1, 2, 4'500'000}});
  CHECK(at[0] == Approx(100 + 2).epsilon(1e-6));
  CHECK(at[1] == Approx(200 + 1).epsilon(1e-6));
  // two long ways that only have half of the first link each leave half of the second one to the short way
  const Topology longer({4, 1, 1}, {false, false, false}, false);
  const auto rest = arrivals_us(longer, {{0, 3, 4'500'000}, {0, 2, 4'500'000, 0, 1}, {2, 3, 4'500'000}});
  CHECK(rest[0] == Approx(100 + 3).epsilon(1e-6));
  CHECK(rest[1] == Approx(200 + 2).epsilon(1e-6));
  CHECK(rest[2] == Approx(200 + 1).epsilon(1e-6));
}

TEST_CASE("messages of one chip, port, order and class set out one after the other") {
  const Topology line({2, 1, 1}, {false, false, false}, false);
  const auto at = arrivals_us(line, {{0, 1, 4'500'000}, {0, 1, 4'500'000}});
  CHECK(at[0] == Approx(101).epsilon(1e-6));
  CHECK(at[1] == Approx(201).epsilon(1e-6));
}

TEST_CASE("collectives of 256 to 9216 chips take what their closed forms say, within a thousandth") {
  const Topology largest({16, 24, 24}, {true, true, true}, false);
  const Topology cube({16, 16, 16}, {true, true, true}, false);
  using enum CollectiveKind;
  const struct {
    const char* what;
    Topology slice;
    unsigned axes;
  } cases[] = {{"v5e-16x16, both axes", test::topology_of("v5e-16x16"), 3},
               {"v5e-16x16, one", test::topology_of("v5e-16x16"), 2},
               {"v4-8x8x8", test::topology_of("v4-8x8x8"), 7},
               {"16x24x24, axis of 24", largest, 4},
               {"16x24x24, both axes of 24", largest, 6}};
  for (const auto& [what, slice, axes] : cases) {
    INFO(what);
    // blocks without a rest
    const uint64_t bytes = 2048u * 9u * slice.chips() * 2;
    const auto gather = all_gather_us(slice, bytes, axes, kRate);
    CHECK(flow_us(slice, {kAllGather, bytes, axes}) == Approx(gather).epsilon(kExact));
    CHECK(flow_us(slice, {kReduceScatter, bytes, axes}) == Approx(gather).epsilon(kExact));
    CHECK(flow_us(slice, {kAllReduce, bytes, axes}) ==
          Approx(all_reduce_us(slice, bytes, axes, kRate)).epsilon(kExact));
  }
  CHECK(flow_us(cube, {kAllGather, 1'000'000'000, 7}) ==
        Approx(all_gather_us(cube, 1'000'000'000, 7, kRate)).epsilon(kExact));
}

TEST_CASE("exchanges of 256 to 9216 chips take what their closed forms say, within a thousandth") {
  const Topology largest({16, 24, 24}, {true, true, true}, false);
  for (const auto& slice : {test::topology_of("v5e-16x16"), test::topology_of("v4-8x8x16"), largest})
    for (const unsigned axis : {0u, 1u}) {
      if (!slice.wraps(axis)) continue;
      INFO(slice.chips() << " chips, axis " << axis);
      const uint64_t bytes = uint64_t{slice.size(axis)} * slice.size(axis) * 300'000;
      CHECK(flow_us(slice, exchange(slice, {ExchangeKind::kAllToAll, bytes, axis})) ==
            Approx(all_to_all_us(slice, bytes, axis, kRate)).epsilon(kExact));
      CHECK(flow_us(slice, exchange(slice, {ExchangeKind::kBroadcast, 9'000'000, axis, 3})) ==
            Approx(broadcast_us(slice, 9'000'000, axis, 3, kRate)).epsilon(kExact));
      for (const unsigned shift : {1u, 3u})
        CHECK(flow_us(slice, exchange(slice, {ExchangeKind::kPermute, 9'000'000, axis, 0, shift})) ==
              Approx(permute_us(9'000'000, shift, kRate)).epsilon(kExact));
    }
}

TEST_CASE("collectives and exchanges take as long by flows as by packets, within two hundredths") {
  for (const auto* name : {"v5e-4x4", "v5e-2x16", "v4-4x4x4"}) {
    const auto slice = test::topology_of(name);
    for (const auto kind : {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter, CollectiveKind::kAllReduce})
      for (const unsigned axes : {1u, 2u}) {
        INFO(name << " axes " << axes);
        const CollectiveOptions options{kind, 8'388'608, axes};
        CHECK(flow_us(slice, options) == Approx(packet_us(slice, options)).epsilon(0.02));
      }
    // on a line parts are shorter than Arbiter::kLag: longer ones share links by their sources, flows by their ways
    const uint64_t parts = slice.wraps(1) ? 8'388'608 : 2'097'152;
    for (const auto& options : {ExchangeOptions{ExchangeKind::kAllToAll, parts, 1},
                                ExchangeOptions{ExchangeKind::kBroadcast, 4'000'000, 1, 1},
                                ExchangeOptions{ExchangeKind::kPermute, 4'000'000, 1, 0, 1}}) {
      INFO(name << " exchange " << static_cast<int>(options.kind));
      const auto messages = exchange(slice, options);
      CHECK(flow_us(slice, messages) == Approx(packet_us(slice, messages)).epsilon(0.02));
    }
  }
}

TEST_CASE("random messages all arrive, not before their bytes and hops allow, the same every time") {
  const unsigned seed = 8;
  std::cout << "seed " << seed << "\n";
  const auto slice = test::topology_of("v4-4x4x8_twisted");
  std::mt19937 random(seed);
  std::vector<Message> messages;
  for (unsigned i = 0; i < 600; i++) {
    Message message{static_cast<uint32_t>(random() % slice.chips()), static_cast<uint32_t>(random() % slice.chips()),
                    random() % 100'000};
    message.order = static_cast<uint8_t>(random() % kOrders);
    messages.push_back(message);
  }
  const auto at = arrivals_us(slice, messages);
  for (size_t i = 0; i < at.size(); i++) {
    const auto& message = messages[i];
    if (message.from == message.to) continue;
    REQUIRE(at[i] * (1 + 1e-9) >=
            slice.distance(message.from, message.to) + microseconds(transfer_time(message.bytes, kBandwidth)));
  }
  CHECK(arrivals_us(slice, messages) == at);
}
