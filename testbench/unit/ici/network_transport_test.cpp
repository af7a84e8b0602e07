// What holds from end to end while links die and come back: order, once, no false report, a hop for all news, and an
// error in place of silence.
#include <catch2/catch.hpp>
#include <iostream>
#include <map>
#include <random>

#include "model/ici/network.hpp"
#include "model/ici/slice.hpp"
#include "testbench/unit/ici/named_slice.hpp"

using namespace weft::ici;
using Kind = LinkTrouble::Kind;

namespace {

constexpr Femtoseconds kHop = kMicrosecond;
constexpr unsigned kUp = port_of(0, true), kDown = port_of(0, false);

Topology line(unsigned chips) { return {{chips, 1, 1}, {false, false, false}, false}; }
Topology ring(unsigned chips) { return {{chips, 1, 1}, {true, false, false}, false}; }

struct Ending {
  Delivery how;
  Femtoseconds at;
  uint64_t bytes;
};

/// Endings by tag, in the order in which they were told.
struct Endings {
  explicit Endings(Network& network) {
    network.on_delivery([this](const Message& message, Delivery how, Femtoseconds at) {
      of[message.tag].push_back({how, at, message.bytes});
      order.push_back(message.tag);
    });
  }
  const Ending& only(uint64_t tag) {
    REQUIRE(of[tag].size() == 1);
    return of[tag].front();
  }
  std::map<uint64_t, std::vector<Ending>> of;
  std::vector<uint64_t> order;
};

Message message(uint32_t from, uint32_t to, uint64_t bytes, uint64_t tag = 0) {
  Message out{from, to, bytes};
  out.tag = tag;
  return out;
}

}  // namespace

TEST_CASE("three deaths in the middle of a flow put none of its 32,000 messages out of order") {
  const unsigned seed = 3;
  std::cout << "seed " << seed << "\n";
  Network network(test::topology_of("v5e-8x8"), {});
  Endings endings(network);
  std::mt19937 random(seed);
  for (unsigned i = 0; i < 32'000; i++) network.send(message(0, 27, random() % 3000, i), 0);
  for (const auto& [at, chip, port] :
       {std::tuple(20u, 1u, port_of(0, true)), {60u, 0u, port_of(0, true)}, {110u, 11u, port_of(1, true)}}) {
    network.run_until(at * kMicrosecond);
    network.fail_link(chip, port);
  }
  REQUIRE(network.run_until(kNever));
  REQUIRE(endings.order.size() == 32'000);
  CHECK(std::is_sorted(endings.order.begin(), endings.order.end()));
  CHECK(network.audit().value_or("fine") == "fine");
}

TEST_CASE("what was lost with a link is sent again: the message comes once, with all its bytes") {
  for (const Femtoseconds struck : {Femtoseconds{0}, kHop / 2, kHop, 3 * kHop, 5 * kHop}) {
    INFO("struck at " << microseconds(struck) << " us");
    Network network(test::topology_of("v5e-4x4"), {.buffer_packets = 2});
    Endings endings(network);
    network.send(message(0, 3, 100'000, 7), 0);
    network.run_until(struck);
    network.fail_link(1, kUp);
    network.run_until(struck + kHop / 2);
    network.fail_link(2, kUp);
    REQUIRE(network.run_until(kNever));
    CHECK(endings.only(7).how == Delivery::kDone);
    CHECK(endings.only(7).bytes == 100'000);
    CHECK(network.packets_in_flight() == 0);
    CHECK(network.messages_under_way() == 0);
    CHECK(network.audit().value_or("fine") == "fine");
  }
}

TEST_CASE("a packet that was on a link when it died does not arrive because the link is back before it") {
  Network network(line(2), {});
  Endings endings(network);
  network.send(message(0, 1, 64, 1), 0);
  network.run_until(kHop / 4);
  network.fail_link(0, kUp);
  network.revive_link(0, kUp);
  REQUIRE(network.run_until(kNever));
  CHECK(endings.only(1).how == Delivery::kDone);
  CHECK(endings.only(1).at > 3 * kHop);
  CHECK(network.link(0, kUp).packets == 2);
}

TEST_CASE("news of a dead link reach a chip a hop later for each hop") {
  // a column beside the dead link, and chips that send over it from one, two and three hops away
  for (const uint32_t far : {1u, 2u, 3u}) {
    const auto slice = test::topology_of("v5e-8x8");
    const uint32_t from = 3 - far, to = 5;  // along x, over the link from 3 to 4
    Network network(slice, {});
    std::vector<std::pair<Femtoseconds, unsigned>> ports;  // that packets set out by
    network.on_hop([&](const Hop& hop) {
      if (hop.chip == from && hop.first) ports.emplace_back(hop.from, hop.port);
    });
    for (unsigned i = 0; i < 2000; i++) network.send(message(from, to, 4096), 0);
    const Femtoseconds struck = 10 * kHop;
    network.run_until(struck);
    network.fail_link(3, kUp);
    REQUIRE(network.run_until(kNever));
    Femtoseconds last_old = 0, first_new = kNever;
    for (const auto& [at, port] : ports)
      if (port == kUp && first_new == kNever)
        last_old = at;
      else if (port != kUp)
        first_new = std::min(first_new, at);
    INFO(far << " hops");
    CHECK(last_old <= struck + far * kHop);
    CHECK(last_old + kHop / 5 > struck + far * kHop);  // a packet takes 0.1 us
    CHECK((first_new == kNever || first_new > struck + far * kHop));
  }
}

TEST_CASE("the far end of a link that a packet kills hears of it a hop later") {
  Network network(line(3), {});
  network.set_trouble([armed = true](uint32_t chip, unsigned port) mutable {
    return chip == 0 && port == kUp && std::exchange(armed, false) ? LinkTrouble{.kind = Kind::kDown} : LinkTrouble{};
  });
  Endings endings(network);
  network.send(message(0, 1, 64, 1), 0);
  network.send(message(1, 0, 64, 2), kHop / 2);
  network.run_until(kHop / 2);
  CHECK(network.state(0, kUp) == LinkState::kDown);
  CHECK(network.state(1, kDown) == LinkState::kUp);
  network.run_until(kHop);
  CHECK(network.state(1, kDown) == LinkState::kDown);
  REQUIRE(network.run_until(kNever));
  CHECK(endings.only(1).how == Delivery::kUnreachable);
  CHECK(endings.only(2).how == Delivery::kUnreachable);
}

TEST_CASE("an end that is dead for good refuses a far end that comes back, and packets go the other way round") {
  // The link from 0 to 1 flaps at one end and is killed at the other, and neither has heard of the other.
  Network network(ring(4), {});
  network.set_trouble([left = 2](uint32_t chip, unsigned port) mutable {
    if (left == 0 || !((chip == 0 && port == kUp) || (chip == 1 && port == kDown))) return LinkTrouble{};
    left--;
    return chip == 0 ? LinkTrouble{.kind = Kind::kFlap, .time = kHop / 4} : LinkTrouble{.kind = Kind::kDown};
  });
  Endings endings(network);
  network.send(message(0, 1, 64, 1), 0);
  network.send(message(1, 0, 64, 2), kHop / 2);
  for (unsigned i = 0; i < 20; i++) network.send(message(0, 1, 64, 10 + i), 4 * kHop + i * kHop / 2);
  REQUIRE(network.run_until(kNever));
  for (const auto& [tag, told] : endings.of) {
    INFO("message " << tag);
    CHECK((told.size() == 1 && told.front().how == Delivery::kDone));
  }
  CHECK(endings.of.size() == 22);
  CHECK(network.state(0, kUp) == LinkState::kDown);
  CHECK(network.state(1, kDown) == LinkState::kDown);
  CHECK(network.audit().value_or("fine") == "fine");
}

TEST_CASE("nothing is reported as unreachable while news of a way may be under way") {
  // Two links of a ring die one after the other, and the first is back before the second dies: there is always a way.
  // Chip 0 hears of the second death first.
  Network network(ring(12), {});
  Endings endings(network);
  network.fail_link(5, kUp);
  network.run_until(40 * kHop);
  network.send(message(0, 1, 64, 0), 40 * kHop);  // time goes on
  network.run_until(50 * kHop);
  network.revive_link(5, kUp);
  network.fail_link(0, kDown);
  network.send(message(0, 8, 4096, 1), network.now());
  REQUIRE(network.run_until(kNever));
  CHECK(endings.only(1).how == Delivery::kDone);
}

TEST_CASE("a message to a chip that is cut off is reported once, and the next one arrives when the chip is back") {
  Network network(line(4), {});
  Endings endings(network);
  network.send(message(0, 3, 200'000, 1), 0);
  network.send(message(0, 3, 100, 2), 0);
  network.run_until(6 * kHop);
  network.fail_link(2, kUp);
  REQUIRE(network.run_until(kNever));
  CHECK(endings.only(1).how == Delivery::kUnreachable);
  CHECK(endings.only(2).how == Delivery::kUnreachable);
  CHECK(endings.only(1).at <= 30 * kHop);
  network.revive_link(3, kDown);
  network.run_until(network.now() + 10 * kHop);
  network.send(message(0, 3, 300, 3), network.now());
  REQUIRE(network.run_until(kNever));
  CHECK(endings.only(3).how == Delivery::kDone);
  CHECK(endings.only(3).bytes == 300);
  CHECK(endings.of.size() == 3);
  CHECK(network.audit().value_or("fine") == "fine");
}

TEST_CASE("a chip whose own links are cut reports what it wanted to send") {
  Network network(test::topology_of("nano-2x2"), {});
  Endings endings(network);
  network.fail_chip(3);
  network.send(message(3, 0, 64, 1), 0);
  network.send(message(0, 3, 64, 2), 0);
  network.send(message(0, 1, 64, 3), 0);
  network.send(message(3, 3, 64, 4), 0);
  REQUIRE(network.run_until(kNever));
  CHECK(endings.only(1).how == Delivery::kUnreachable);
  CHECK(endings.only(2).how == Delivery::kUnreachable);
  CHECK(endings.only(3).how == Delivery::kDone);
  CHECK(endings.only(4).how == Delivery::kDone);
}

TEST_CASE("packets in a circle of full buffers are an error that names the circle, and what comes after works") {
  Network network(ring(6), {.buffer_packets = 2, .datelines = Datelines::kIgnored});
  Endings endings(network);
  std::string report;
  network.on_stuck([&](const std::string& text) { report = text; });
  for (uint32_t chip = 0; chip < 6; chip++)
    for (unsigned i = 0; i < 40; i++) network.send(message(chip, (chip + 2) % 6, 4096, chip * 100 + i), 0);
  REQUIRE(network.run_until(kNever));
  INFO(report);
  CHECK_THAT(report, Catch::Contains("buffers wait for each other in a circle: chip ") &&
                         Catch::Contains("chip 0 +x channel 0 (2 packets), ") && Catch::Contains("and round again"));
  unsigned stuck = 0;
  for (const auto& [tag, told] : endings.of) {
    CHECK(told.size() == 1);
    stuck += told.front().how == Delivery::kStuck ? 1 : 0;
  }
  CHECK(endings.of.size() == 240);
  CHECK(stuck > 0);
  CHECK(network.packets_in_flight() == 0);
  CHECK(network.audit().value_or("fine") == "fine");
  network.send(message(0, 2, 10'000, 1000), network.now());
  REQUIRE(network.run_until(kNever));
  CHECK(endings.only(1000).how == Delivery::kDone);
  CHECK(endings.only(1000).bytes == 10'000);
}

TEST_CASE("with its datelines the same ring is not stuck") {
  Network network(ring(6), {.buffer_packets = 2});
  Endings endings(network);
  for (uint32_t chip = 0; chip < 6; chip++)
    for (unsigned i = 0; i < 40; i++) network.send(message(chip, (chip + 2) % 6, 4096, chip * 100 + i), 0);
  REQUIRE(network.run_until(kNever));
  for (const auto& [tag, told] : endings.of) CHECK(told.front().how == Delivery::kDone);
  CHECK(endings.of.size() == 240);
}

TEST_CASE("sixty deaths under load on 256 chips leave nothing stuck, in small buffers and in large ones") {
  for (const unsigned seed : {1u, 2u, 3u}) {
    for (const uint32_t packets : {2u, 0u}) {
      INFO("seed " << seed << ", buffers of " << packets << " packets");
      const auto slice = test::topology_of("v5e-16x16");
      Network network(slice, {.buffer_packets = packets});
      Endings endings(network);
      network.on_stuck([](const std::string& text) { FAIL(text); });
      std::mt19937 random(seed);
      for (unsigned i = 0; i < 256 * 60; i++) {
        auto sent = message(i % 256, random() % 256, 4096, i);
        sent.order = random() % 2;
        network.send(sent, 0);
      }
      for (unsigned death = 0; death < 60; death++) {
        network.run_until((2 + death) * kMicrosecond);
        network.fail_link(random() % 256, random() % 4);
      }
      REQUIRE(network.run_until(kNever));
      CHECK(endings.of.size() == 256 * 60);
      CHECK(network.packets_in_flight() == 0);
      CHECK(network.audit().value_or("fine") == "fine");
    }
  }
}
