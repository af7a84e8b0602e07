// Links that die, come back, go dark in one direction, flip bits or starve, in the middle of traffic.
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "model/ici/link_end.hpp"
#include "model/ici/network.hpp"
#include "model/ici/slice.hpp"
#include "testbench/unit/ici/named_slice.hpp"

using namespace weft::ici;
using Kind = LinkTrouble::Kind;

namespace {

/// From the nth packet that leaves by a link on, `times` packets in a row have this trouble.
Network::TroubleSource trouble_at(uint32_t chip, unsigned port, unsigned nth, const LinkTrouble& trouble,
                                  unsigned times = 1) {
  return [=, seen = 0u](uint32_t from, unsigned by) mutable {
    if (from != chip || by != port || ++seen < nth || seen >= nth + times) return LinkTrouble{};
    return trouble;
  };
}

struct Outcome {
  unsigned lost = 0, twice = 0, unreachable = 0;
  Femtoseconds last = 0;
};

/// Each chip sends `each` messages of up to three packets to chips drawn from a seed, all at 0, until nothing is left.
Outcome storm(Network& network, unsigned each, unsigned seed) {
  std::map<uint64_t, unsigned> delivered;
  Outcome out;
  network.on_delivery([&](const Message& message, Delivery how, Femtoseconds now) {
    delivered[message.tag]++;
    out.unreachable += how == Delivery::kUnreachable ? 1 : 0;
    out.last = now;
  });
  std::mt19937 random(seed);
  const uint32_t chips = network.topology().chips();
  for (unsigned i = 0; i < chips * each; i++) {
    Message message{i % chips, static_cast<uint32_t>(random() % chips), random() % 12000};
    message.order = random() % 2;
    message.tag = i;
    network.send(message, 0);
  }
  REQUIRE(network.run_until(kNever));
  REQUIRE(network.packets_in_flight() == 0);
  network.on_delivery(nullptr);
  out.lost = chips * each - static_cast<unsigned>(delivered.size());
  for (const auto& [tag, times] : delivered) out.twice += times - 1;
  return out;
}

}  // namespace

TEST_CASE("a link that flaps in saturated traffic costs no message, and carries packets again afterwards") {
  for (const unsigned nth : {1u, 7u, 40u}) {
    INFO("packet " << nth);
    Network network(test::topology_of("v5e-4x4"), {});
    const unsigned port = port_of(0, true);
    network.set_trouble(trouble_at(5, port, nth, {.kind = Kind::kFlap, .time = 20 * kMicrosecond}));
    const Outcome out = storm(network, 60, nth);
    CHECK((out.lost == 0 && out.twice == 0 && out.unreachable == 0));
    CHECK(network.state(5, port) == LinkState::kUp);
    CHECK(network.state(6, opposite(port)) == LinkState::kUp);
    CHECK(network.link(5, port).downs == 1);
    const uint64_t before = network.link(5, port).packets;
    network.send({5, 6, 4096}, network.now());
    REQUIRE(network.run_until(kNever));
    CHECK(network.link(5, port).packets == before + 1);
  }
}

TEST_CASE("a link that flaps again and again loses none of its credits") {
  Network network(test::topology_of("nano-2x2"), {.link_bytes_per_second = 2'000'000'000});
  network.set_trouble([count = 0u](uint32_t chip, unsigned port) mutable {
    return chip == 0 && port == 0 && ++count % 5 == 0 ? LinkTrouble{.kind = Kind::kFlap, .time = 3 * kMicrosecond}
                                                      : LinkTrouble{};
  });
  const Outcome out = storm(network, 500, 3);
  CHECK((out.lost == 0 && out.twice == 0 && out.unreachable == 0));
  CHECK(network.link(0, 0).downs > 50);
}

TEST_CASE("a flap is seen while it lasts, and a link that dies meanwhile does not come back") {
  Network network(test::topology_of("v5e-4x4"), {});
  network.set_trouble(trouble_at(0, 0, 1, {.kind = Kind::kFlap, .time = kMillisecond}));
  network.send({0, 1, 64}, 0);
  network.run_until(100 * kMicrosecond);
  CHECK(network.state(0, 0) == LinkState::kRetraining);
  network.fail_link(1, 1);
  CHECK(network.state(0, 0) == LinkState::kDown);
  REQUIRE(network.run_until(kNever));
  CHECK(network.state(0, 0) == LinkState::kDown);
}

TEST_CASE("a link that is dark in one direction retrains until its limit, then packets go round it") {
  constexpr Femtoseconds kGiveUp = LinkEndOptions{}.give_up_time();
  Network network(test::topology_of("v5e-4x4"), {});
  network.set_trouble(trouble_at(5, 0, 10, {.kind = Kind::kDark}));
  network.on_delivery([](const Message&, Delivery, Femtoseconds) {});
  for (unsigned i = 0; i < 20; i++) network.send({5, 6, 4096}, 0);
  network.run_until(kGiveUp / 2);
  CHECK(network.state(5, 0) == LinkState::kRetraining);
  CHECK(network.state(6, 1) == LinkState::kRetraining);
  CHECK(network.packets_in_flight() != 0);
  REQUIRE(network.run_until(kNever));
  CHECK(network.state(6, 1) == LinkState::kDown);
  CHECK(network.now() > kGiveUp);
  CHECK(network.packets_in_flight() == 0);

  Network again(test::topology_of("v5e-4x4"), {});
  again.set_trouble(trouble_at(5, 0, 10, {.kind = Kind::kDark}));
  const Outcome out = storm(again, 60, 5);
  CHECK((out.lost == 0 && out.twice == 0 && out.unreachable == 0));
}

TEST_CASE("bit errors of one direction are counted there and nowhere else, and cost only time") {
  Network clean(test::topology_of("v5e-4x4"), {}), noisy(test::topology_of("v5e-4x4"), {});
  noisy.set_trouble(trouble_at(5, 0, 1, {.bit_error_rate = 1e-5}, ~0u / 2));
  const Outcome without = storm(clean, 60, 8), with = storm(noisy, 60, 8);
  CHECK((with.lost == 0 && with.twice == 0));
  CHECK(with.last > without.last);
  for (uint32_t chip = 0; chip < 16; chip++)
    for (unsigned port = 0; port < kPorts; port++)
      CHECK((noisy.link(chip, port).frame_errors > 0) == (chip == 5 && port == 0));
  CHECK(noisy.link(5, 0).replay > 0);
}

TEST_CASE("credits that come back late slow a link down and block nothing for ever") {
  Network clean(test::topology_of("nano-2x2"), {}), starved(test::topology_of("nano-2x2"), {});
  starved.set_trouble([](uint32_t, unsigned) { return LinkTrouble{.credit_delay_ns = 100'000}; });
  const Outcome without = storm(clean, 200, 2), with = storm(starved, 200, 2);
  CHECK((with.lost == 0 && with.twice == 0));
  CHECK(with.last > 3 * without.last);
}

TEST_CASE("a chip that is cut off in the middle of traffic blocks nobody: links that led to it stay at full rate") {
  Network network(test::topology_of("nano-2x2"), {.link_bytes_per_second = 2'000'000'000});
  network.set_trouble(trouble_at(3, 1, 2, {.kind = Kind::kChipCut}));
  const Outcome out = storm(network, 300, 4);
  CHECK((out.lost == 0 && out.twice == 0));
  CHECK(out.unreachable > 0);
  CHECK(network.state(1, 2) == LinkState::kDown);
  // packets for the lost chip that stood in a buffer of chip 1 have given it back: from 0 to 1 nothing waits
  const Femtoseconds begin = network.now();
  Femtoseconds end = 0;
  network.on_delivery([&](const Message&, Delivery how, Femtoseconds now) {
    CHECK(how == Delivery::kDone);
    end = now;
  });
  for (unsigned i = 0; i < 50; i++) network.send({0, 1, 4096}, begin);
  REQUIRE(network.run_until(kNever));
  const Femtoseconds wire = transfer_time(50 * Network::wire_bytes(4096), 2'000'000'000);
  CHECK(end - begin < wire + wire / 50 + kMicrosecond);
}

TEST_CASE("every single link of a mesh may die at any of its first packets, and no message is lost") {
  const Topology mesh = test::topology_of("v5e-4x4");
  unsigned tried = 0;
  for (uint32_t chip = 0; chip < mesh.chips(); chip++)
    for (unsigned port = 0; port < kPorts; port++) {
      if (mesh.neighbor(chip, port) == kNoChip) continue;
      INFO("link " << chip << " " << port_name(port));
      Network network(mesh, {});
      network.set_trouble(trouble_at(chip, port, 1 + tried++ % 9, {.kind = Kind::kDown}));
      const Outcome out = storm(network, 20, tried);
      CHECK((out.lost == 0 && out.twice == 0 && out.unreachable == 0));
      CHECK(network.state(chip, port) == LinkState::kDown);
    }
  CHECK(tried == 48);
}

TEST_CASE("a cube whose chips all died is replaced: the same coordinates, every way as before") {
  const auto slice = std::get<Slice>(parse_slice("v4-4x4x8"));
  REQUIRE(slice.cubes() == 2);
  const auto cube = slice.chips_of_cube(1);
  Network network(slice.topology(), {});
  std::map<uint64_t, Delivery> ended;
  std::map<uint64_t, Femtoseconds> at;
  network.on_delivery([&](const Message& message, Delivery how, Femtoseconds now) {
    ended[message.tag] = how;
    at[message.tag] = now;
  });
  uint64_t tag = 0;
  const auto send_all = [&] {  // from each chip to each of the cube, and within what is left
    const auto begin = network.now();
    const auto first = tag;
    for (uint32_t from = 0; from < 128; from += 3)
      for (uint32_t to = 0; to < 128; to += 5)
        if (from != to) network.send({from, to, 4096, 0, 0, 0, tag++}, begin);
    REQUIRE(network.run_until(kNever));
    return std::pair(first, begin);
  };
  const auto [whole, begin] = send_all();
  for (const auto chip : cube) network.fail_chip(chip);
  const auto [broken, ignored] = send_all();
  unsigned unreachable = 0;
  for (auto i = broken; i < tag; i++) unreachable += ended.at(i) == Delivery::kUnreachable;
  CHECK(unreachable > 500);
  for (const auto chip : cube) CHECK(network.state(chip, 0) == LinkState::kDown);
  network.replace_chips(cube);
  for (const auto chip : cube)
    for (unsigned port = 0; port < kPorts; port++) CHECK(network.state(chip, port) == LinkState::kUp);
  REQUIRE(network.run_until(kNever));  // news
  const auto [again, later] = send_all();
  for (auto i = again; i < tag; i++) {
    REQUIRE(ended.at(i) == Delivery::kDone);
    REQUIRE(at.at(i) - later == at.at(i - again + whole) - begin);
  }
  CHECK(network.audit().value_or("") == "");
}
