#include "model/ici/network.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <iostream>
#include <map>
#include <random>

#include "model/ici/slice.hpp"
#include "testbench/unit/ici/named_slice.hpp"

using namespace weft::ici;

namespace {

constexpr NetworkOptions kNoFraming{.framing = false};

/// When the last of these messages arrives, all sent at 0.
Femtoseconds last_arrival(const Topology& slice, const NetworkOptions& options, const std::vector<Message>& messages) {
  Network network(slice, options);
  Femtoseconds last = 0;
  network.on_delivery([&](const Message&, Delivery, Femtoseconds at) { last = at; });
  for (const auto& message : messages) network.send(message, 0);
  REQUIRE(network.run_until(kNever));
  return last;
}

struct Traffic {
  std::map<uint64_t, unsigned> delivered;  ///< by tag
  uint64_t unreachable = 0, out_of_order = 0;
};

/// Random messages at saturation: each chip has all of its messages to send at once.
Traffic saturate(Network& network, unsigned messages, unsigned seed,
                 const std::function<void(Network&)>& disturb = nullptr) {
  Traffic traffic;
  std::map<uint64_t, uint64_t> last_of_flow;
  std::mt19937 random(seed);
  const auto chips = network.topology().chips();
  const unsigned orders = network.topology().size(2) > 1 ? kOrders : 2;
  network.on_delivery([&](const Message& message, Delivery how, Femtoseconds) {
    traffic.delivered[message.tag]++;
    traffic.unreachable += how == Delivery::kUnreachable;
    auto& last = last_of_flow[((uint64_t{message.from} * chips + message.to) * kOrders + message.order) * kClasses +
                              message.traffic_class];
    traffic.out_of_order += message.tag < last;
    last = message.tag;
  });
  for (unsigned i = 0; i < messages; i++) {
    Message message{static_cast<uint32_t>(random() % chips), static_cast<uint32_t>(random() % chips), random() % 6000};
    message.traffic_class = static_cast<uint8_t>(random() % kClasses);
    message.order = static_cast<uint8_t>(random() % orders);
    message.tag = i;
    network.send(message, 0);
  }
  if (disturb) {
    network.run_until(5 * kMicrosecond);
    disturb(network);
  }
  REQUIRE(network.run_until(kNever));
  REQUIRE(network.packets_in_flight() == 0);
  return traffic;
}

}  // namespace

TEST_CASE("an empty network passes a packet on after a link's latency, and its last byte after its length") {
  const Topology line({4, 1, 1}, {false, false, false}, false);
  CHECK(last_arrival(line, kNoFraming, {{0, 3, 4096}}) == 3 * kMicrosecond + transfer_time(4096, 45'000'000'000));
  CHECK(last_arrival(line, {}, {{0, 3, 4096}}) ==
        3 * kMicrosecond + transfer_time(4096 + 32 + 17 * 10, 45'000'000'000));
  CHECK(last_arrival(line, kNoFraming, {{0, 1, 0}}) == kMicrosecond);
  CHECK(last_arrival(line, {}, {{2, 2, 100}}) == 0);
}

TEST_CASE("a long message takes its bytes over the link's bandwidth and a latency a hop") {
  const Topology line({7, 1, 1}, {false, false, false}, false);
  const auto time = last_arrival(line, kNoFraming, {{0, 6, 16'777'216}});
  const auto exact = 6 * kMicrosecond + transfer_time(16'777'216, 45'000'000'000);
  // each packet's time is rounded down by less than 1 fs
  CHECK(time + 4096 >= exact);
  CHECK(time <= exact + exact / 1000);
}

TEST_CASE("two ways that share no link halve the time") {
  const auto slice = test::topology_of("v5e-4x4");
  const auto two = last_arrival(slice, kNoFraming, {{0, 15, 8'388'608, 0, 0}, {0, 15, 8'388'608, 0, 1}});
  CHECK(microseconds(two) == Approx(192.4).epsilon(0.001));
  const auto one = last_arrival(slice, kNoFraming, {{0, 15, 16'777'216, 0, 0}});
  CHECK(microseconds(one) == Approx(378.8).epsilon(0.001));
}

TEST_CASE(
    "what is on its way goes before what sets out up to the lag, then both get as much, and the link is never idle") {
  const Topology line({3, 1, 1}, {false, false, false}, false);
  const auto ends = [&](uint64_t bytes) {
    Network network(line, kNoFraming);
    std::map<uint32_t, double> at;
    network.on_delivery(
        [&](const Message& message, Delivery, Femtoseconds time) { at[message.from] = microseconds(time); });
    network.send({0, 2, bytes}, 0);
    network.send({1, 2, bytes}, 0);
    REQUIRE(network.run_until(kNever));
    return at;
  };
  const auto microseconds_of = [](uint64_t bytes) { return microseconds(transfer_time(bytes, 45'000'000'000)); };
  const uint64_t few = Arbiter::kLag, many = 16 * Arbiter::kLag;
  auto at = ends(few);
  CHECK(at[0] == Approx(microseconds_of(few) + 2).epsilon(0.02));
  CHECK(at[1] == Approx(microseconds_of(2 * few) + 1).epsilon(0.01));
  at = ends(many);  // the one that lags ends a lag after the other
  CHECK(at[0] == Approx(microseconds_of(2 * many - Arbiter::kLag) + 2).epsilon(0.02));
  CHECK(at[1] == Approx(microseconds_of(2 * many) + 1).epsilon(0.01));
}

TEST_CASE("chips in a row that send to the last one get as much of its link each") {
  const Topology line({8, 1, 1}, {false, false, false}, false);
  Network network(line, kNoFraming);
  std::map<uint32_t, uint64_t> packets;
  network.on_delivery([&](const Message& message, Delivery, Femtoseconds) { packets[message.from]++; });
  for (uint32_t chip = 0; chip < 7; chip++)
    for (unsigned i = 0; i < 2000; i++) network.send({chip, 7, 4096}, 0);
  network.run_until(1000 * kMicrosecond);  // 11,000 packets
  REQUIRE(packets.size() == 7);
  const auto [least, most] = std::ranges::minmax_element(packets, {}, [](const auto& entry) { return entry.second; });
  CHECK(static_cast<double>(most->second) <= 1.2 * static_cast<double>(least->second));
}

TEST_CASE("a control message passes a stream of data, and data pass saturated control") {
  const Topology line({4, 1, 1}, {false, false, false}, false);
  Network network(line, kNoFraming);
  double control = 0;
  std::map<uint8_t, uint64_t> bytes;
  network.on_delivery([&](const Message& message, Delivery, Femtoseconds time) {
    if (message.tag == 1) control = microseconds(time) - 200;
    bytes[message.traffic_class] += message.bytes;
  });
  for (unsigned i = 0; i < 16'384; i++) network.send({0, 3, 4096}, 0);
  network.send({1, 3, 64, 1, 0, 0, 1}, 200 * kMicrosecond);
  network.run_until(300 * kMicrosecond);
  const auto packet = microseconds(transfer_time(4096, 45'000'000'000));
  CHECK(control > 0);
  CHECK(control <= 2 * (1 + packet) + 1);
  for (unsigned i = 0; i < 10'000; i++)
    for (uint32_t chip = 0; chip < 3; chip++) network.send({chip, 3, 4096, 1}, network.now());
  bytes.clear();
  network.run_until(network.now() + 500 * kMicrosecond);
  CHECK(bytes[1] > bytes[0]);
  CHECK(10 * bytes[0] > bytes[1]);
}

TEST_CASE("a saturated ring stays at full rate") {
  const Topology ring({16, 1, 1}, {true, false, false}, false);
  Network network(ring, kNoFraming);
  for (unsigned distance = 7; distance > 0; distance--)
    for (uint32_t chip = 0; chip < 16; chip++) network.send({chip, (chip + distance) % 16, 131'072}, 0);
  REQUIRE(network.run_until(kNever));
  const auto bytes_a_link = 131'072.0 * (7 * 8 / 2);
  CHECK(microseconds(network.now()) == Approx(bytes_a_link / 45e9 * 1e6).epsilon(0.05));
}

TEST_CASE("an observer is told of every hop of every packet, in order, first and last marked") {
  const Topology line({4, 1, 1}, {false, false, false}, false);
  Network network(line, kNoFraming);
  std::vector<Hop> hops;
  network.on_hop([&](const Hop& hop) { hops.push_back(hop); });
  network.send({0, 3, 5000, 0, 0, 0, 77}, 0);
  REQUIRE(network.run_until(kNever));
  REQUIRE(hops.size() == 6);
  CHECK(network.packet_hops() == 6);
  std::map<uint32_t, std::vector<Hop>> ways;
  for (const auto& hop : hops) {
    ways[hop.packet].push_back(hop);
    CHECK(hop.message_tag == 77);
    CHECK(hop.port == port_of(0, true));
    CHECK(hop.to - hop.from == transfer_time(hop.payload_bytes, 45'000'000'000));
    CHECK(hop.first_byte == hop.from + kMicrosecond);
  }
  REQUIRE(ways.size() == 2);
  for (const auto& [packet, way] : ways) {
    REQUIRE(way.size() == 3);
    for (uint32_t i = 0; i < 3; i++) {
      CHECK(way[i].chip == i);
      CHECK(way[i].first == (i == 0));
      CHECK(way[i].last == (i == 2));
      if (i > 0) CHECK(way[i].from >= way[i - 1].first_byte);
    }
  }
}

TEST_CASE("saturated slices deliver every message once and in order") {
  const unsigned seed = 5;
  std::cout << "seed " << seed << "\n";
  for (const auto* name : {"v5e-4x4", "v5e-8x8", "v5e-4x16", "v4-4x4x4", "v4-4x4x8_twisted"}) {
    INFO(name);
    Network network(test::topology_of(name), {});
    const auto traffic = saturate(network, 20000, seed);
    CHECK(traffic.delivered.size() == 20000);
    CHECK(std::all_of(traffic.delivered.begin(), traffic.delivered.end(),
                      [](const auto& entry) { return entry.second == 1; }));
    CHECK(traffic.out_of_order == 0);
    CHECK(traffic.unreachable == 0);
  }
}

TEST_CASE("the same seed gives the same times") {
  std::array<Femtoseconds, 2> ends{};
  for (auto& end : ends) {
    Network network(test::topology_of("v4-4x4x4"), {.bit_error_rate = 1e-6, .seed = 3});
    saturate(network, 5000, 9);
    end = network.now();
  }
  CHECK(ends[0] == ends[1]);
}

TEST_CASE("a link that dies in the middle of traffic costs no message where a way is left") {
  for (const auto* name : {"v5e-4x4", "v4-4x4x4", "v4-4x4x8_twisted"}) {
    INFO(name);
    Network network(test::topology_of(name), {});
    const auto traffic = saturate(network, 10000, 6, [](Network& n) {
      n.fail_link(1, port_of(0, true));
      n.run_until(9 * kMicrosecond);
      n.fail_link(5, port_of(1, true));
    });
    CHECK(traffic.delivered.size() == 10000);
    CHECK(std::all_of(traffic.delivered.begin(), traffic.delivered.end(),
                      [](const auto& entry) { return entry.second == 1; }));
    CHECK(traffic.unreachable == 0);
    CHECK(traffic.out_of_order == 0);
    CHECK(network.link(1, port_of(0, true)).packets > 0);
  }
}

TEST_CASE("a chip that dies is said of every message from and to it, once") {
  Network network(test::topology_of("v5e-4x4"), {});
  const auto traffic = saturate(network, 10000, 7, [](Network& n) { n.fail_chip(6); });
  CHECK(traffic.delivered.size() == 10000);
  CHECK(std::all_of(traffic.delivered.begin(), traffic.delivered.end(),
                    [](const auto& entry) { return entry.second == 1; }));
  CHECK(traffic.unreachable > 0);
  CHECK(traffic.unreachable < 3000);
}

TEST_CASE("bit errors cost what go-back-N loses") {
  const Topology line({2, 1, 1}, {false, false, false}, false);
  for (const double rate : {1e-8, 1e-7, 1e-6}) {
    const NetworkOptions options{.bit_error_rate = rate};
    const uint64_t bytes = 400'000'000;
    const auto clean = last_arrival(line, {}, {{0, 1, bytes}});
    const auto time = last_arrival(line, options, {{0, 1, bytes}});
    const double p = 1 - std::pow(1 - rate, 8 * 266);
    const auto frame = static_cast<double>(transfer_time(266, options.link_bytes_per_second));
    const double window = (frame + 2 * static_cast<double>(options.hop_latency)) / frame;
    const double goodput = (1 - p) / (1 - p + p * window);
    INFO("bit error rate " << rate);
    CHECK(static_cast<double>(clean) / static_cast<double>(time) == Approx(goodput).epsilon(0.02));
  }
}
