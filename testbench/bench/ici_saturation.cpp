/// A slice's network under more than it can carry, by the packet model with the routes that chips' DMA takes: how near
/// it comes to the bound of its busiest link (load: packets over it, if each chip sends each other one), how evenly it
/// serves its sources, and what a control message waits for.
///
///   ici_saturation load|all-to-all|uniform|parking-lot|control [--slice NAME] [--chips N] [--bytes N] [--packets N]
///                  [--outstanding N] [--offered X --cycles N] [--buffers N] [--flits N] [--hop-cycles N] [--x-first N]
///                  [--datelines-ahead] [--optical-us L]
///                  [--crossbar] [--ingress] [--injection-queues N] [--head-cycles N] [--channel-cycles N]
///                  [--first-come] [--seed S] [--framing] [--json]
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <vector>

#include "model/ici/network.hpp"
#include "model/ici/slice.hpp"
#include "optical_option.hpp"

using namespace weft::ici;
using Json = nlohmann::ordered_json;

namespace {

constexpr uint64_t kBlock = weft::spec::kIciPacketPayloadBytes;

/// Orders that differ in the place of z alone: one way on a slice of two axes, in channels of their own.
constexpr std::array<uint8_t, 3> kXFirst{0, 2, 3};

struct Options {
  std::string slice = "v4-4x4x4";
  unsigned chips = 4;  // in a row
  uint64_t bytes = 48 << 10;
  uint64_t packets = 4000;  // of each chip
  unsigned outstanding = 256;
  double offered = 0;  // flits a chip and cycle; 0: `outstanding` packets are always on their way
  unsigned cycles = 20'000;
  unsigned buffers = 0;     // packets of a channel; 0: what keeps a link busy
  unsigned flits = 1;       // of a packet, one a cycle
  unsigned hop_cycles = 0;  // latency of a hop; 0: a chip's
  unsigned head_cycles = 0, channel_cycles = 0;
  unsigned x_first = 0;  // pairs of channels; 0: routes of DMA
  bool datelines_ahead = false;
  double optical_us = 0;
  OpticalLinks optical;  // of the slice
  RouterLimits router;
  uint64_t seed = 1;
  bool framing = false;
  bool json = false;
};

/// Sends as a chip's DMA does: in blocks, each by its own route.
class Blocks {
 public:
  explicit Blocks(Network& network, unsigned x_first = 0) : network_(network), x_first_(x_first) {}

  void send(uint32_t from, uint32_t to, uint64_t bytes, Femtoseconds at, uint8_t traffic_class = 0) {
    const auto& topology = network_.topology();
    const auto block = sent_[uint64_t{from} * topology.chips() + to]++;
    auto route = balanced_route(topology, from, to, block);
    if (x_first_ != 0) route.order = kXFirst[(from + to + block) % x_first_];
    network_.send({from, to, bytes, traffic_class, route.order, route.way, at}, at);
  }

 private:
  Network& network_;
  const unsigned x_first_;
  std::map<uint64_t, uint32_t> sent_;  // blocks, by pair
};

/// A flit's time on a link.
Femtoseconds cycle(const Options& options, uint64_t link_bytes_per_second) {
  return transfer_time(kBlock, link_bytes_per_second) / options.flits;
}

NetworkOptions network_options(const Options& options, uint64_t link_bytes_per_second) {
  NetworkOptions out;
  out.link_bytes_per_second = link_bytes_per_second;
  out.framing = options.framing;
  out.seed = options.seed;
  out.buffer_packets = options.buffers;
  const auto one = cycle(options, link_bytes_per_second);
  if (options.hop_cycles != 0) out.hop_latency = options.hop_cycles * one;
  if (options.datelines_ahead) out.datelines = Datelines::kAhead;
  out.optical = options.optical;
  out.router = options.router;
  out.router.head_delay = options.head_cycles * one;
  out.router.channel_delay = options.channel_cycles * one;
  return out;
}

unsigned diameter(const Topology& topology) {
  unsigned farthest = 0;
  for (uint32_t a = 0; a < topology.chips(); a++)
    for (uint32_t b = 0; b < topology.chips(); b++) farthest = std::max(farthest, topology.distance(a, b));
  return farthest;
}

/// Packets that cross the busiest link if every chip sends one to every other one, by all of a pair's routes alike.
double largest_load(const Topology& topology) {
  std::vector<double> load(size_t{topology.chips()} * kPorts);
  for (uint32_t from = 0; from < topology.chips(); from++)
    for (uint32_t to = 0; to < topology.chips(); to++) {
      if (from == to) continue;
      const auto blocks = topology.ways(from, to) * kOrders;  // then routes come round
      for (uint32_t block = 0; block < blocks; block++) {
        const auto route = balanced_route(topology, from, to, block);
        auto left = dimension_order(topology, from, to, route.order, route.way);
        auto at = from;
        for (auto port = left.port(); port != kPorts; port = left.port()) {
          load[at * kPorts + port] += 1.0 / blocks;
          left.take(port);
          at = topology.neighbor(at, port);
        }
      }
    }
  return *std::ranges::max_element(load);
}

Json shares(const std::vector<uint64_t>& bytes) {
  const auto [least, most] = std::ranges::minmax(bytes);
  return {{"least_bytes", least},
          {"most_bytes", most},
          {"most_over_least", static_cast<double>(most) / static_cast<double>(std::max<uint64_t>(1, least))}};
}

/// Every chip sends so many bytes to every other one: a block to each, in an order of its own, then the next.
Json all_to_all(const Options& options, const Slice& slice) {
  Network network(slice.topology(), network_options(options, slice.generation->link_bytes_per_second));
  const auto& topology = network.topology();
  Blocks blocks(network);
  std::mt19937_64 random(options.seed);
  uint64_t arrived = 0;
  Femtoseconds last = 0;
  network.on_delivery([&](const Message& message, Delivery, Femtoseconds now) {
    arrived += message.bytes;
    last = now;
  });
  for (uint32_t from = 0; from < topology.chips(); from++) {
    std::vector<uint32_t> others;
    for (uint32_t step = 1; step < topology.chips(); step++) others.push_back((from + step) % topology.chips());
    std::ranges::shuffle(others, random);
    for (uint64_t sent = 0; sent < options.bytes; sent += kBlock)
      for (const auto to : others) blocks.send(from, to, std::min(kBlock, options.bytes - sent), 0);
  }
  network.run_until(kNever);
  const auto load = largest_load(topology);
  const auto bound_us = microseconds(transfer_time(static_cast<uint64_t>(load * static_cast<double>(options.bytes)),
                                                   slice.generation->link_bytes_per_second));
  const auto hops = diameter(topology);
  const auto us = microseconds(last);
  return {{"arrived_bytes", arrived},
          {"sent_bytes", uint64_t{topology.chips()} * (topology.chips() - 1) * options.bytes},
          {"us", us},
          {"longest_way_hops", hops},
          {"largest_load", load},
          {"link_us", bound_us},
          {"share", bound_us / us}};
}

/// In each cycle each chip sends a packet with such a probability that it offers so many flits a cycle, to a chip drawn
/// at random, and keeps for later what the network does not take. What arrives in the second half of the run counts.
Json offered(const Options& options, const Slice& slice) {
  Network network(slice.topology(), network_options(options, slice.generation->link_bytes_per_second));
  const auto chips = network.topology().chips();
  const auto one = cycle(options, slice.generation->link_bytes_per_second);
  Blocks blocks(network, options.x_first);
  std::mt19937_64 random(options.seed);
  const auto sends = static_cast<uint64_t>(options.offered / options.flits * 0x1p64);
  uint64_t sent = 0, arrived = 0;
  double cycles_under_way = 0;
  network.on_delivery([&](const Message& message, Delivery, Femtoseconds now) {
    if (now < options.cycles / 2 * one) return;
    arrived++;
    cycles_under_way += static_cast<double>(now - message.tag) / static_cast<double>(one);
  });
  for (unsigned at = 0; at < options.cycles; at++) {
    for (uint32_t from = 0; from < chips; from++) {
      if (random() >= sends) continue;
      const auto to = static_cast<uint32_t>(random() % (chips - 1));
      blocks.send(from, to + (to >= from ? 1 : 0), kBlock, at * one);
      sent++;
    }
    network.run_until((at + 1) * one - 1);
  }
  const auto flits_a_cycle = [&](uint64_t packets, unsigned cycles) {
    return static_cast<double>(packets) * options.flits / chips / cycles;
  };
  return {{"offered", flits_a_cycle(sent, options.cycles)},
          {"accepted", flits_a_cycle(arrived, options.cycles - options.cycles / 2)},
          {"cycles_a_packet", cycles_under_way / static_cast<double>(std::max<uint64_t>(1, arrived))}};
}

/// Each chip keeps so many blocks on their way to chips drawn at random. What arrives in the second half of the run
/// counts.
Json uniform(const Options& options, const Slice& slice) {
  Network network(slice.topology(), network_options(options, slice.generation->link_bytes_per_second));
  const auto& topology = network.topology();
  const auto chips = topology.chips();
  Blocks blocks(network, options.x_first);
  std::mt19937_64 random(options.seed);
  const auto send = [&](uint32_t from, Femtoseconds at) {
    auto to = static_cast<uint32_t>(random() % (chips - 1));
    blocks.send(from, to + (to >= from ? 1 : 0), kBlock, at);
  };
  const uint64_t all = options.packets * chips;
  uint64_t arrived = 0;
  Femtoseconds half = 0;
  std::vector<uint64_t> of_source(chips);
  network.on_delivery([&](const Message& message, Delivery, Femtoseconds now) {
    arrived++;
    if (arrived == all / 2) half = now;
    if (arrived > all / 2 && arrived <= all) of_source[message.from] += message.bytes;
    send(message.from, now);
  });
  for (unsigned i = 0; i < options.outstanding; i++)
    for (uint32_t chip = 0; chip < chips; chip++) send(chip, 0);
  while (arrived < all) network.run_until(network.next_event());
  const auto load = largest_load(topology);
  const double bound = static_cast<double>(slice.generation->link_bytes_per_second) * (chips - 1) / load;
  const auto sum = std::accumulate(of_source.begin(), of_source.end(), uint64_t{0});
  const double rate = static_cast<double>(sum) / chips / (microseconds(network.now() - half) * 1e-6);
  Json out{{"bytes_per_second_a_chip", rate},
           {"largest_load", load},
           {"link_bytes_per_second_a_chip", bound},
           {"share", rate / bound},
           {"packets_a_packet_time", rate / static_cast<double>(slice.generation->link_bytes_per_second)}};
  out.update(shares(of_source));
  out["bytes_by_source"] = of_source;
  return out;
}

/// Chips in a row that all send to the last one, until the first of them has sent all.
Json parking_lot(const Options& options) {
  Network network(Topology({options.chips, 1, 1}, {false, false, false}, false),
                  network_options(options, 45'000'000'000));
  Blocks blocks(network);
  const auto to = options.chips - 1;
  std::vector<uint64_t> of_source(to);
  bool all_send = true;
  network.on_delivery([&](const Message& message, Delivery, Femtoseconds) {
    if (!all_send) return;
    of_source[message.from] += message.bytes;
    all_send = of_source[message.from] < options.packets * kBlock;
  });
  for (uint32_t from = 0; from < to; from++)
    for (uint64_t i = 0; i < options.packets; i++) blocks.send(from, to, kBlock, 0);
  network.run_until(kNever);
  auto out = shares(of_source);
  out["bytes_by_source"] = of_source;
  return out;
}

/// Control messages of every chip of a row to its last one, beside a stream of data from the first to the last; then
/// the stream beside as much control as the links carry.
Json control(const Options& options) {
  constexpr uint64_t kStream = 64 << 20;
  const auto to = options.chips - 1;
  const Topology row({options.chips, 1, 1}, {false, false, false}, false);
  const auto packet_us =
      microseconds(transfer_time(options.framing ? Network::wire_bytes(kBlock) : kBlock, 45'000'000'000));
  double most_over = -1e9;
  Json messages = Json::array();
  {
    Network network(row, network_options(options, 45'000'000'000));
    Blocks blocks(network);
    network.on_delivery([&](const Message& message, Delivery, Femtoseconds now) {
      if (message.traffic_class == 0) return;
      const auto us = microseconds(now - message.tag);
      const auto hops = network.topology().distance(message.from, message.to);
      const auto over = us - hops * (1 + packet_us) - 1;
      most_over = std::max(most_over, over);
      messages.push_back({{"from", message.from}, {"to", message.to}, {"us", us}, {"limit_us", us - over}});
    });
    for (uint64_t sent = 0; sent < kStream; sent += kBlock) blocks.send(0, to, kBlock, 0);
    for (uint32_t from = 0; from < to; from++) {
      blocks.send(from, to, 64, 200 * kMicrosecond + from * 20 * kMicrosecond, 1);
      blocks.send(to, from, 64, 200 * kMicrosecond + from * 20 * kMicrosecond, 1);
    }
    network.run_until(kNever);
  }
  Network network(row, network_options(options, 45'000'000'000));
  Blocks blocks(network);
  uint64_t data = 0, all = 0;
  network.on_delivery([&](const Message& message, Delivery, Femtoseconds now) {
    if (now > 500 * kMicrosecond) return;
    all += message.bytes;
    if (message.traffic_class == 0) data += message.bytes;
  });
  for (uint64_t sent = 0; sent < kStream; sent += kBlock) {
    blocks.send(0, to, kBlock, 0);
    for (uint32_t from = 0; from < to; from++) blocks.send(from, to, kBlock, 0, 1);
  }
  network.run_until(500 * kMicrosecond);
  return {{"messages", messages},
          {"most_over_limit_us", most_over},
          {"data_share_beside_control", static_cast<double>(data) / static_cast<double>(all)}};
}

void print(const Json& found) {
  for (const auto& [name, value] : found.items()) fmt::print("  {:<32} {}\n", name, value.dump());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::string pattern;
  CLI::App app{"A slice's network under more than it can carry."};
  app.add_option("pattern", pattern, "what is sent")
      ->required()
      ->check(CLI::IsMember({"load", "all-to-all", "uniform", "parking-lot", "control"}));
  app.add_option("--slice", options.slice, "load, all-to-all, uniform: a slice by its name")->capture_default_str();
  app.add_option("--chips", options.chips, "parking-lot, control: in a row")
      ->capture_default_str()
      ->check(CLI::Range(2, 1000));
  app.add_option("--bytes", options.bytes, "all-to-all: of each chip to each")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000'000));
  app.add_option("--packets", options.packets, "uniform, parking-lot: of each chip")
      ->capture_default_str()
      ->check(CLI::Range(2, 10'000'000));
  app.add_option("--outstanding", options.outstanding, "uniform: packets of a chip on their way")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  app.add_option("--buffers", options.buffers, "uniform: packets of a virtual channel; 0: what keeps a link busy")
      ->capture_default_str()
      ->check(CLI::Range(0, 100'000));
  app.add_option("--offered", options.offered,
                 "uniform: flits that a chip offers a cycle; 0: --outstanding packets are always on their way")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--cycles", options.cycles, "uniform, --offered: of the run")
      ->capture_default_str()
      ->check(CLI::Range(2, 10'000'000));
  app.add_option("--flits", options.flits, "uniform: of a packet; a link carries one a cycle")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  auto* hop_cycles = app.add_option("--hop-cycles", options.hop_cycles, "uniform: latency of a hop; 0: a chip's")
                         ->capture_default_str()
                         ->check(CLI::Range(0, 1'000'000));
  const auto* optical = add_optical_option(app, options.optical_us)->excludes(hop_cycles);
  app.add_flag("--datelines-ahead", options.datelines_ahead,
               "packets that will cross a ring's dateline take its second channel from where they enter the ring");
  app.add_flag("--crossbar", options.router.crossbar, "an input of a router passes on one packet at a time");
  app.add_flag("--ingress", options.router.ingress, "a chip takes in one packet at a time");
  app.add_option("--injection-queues", options.router.injection_queues,
                 "what a chip sends stands in so many queues at one input; 0: in one for each first link and channel")
      ->capture_default_str()
      ->check(CLI::Range(0u, RouterLimits::kMostInjectionQueues));
  app.add_option("--head-cycles", options.head_cycles,
                 "a packet is its queue's head for so long before it asks for a link")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("--channel-cycles", options.channel_cycles, "between two packets of a link's channel")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000));
  app.add_flag("--first-come", options.router.first_come,
               "links take what has waited longest, else they share by source");
  app.add_option("--x-first", options.x_first,
                 "uniform: all packets go along x first, in so many pairs of channels; 0: by all orders, as DMA does")
      ->capture_default_str()
      ->check(CLI::Range(0u, static_cast<unsigned>(kXFirst.size())));
  app.add_option("--seed", options.seed, "of the traffic")->capture_default_str();
  app.add_flag("--framing", options.framing, "packets carry headers and CRCs; else their payload alone takes time");
  app.add_flag("--json", options.json, "print JSON");
  CLI11_PARSE(app, argc, argv);
  const auto parsed = parse_slice(options.slice);
  if (const auto* rule = std::get_if<std::string>(&parsed)) {
    fmt::print(stderr, "ici_saturation: {}\n", *rule);
    return 2;
  }
  const auto& slice = std::get<Slice>(parsed);
  if (optical->count() != 0 && pattern != "all-to-all" && pattern != "uniform") {
    fmt::print(stderr, "ici_saturation: --optical-us: {}\n",
               pattern == "load" ? "a load is packets that cross a link, whatever they take"
                                 : "chips in a row have no cubes: it goes with all-to-all and uniform");
    return 2;
  }
  const auto links = optical_links_of(*optical, options.optical_us, slice);
  if (const auto* error = std::get_if<std::string>(&links)) {
    fmt::print(stderr, "ici_saturation: {}\n", *error);
    return 2;
  }
  options.optical = std::get<OpticalLinks>(links);
  const auto found = pattern == "load"         ? Json{{"largest_load", largest_load(slice.topology())}}
                     : pattern == "all-to-all" ? all_to_all(options, slice)
                     : pattern == "uniform" ? (options.offered > 0 ? offered(options, slice) : uniform(options, slice))
                     : pattern == "parking-lot" ? parking_lot(options)
                                                : control(options);
  if (options.json) {
    fmt::print("{}\n", found.dump(2));
  } else {
    fmt::print("{}, seed {}\n", pattern, options.seed);
    print(found);
  }
  return 0;
}
