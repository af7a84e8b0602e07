/// A slice's network under more than it can carry, by the packet model with the routes that chips' DMA takes: how near
/// it comes to the bound of its busiest link (load: packets over it, if each chip sends each other one), how evenly it
/// serves its sources, and what a control message waits for.
///
///   ici_saturation load|all-to-all|uniform|parking-lot|control [--slice NAME] [--chips N] [--bytes N] [--packets N]
///                  [--outstanding N] [--buffers N] [--hop-packets X] [--one-order] [--seed S] [--framing] [--json]
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <vector>

#include "model/ici/network.hpp"
#include "model/ici/slice.hpp"

using namespace weft::ici;
using Json = nlohmann::ordered_json;

namespace {

constexpr uint64_t kBlock = weft::spec::kIciPacketPayloadBytes;

struct Options {
  std::string slice = "v4-4x4x4";
  unsigned chips = 4;  // in a row
  uint64_t bytes = 48 << 10;
  uint64_t packets = 4000;  // of each chip
  unsigned outstanding = 256;
  unsigned buffers = 0;    // packets of a channel; 0: what keeps a link busy
  double hop_packets = 0;  // latency of a hop, in times of a packet; 0: a chip's
  bool one_order = false;
  uint64_t seed = 1;
  bool framing = false;
  bool json = false;
};

/// Sends as a chip's DMA does: in blocks, each by its own route.
class Blocks {
 public:
  explicit Blocks(Network& network, bool one_order = false) : network_(network), one_order_(one_order) {}

  void send(uint32_t from, uint32_t to, uint64_t bytes, Femtoseconds at, uint8_t traffic_class = 0) {
    const auto& topology = network_.topology();
    auto route = balanced_route(topology, from, to, sent_[uint64_t{from} * topology.chips() + to]++);
    if (one_order_) route.order = 0;
    network_.send({from, to, bytes, traffic_class, route.order, route.way, at}, at);
  }

 private:
  Network& network_;
  const bool one_order_;
  std::map<uint64_t, uint32_t> sent_;  // blocks, by pair
};

NetworkOptions network_options(const Options& options, uint64_t link_bytes_per_second) {
  NetworkOptions out;
  out.link_bytes_per_second = link_bytes_per_second;
  out.framing = options.framing;
  out.seed = options.seed;
  out.buffer_packets = options.buffers;
  if (options.hop_packets != 0)
    out.hop_latency = static_cast<Femtoseconds>(options.hop_packets *
                                                static_cast<double>(transfer_time(kBlock, link_bytes_per_second)));
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

/// Each chip keeps so many blocks on their way to chips drawn at random. What arrives in the second half of the run
/// counts.
Json uniform(const Options& options, const Slice& slice) {
  Network network(slice.topology(), network_options(options, slice.generation->link_bytes_per_second));
  const auto& topology = network.topology();
  const auto chips = topology.chips();
  Blocks blocks(network, options.one_order);
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
  app.add_option("--hop-packets", options.hop_packets, "uniform: latency of a hop, in times of a packet; 0: a chip's")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  app.add_flag("--one-order", options.one_order, "uniform: all packets go along x first, in two channels");
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
  const auto found = pattern == "load"          ? Json{{"largest_load", largest_load(slice.topology())}}
                     : pattern == "all-to-all"  ? all_to_all(options, slice)
                     : pattern == "uniform"     ? uniform(options, slice)
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
