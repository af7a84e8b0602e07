// Links between cubes that take longer: which they are, and that packets, flows and closed forms agree on them.
#include "model/ici/optical_links.hpp"

#include <catch2/catch.hpp>

#include "model/ici/closed_forms.hpp"
#include "model/ici/collective.hpp"
#include "model/ici/flow_network.hpp"
#include "model/ici/multislice.hpp"
#include "model/ici/network.hpp"
#include "model/ici/slice.hpp"

using namespace weft::ici;
using Catch::Contains;

namespace {

Slice slice_of(const char* name) { return std::get<Slice>(parse_slice(name)); }

OpticalLinks optical_of(const Slice& slice, double us) { return std::get<OpticalLinks>(slice.optical_links(us)); }

std::string refusal(const char* name, double us) { return std::get<std::string>(slice_of(name).optical_links(us)); }

/// Of a collective on a network of either grain.
template <typename Net, typename Options>
double collective_us(const Topology& topology, const Options& links, const CollectiveOptions& options) {
  Net network(topology, links);
  Collective collective(topology, options, [&](const Message& message) { network.send(message, network.now()); });
  network.on_delivery([&](const Message& message, auto...) { collective.delivered(message); });
  collective.start();
  REQUIRE(network.run_until(kNever));
  REQUIRE(collective.finished());
  return microseconds(network.now());
}

/// When a message arrives that is alone.
template <typename Net, typename Options>
double message_us(const Topology& topology, const Options& options, const Message& message) {
  Net network(topology, options);
  double at = -1;
  network.on_delivery([&](const Message&, auto...) { at = microseconds(network.now()); });
  network.send(message, 0);
  REQUIRE(network.run_until(kNever));
  return at;
}

}  // namespace

TEST_CASE("links that leave a cube are optical, the ends of rings too") {
  const auto slice = slice_of("v4-4x4x8");
  const auto topology = slice.topology();
  const auto links = optical_of(slice, 3);
  unsigned optical = 0;
  for (uint32_t chip = 0; chip < topology.chips(); chip++)
    for (unsigned port = 0; port < kPorts; port++) {
      const bool is = links.is_optical(topology, chip, port);
      optical += is ? 1 : 0;
      const auto cube = [&](uint32_t of) { return topology.coordinates(of)[2] / 4; };
      const auto to = topology.neighbor(chip, port);
      if (cube(chip) != cube(to)) CHECK(is);
      CHECK(is == links.is_optical(topology, to, opposite(port)));
    }
  CHECK(optical == 2 * 6 * 16);  // of two cubes, each of six faces
  CHECK(links.most_among(0) == 0);
  CHECK(links.most_among(1) == 1);
  CHECK(links.most_among(4) == 1);
  CHECK(links.most_among(5) == 2);
  CHECK_FALSE(OpticalLinks{}.is_optical(topology, 3, 0));
  CHECK(OpticalLinks{}.most_among(9) == 0);
}

TEST_CASE("a message takes the latency of each of its links") {
  const auto slice = slice_of("v4-8x8x8");
  const auto topology = slice.topology();
  const auto links = optical_of(slice, 5);
  const struct {
    Coordinates from, to;
    double us;
  } cases[] = {{{0, 0, 0}, {3, 0, 0}, 3}, {{3, 0, 0}, {4, 0, 0}, 5},      {{1, 0, 0}, {5, 0, 0}, 3 + 5},
               {{0, 0, 0}, {7, 0, 0}, 5}, {{2, 2, 2}, {4, 5, 2}, 12 + 1}, {{0, 0, 0}, {0, 0, 0}, 0}};
  for (const auto& c : cases) {
    const Message message{topology.chip(c.from), topology.chip(c.to), 0};
    INFO(message.from << " to " << message.to);
    CHECK(microseconds(links.way_time(topology, message.from, message.to, kMicrosecond)) == Approx(c.us));
    CHECK(message_us<FlowNetwork>(topology, FlowNetworkOptions{.optical = links, .framing = false}, message) ==
          Approx(c.us).margin(1e-9));
    CHECK(message_us<Network>(topology, NetworkOptions{.optical = links, .framing = false}, message) ==
          Approx(c.us).margin(1e-9));
  }
}

TEST_CASE("packets and flows of a collective take its closed form whatever optical links take") {
  for (const char* name : {"v4-4x4x4", "v4-4x4x8", "v5p-8x8x8", "v4-4x4x16"})
    for (const double us : {1.0, 3.0, 10.0})
      for (const unsigned axes : {4u, 7u}) {
        const auto slice = slice_of(name);
        const auto topology = slice.topology();
        const auto links = optical_of(slice, us);
        const uint64_t rate = slice.generation->link_bytes_per_second, bytes = 16'777'216;
        INFO(name << ", " << us << " us, axes " << axes);
        const CollectiveOptions gather{CollectiveKind::kAllGather, bytes, axes, true};
        const double exact = all_gather_us(topology, bytes, axes,
                                           {.bytes_per_second = static_cast<double>(rate), .optical = links}, true);
        CHECK(collective_us<FlowNetwork>(
                  topology, FlowNetworkOptions{.link_bytes_per_second = rate, .optical = links, .framing = false},
                  gather) == Approx(exact).epsilon(1e-3));
        CHECK(collective_us<Network>(topology,
                                     NetworkOptions{.link_bytes_per_second = rate, .optical = links, .framing = false},
                                     gather) == Approx(exact).epsilon(2e-2));
      }
}

TEST_CASE("slices that hosts join have optical links of their own") {
  const auto slice = slice_of("v4-4x4x8");
  for (const auto grain : {Grain::kFlows, Grain::kPackets}) {
    MultisliceOptions what{.slices = 2,
                           .bytes = 8 << 20,
                           .framing = false,
                           .grain = grain,
                           .chips_per_host = 4,
                           .host_bytes_per_second = 25'000'000'000};
    const double before = run_multislice(slice, what).us;
    what.optical = optical_of(slice, 8);
    const double exact = multislice_us(slice, what);
    CHECK(run_multislice(slice, what).us == Approx(exact).epsilon(grain == Grain::kFlows ? 1e-3 : 2e-2));
    CHECK(exact > before + 7);
  }
}

TEST_CASE("slices without cubes have no optical links and latencies have limits") {
  CHECK_THAT(refusal("v5e-4x4", 2), Contains("slice v5e-4x4 is not made of cubes of 4x4x4 chips"));
  CHECK_THAT(refusal("v4-2x2x4", 2), Contains("it has no optical links"));
  for (const double us : {0.0, 0.999, 1000.5, -1.0})
    CHECK_THAT(refusal("v4-4x4x4", us), Contains("1 us, as other links do, to 1000 us"));
  CHECK(optical_of(slice_of("v5p-8x8x8"), 1000).latency == 1000 * kMicrosecond);
}
