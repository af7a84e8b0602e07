/// The worked examples of ICI transfers whose times are published: closed form, packet model without and with framing,
/// flow model.
///
///   ici_examples [--json] [--long] [--only WORD] [--flows] [--trace FILE]
#include <fmt/core.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "model/ici/collective.hpp"
#include "model/ici/exchange.hpp"
#include "model/ici/flow_network.hpp"
#include "model/ici/link_trace.hpp"
#include "model/ici/slice.hpp"

namespace {

using namespace weft::ici;

using Messages = std::function<std::vector<Message>(const Topology&)>;  // all sent at 0
using Work = std::variant<CollectiveOptions, Messages>;

enum class Packets : uint8_t {
  kSome,     ///< seconds
  kMany,     ///< minutes
  kTooMany,  ///< flow model only
};

struct Example {
  const char* name;
  const char* what;
  const char* slice;
  double published_us;  // 0: none
  double exact_us;
  Work work;
  Packets packets;
};

/// On either model. 0 if something never arrived.
template <typename Net>
double time_us(const Work& work, Net& network) {
  Femtoseconds last = 0;
  if (const auto* messages = std::get_if<Messages>(&work)) {
    network.on_delivery([&](const Message&, auto...) { last = network.now(); });
    for (const auto& message : (*messages)(network.topology())) network.send(message, 0);
    network.run_until(kNever);
  } else {
    Collective collective(network.topology(), std::get<CollectiveOptions>(work),
                          [&](const Message& message) { network.send(message, network.now()); });
    network.on_delivery([&](const Message& message, auto...) { collective.delivered(message); });
    collective.start();
    network.run_until(kNever);
    if (collective.finished()) last = network.now();
  }
  return microseconds(last);
}

enum class Framing : bool { kNone, kAll };

double packets_us(const Example& example, const Slice& slice, Framing framing,
                  std::shared_ptr<weft::TraceFile> trace = nullptr) {
  Network network(slice.topology(), {.link_bytes_per_second = slice.generation->link_bytes_per_second,
                                     .framing = framing == Framing::kAll});
  if (trace == nullptr) return time_us(example.work, network);
  LinkTrace links(std::move(trace), network.topology());
  network.on_hop([&](const Hop& hop) { links.hop(hop); });
  return time_us(example.work, network);
}

double flows_us(const Example& example, const Slice& slice, Framing framing) {
  FlowNetwork network(slice.topology(), {.link_bytes_per_second = slice.generation->link_bytes_per_second,
                                         .framing = framing == Framing::kAll});
  return time_us(example.work, network);
}

CollectiveOptions collective(CollectiveKind kind, uint64_t bytes, unsigned axes) { return {kind, bytes, axes}; }

/// Corner to corner, in so many orders of the axes at once.
Messages corner_to_corner(uint64_t bytes, unsigned ways) {
  return [=](const Topology& topology) {
    std::vector<Message> messages;
    for (unsigned way = 0; way < ways; way++)
      messages.push_back({0, topology.chips() - 1, bytes / ways, 0, static_cast<uint8_t>(way)});
    return messages;
  };
}

Messages all_to_all(uint64_t bytes, unsigned axis) {
  return [=](const Topology& topology) {
    return exchange(topology, {.kind = ExchangeKind::kAllToAll, .bytes = bytes, .axis = axis});
  };
}

/// From the hosts, which each chip has its share of, to chip 0.
Messages gather_to_one(uint64_t bytes) {
  return [=](const Topology& topology) {
    std::vector<Message> messages;
    for (uint32_t chip = 1; chip < topology.chips(); chip++)
      for (uint8_t order = 0; order < 2; order++)
        messages.push_back({chip, 0, bytes / (topology.chips() - 1) / 2, 0, order});
    return messages;
  };
}

std::vector<Example> examples() {
  using enum CollectiveKind;
  using enum Packets;
  return {
      {"E1", "16,777,216 bytes corner to corner, two ways", "v5e-4x4", 194, 192.41, corner_to_corner(16'777'216, 2),
       kSome},
      {"E1b", "the same by one way", "v5e-4x4", 0, 378.83, corner_to_corner(16'777'216, 1), kSome},
      {"E2", "all-gather bf16[2048,8192], line of 4", "v5e-8x4", 560, 562.24, collective(kAllGather, 33'554'432, 2),
       kSome},
      {"E3", "all-gather bf16[256,256], line of 4", "v5e-8x4", 3, 5.1845, collective(kAllGather, 131'072, 2), kSome},
      {"E4", "all-gather of 33,554,432 bytes, ring of 16", "v5e-4x16", 373, 357.53,
       collective(kAllGather, 33'554'432, 2), kSome},
      {"E5", "all-gather bf16[1024,4096] over one axis", "v4-4x4x4", 23, 19.476, collective(kAllGather, 2'097'152, 1),
       kSome},
      {"E6", "the same over two axes", "v4-4x4x4", 46, 47.69, collective(kAllGather, 8'388'608, 3), kSome},
      {"E8", "all-gather of 256 bytes over one axis", "v4-4x4x4", 2, 2.0021, collective(kAllGather, 256, 1), kSome},
      {"E9", "15e9 bytes from the hosts to one chip", "v5e-4x4", 167'000, 166'666.67, gather_to_one(15'000'000'000),
       kMany},
      {"E10", "all-to-all of 33,554,432 bytes, ring of 16", "v5e-4x16", 93.25, 94.21, all_to_all(33'554'432, 1), kSome},
      {"E11", "all-reduce of 1e9 bytes", "v5e-16x16", 0, 11'100, collective(kAllReduce, 1'000'000'000, 3), kTooMany},
      {"E11", "all-reduce of 1e9 bytes", "v5p-4x4x4", 0, 3'657.7, collective(kAllReduce, 1'000'000'000, 7), kMany},
      {"E11", "all-reduce of 1e9 bytes", "v4-16x16x16", 0, 7'453.6, collective(kAllReduce, 1'000'000'000, 7), kTooMany},
  };
}

double user_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) + 1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Worked examples of ICI transfers: exact, packet model, flow model."};
  bool json = false, lengthy = false, flows_only = false;
  std::string only, trace;
  app.add_flag("--json", json, "print JSON");
  app.add_flag("--long", lengthy, "also those whose packets take minutes");
  app.add_flag("--flows", flows_only, "only the flow model");
  app.add_option("--only", only, "examples whose name or slice contains this word");
  app.add_option("--trace", trace, "write a Chrome trace of the first example's packets to this JSON file, and end");
  CLI11_PARSE(app, argc, argv);
  auto rows = nlohmann::ordered_json::array();
  if (!json && trace.empty())
    fmt::print("{:<4} {:<12} {:<46} {:>9} {:>10} {:>10} {:>7} {:>10} {:>7} {:>10} {:>7}\n", "", "slice", "",
               "published", "exact us", "packets", "off %", "framed", "more %", "flow", "off %");
  for (const auto& example : examples()) {
    if ((std::string(example.name) + " " + example.slice).find(only) == std::string::npos) continue;
    const auto slice = std::get<Slice>(parse_slice(example.slice));
    if (!trace.empty()) {
      std::string error;
      const auto file = weft::TraceFile::open(trace, error);
      if (file == nullptr) {
        fmt::print(stderr, "ici_examples: {}\n", error);
        return 2;
      }
      fmt::print("{} on {}: {:.2f} us\n", example.name, example.slice, packets_us(example, slice, Framing::kAll, file));
      return 0;
    }
    const bool packets =
        !flows_only && (example.packets == Packets::kSome || (lengthy && example.packets == Packets::kMany));
    const double plain = packets ? packets_us(example, slice, Framing::kNone) : NAN;
    const double framed = packets ? packets_us(example, slice, Framing::kAll) : NAN;
    const double start = user_seconds();
    const double flow = flows_us(example, slice, Framing::kNone);
    const double flow_seconds = user_seconds() - start;
    const auto off = [&](double value) { return 100 * (value / example.exact_us - 1); };
    if (json)
      rows.push_back({{"name", example.name},
                      {"what", example.what},
                      {"slice", example.slice},
                      {"published_us", example.published_us},
                      {"exact_us", example.exact_us},
                      {"packet_us", plain},
                      {"framed_us", framed},
                      {"flow_us", flow},
                      {"flow_framed_us", flows_us(example, slice, Framing::kAll)},
                      {"flow_user_seconds", flow_seconds},
                      {"packets_are_many", example.packets == Packets::kMany},
                      {"packets_are_too_many", example.packets == Packets::kTooMany}});
    else
      fmt::print("{:<4} {:<12} {:<46} {:>9} {:>10.2f} {:>10.2f} {:>7.2f} {:>10.2f} {:>7.2f} {:>10.2f} {:>7.2f}\n",
                 example.name, example.slice, example.what, example.published_us, example.exact_us, plain, off(plain),
                 framed, 100 * (framed / plain - 1), flow, off(flow));
    std::fflush(stdout);
  }
  if (json) fmt::print("{}\n", rows.dump(2));
  return 0;
}
