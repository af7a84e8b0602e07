// Routers that are not ideal.
#include <algorithm>
#include <catch2/catch.hpp>
#include <iostream>
#include <map>
#include <random>
#include <vector>

#include "model/ici/network.hpp"
#include "model/ici/slice.hpp"
#include "testbench/unit/ici/named_slice.hpp"

using namespace weft::ici;

namespace {

constexpr uint64_t kBlock = weft::spec::kIciPacketPayloadBytes;
constexpr Femtoseconds kLatency = kMicrosecond;

NetworkOptions with(const RouterLimits& router) { return {.framing = false, .buffer_packets = 4, .router = router}; }

Femtoseconds block_time() { return transfer_time(kBlock, NetworkOptions{}.link_bytes_per_second); }

/// When messages arrive that are all sent at 0, in the order of their arrival.
std::vector<Femtoseconds> arrivals(const Topology& slice, const RouterLimits& router,
                                   const std::vector<Message>& messages) {
  Network network(slice, with(router));
  std::vector<Femtoseconds> at;
  network.on_delivery([&](const Message&, Delivery, Femtoseconds time) { at.push_back(time); });
  for (const auto& message : messages) network.send(message, 0);
  REQUIRE(network.run_until(kNever));
  return at;
}

Message random_message(std::mt19937& random, uint32_t chips, uint64_t tag) {
  Message message{static_cast<uint32_t>(random() % chips), static_cast<uint32_t>(random() % chips), random() % 6000};
  message.traffic_class = static_cast<uint8_t>(random() % kClasses);
  message.order = static_cast<uint8_t>(random() % 2);
  message.tag = tag;
  return message;
}

/// Packets that leave a router by one input while another one still does, under random messages at saturation.
unsigned overlaps(const RouterLimits& router, bool of_chips) {
  Network network(test::topology_of("v5e-4x4"), with(router));
  std::map<uint32_t, uint32_t> entered;             // input of each packet where it is: chip and port
  std::map<uint32_t, Femtoseconds> busy_until;      // of inputs
  std::map<uint32_t, Femtoseconds> last_of_source;  // chips as inputs
  unsigned count = 0;
  network.on_hop([&](const Hop& hop) {
    auto& busy = hop.first ? last_of_source[hop.chip] : busy_until[entered.at(hop.packet)];
    if (hop.first == of_chips && hop.from < busy) count++;
    busy = std::max(busy, hop.to);
    entered[hop.packet] = network.topology().neighbor(hop.chip, hop.port) * kPorts + opposite(hop.port);
  });
  std::mt19937 random(1);
  for (unsigned i = 0; i < 2000; i++) network.send(random_message(random, 16, i), 0);
  REQUIRE(network.run_until(kNever));
  return count;
}

}  // namespace

TEST_CASE("a crossbar passes one packet of an input at a time, an ideal router several") {
  CHECK(overlaps({}, false) > 0);
  CHECK(overlaps({.crossbar = true}, false) == 0);
}

TEST_CASE("a chip that sends by one input sends one packet at a time, else one by each of its links") {
  CHECK(overlaps({.crossbar = true}, true) > 0);
  CHECK(overlaps({.crossbar = true, .injection_queues = 2}, true) == 0);
  const std::vector<Message> two{{0, 1, kBlock}, {0, 4, kBlock}};
  const auto slice = test::topology_of("v5e-4x4");
  CHECK(arrivals(slice, {.crossbar = true}, two) == std::vector(2, kLatency + block_time()));
  CHECK(arrivals(slice, {.crossbar = true, .injection_queues = 1}, two) ==
        std::vector{kLatency + block_time(), kLatency + 2 * block_time()});
}

TEST_CASE("an ingress takes in one packet at a time, and none overtakes another of its channel") {
  const std::vector<Message> four{{1, 5, kBlock}, {4, 5, kBlock}, {6, 5, kBlock}, {9, 5, kBlock}};
  const auto slice = test::topology_of("v5e-4x4");
  CHECK(arrivals(slice, {}, four) == std::vector(4, kLatency + block_time()));
  std::vector<Femtoseconds> one_by_one;
  for (unsigned i = 1; i <= 4; i++) one_by_one.push_back(kLatency + i * block_time());
  CHECK(arrivals(slice, {.ingress = true}, four) == one_by_one);
}

TEST_CASE("a head waits before it asks, at each router and at its source") {
  const Topology line({4, 1, 1}, {false, false, false}, false);
  constexpr auto kDelay = 300 * kNanosecond;
  CHECK(arrivals(line, {.head_delay = kDelay}, {{0, 3, kBlock}}) ==
        std::vector{3 * (kLatency + kDelay) + block_time()});
  // the next packet of the queue is its head when the first one has left
  CHECK(arrivals(line, {.head_delay = kDelay}, {{0, 1, 2 * kBlock}}) ==
        std::vector{kLatency + 2 * (kDelay + block_time())});
  CHECK(arrivals(line, {.ingress = true, .head_delay = kDelay}, {{0, 1, kBlock}}) ==
        std::vector{kLatency + 2 * kDelay + block_time()});
}

TEST_CASE("a channel of a link rests between two packets, and another channel does not") {
  const Topology line({4, 1, 1}, {false, false, false}, false);
  constexpr auto kDelay = 300 * kNanosecond;
  const RouterLimits rests{.channel_delay = kDelay};
  CHECK(arrivals(line, rests, {{0, 1, 2 * kBlock}}) == std::vector{kLatency + 2 * block_time() + kDelay});
  CHECK(arrivals(line, rests, {{0, 1, kBlock, 0, 0}, {0, 1, kBlock, 0, 1}}) ==
        std::vector{kLatency + block_time(), kLatency + 2 * block_time()});
}

TEST_CASE("links that take what has waited longest serve queues by turns, whoever fills them") {
  const Topology line({4, 1, 1}, {false, false, false}, false);
  const auto shares = [&](bool first_come) {
    Network network(line, {.framing = false, .router = {.first_come = first_come}});
    std::map<uint32_t, unsigned> packets;
    network.on_delivery([&](const Message& message, Delivery, Femtoseconds) { packets[message.from]++; });
    for (uint32_t from = 0; from < 3; from++)
      for (unsigned i = 0; i < 4000; i++) network.send({from, 3, kBlock}, 0);
    network.run_until(kLatency + 4000 * block_time());
    return packets;
  };
  auto packets = shares(true);
  CHECK(packets[2] == Approx(2000).epsilon(0.02));
  CHECK(packets[0] == Approx(1000).epsilon(0.02));
  packets = shares(false);
  CHECK(packets[2] == Approx(4000.0 / 3).epsilon(0.1));
}

TEST_CASE("with all limits and small buffers every message arrives once, whatever dies and lives again") {
  const RouterLimits all{.crossbar = true,
                         .ingress = true,
                         .injection_queues = 2,
                         .head_delay = 50 * kNanosecond,
                         .channel_delay = 20 * kNanosecond,
                         .first_come = true};
  for (const auto* name : {"v5e-4x4", "v4-4x4x4", "v4-4x4x8_twisted", "v5e-1x16"})
    for (const auto datelines : {Datelines::kKept, Datelines::kAhead})
      for (unsigned seed = 1; seed <= 4; seed++) {
        INFO(name << ", seed " << seed);
        if (datelines == Datelines::kAhead && test::topology_of(name).twisted()) continue;
        auto options = with(all);
        options.buffer_packets = 2;
        options.datelines = datelines;
        Network network(test::topology_of(name), options);
        const auto chips = network.topology().chips();
        std::map<uint64_t, unsigned> delivered;
        unsigned lost = 0;
        bool stuck = false;
        network.on_stuck([&](const std::string&) { stuck = true; });
        network.on_delivery([&](const Message& message, Delivery how, Femtoseconds) {
          delivered[message.tag]++;
          lost += how != Delivery::kDone;
        });
        std::mt19937 random(seed);
        for (unsigned i = 0; i < 3000; i++) network.send(random_message(random, chips, i), 0);
        const bool faults = seed % 2 == 0;
        for (unsigned i = 0; i < 6 && faults; i++) {
          network.run_until((i + 1) * 3 * kMicrosecond);
          const auto chip = static_cast<uint32_t>(random() % chips);
          const unsigned port = random() % kPorts;
          if (network.topology().neighbor(chip, port) == kNoChip) continue;
          network.fail_link(chip, port);
          if (i % 2 == 0) network.revive_link(chip, port);
        }
        REQUIRE(network.run_until(kNever));
        CHECK_FALSE(stuck);
        CHECK(network.packets_in_flight() == 0);
        CHECK(network.audit().value_or("") == "");
        CHECK(delivered.size() == 3000);
        if (!faults) CHECK(lost == 0);
        for (const auto& [tag, times] : delivered) CHECK(times >= 1);
      }
}
