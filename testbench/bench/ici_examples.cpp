/// The worked examples of ICI transfers whose times are published: closed form, packet model without and with framing,
/// flow model.
///
///   ici_examples [--json] [--long]
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/ici/collective.hpp"
#include "model/ici/slice.hpp"

namespace {

using namespace weft::ici;

using Work = std::function<Femtoseconds(const Slice&, NetworkOptions)>;

struct Example {
  const char* name;
  const char* what;
  const char* slice;
  double published_us;  // 0: none
  double exact_us;
  Work work;
  bool packets;  // false: too many for the packet model; flow model only
  bool lengthy;  // of the packet model
};

Femtoseconds run(const Slice& slice, const NetworkOptions& options, const std::vector<Message>& messages) {
  Network network(slice.topology(), options);
  Femtoseconds last = 0;
  network.on_delivery([&](const Message&, Delivery, Femtoseconds at) { last = at; });
  for (const auto& message : messages) network.send(message, 0);
  network.run_until(kNever);
  return last;
}

Work collective(CollectiveKind kind, uint64_t bytes, unsigned axes) {
  return [=](const Slice& slice, const NetworkOptions& options) {
    Network network(slice.topology(), options);
    Collective work(network.topology(), {kind, bytes, axes},
                    [&](const Message& message) { network.send(message, network.now()); });
    network.on_delivery([&](const Message& message, Delivery, Femtoseconds) { work.delivered(message); });
    work.start();
    network.run_until(kNever);
    return work.finished() ? network.now() : 0;
  };
}

/// Corner to corner, in so many orders of the axes at once.
Work corner_to_corner(uint64_t bytes, unsigned ways) {
  return [=](const Slice& slice, const NetworkOptions& options) {
    std::vector<Message> messages;
    for (unsigned way = 0; way < ways; way++)
      messages.push_back({0, slice.chips() - 1, bytes / ways, 0, static_cast<uint8_t>(way)});
    return run(slice, options, messages);
  };
}

/// Along axis y of 16: a part of the array from each chip to each other, the farthest first; of two ways as long, half
/// of the chips take each.
Work all_to_all(uint64_t bytes) {
  return [=](const Slice& slice, const NetworkOptions& options) {
    const auto topology = slice.topology();
    const unsigned size = topology.size(1);
    std::vector<Message> messages;
    for (unsigned distance = size / 2; distance > 0; distance--)
      for (uint32_t chip = 0; chip < topology.chips(); chip++) {
        auto at = topology.coordinates(chip);
        const unsigned from = static_cast<unsigned>(at[1]);
        for (const bool up : {true, false}) {
          at[1] = static_cast<int>((from + (up ? distance : size - distance)) % size);
          Message message{chip, topology.chip(at), bytes / size / size};
          if (2 * distance == size) {
            if (up != (from % 2 == 0)) continue;
            message.other_way = up != (from < size / 2);
          }
          messages.push_back(message);
        }
      }
    return run(slice, options, messages);
  };
}

/// From the hosts, which each chip has its share of, to chip 0.
Work gather_to_one(uint64_t bytes) {
  return [=](const Slice& slice, const NetworkOptions& options) {
    std::vector<Message> messages;
    for (uint32_t chip = 1; chip < slice.chips(); chip++)
      for (uint8_t order = 0; order < 2; order++)
        messages.push_back({chip, 0, bytes / (slice.chips() - 1) / 2, 0, order});
    return run(slice, options, messages);
  };
}

std::vector<Example> examples() {
  using enum CollectiveKind;
  return {
      {"E1", "16,777,216 bytes corner to corner, two ways", "v5e-4x4", 194, 192.41, corner_to_corner(16'777'216, 2),
       true, false},
      {"E1b", "the same by one way", "v5e-4x4", 0, 378.83, corner_to_corner(16'777'216, 1), true, false},
      {"E2", "all-gather bf16[2048,8192], line of 4", "v5e-8x4", 560, 562.24, collective(kAllGather, 33'554'432, 2),
       true, false},
      {"E3", "all-gather bf16[256,256], line of 4", "v5e-8x4", 3, 5.18, collective(kAllGather, 131'072, 2), true,
       false},
      {"E4", "all-gather of 33,554,432 bytes, ring of 16", "v5e-4x16", 373, 357.53,
       collective(kAllGather, 33'554'432, 2), true, false},
      {"E5", "all-gather bf16[1024,4096] over one axis", "v4-4x4x4", 23, 19.48, collective(kAllGather, 2'097'152, 1),
       true, false},
      {"E6", "the same over two axes", "v4-4x4x4", 46, 47.69, collective(kAllGather, 8'388'608, 3), true, false},
      {"E8", "all-gather of 256 bytes over one axis", "v4-4x4x4", 2, 2.0, collective(kAllGather, 256, 1), true, false},
      {"E9", "15e9 bytes from the hosts to one chip", "v5e-4x4", 167'000, 166'666.67, gather_to_one(15'000'000'000),
       true, true},
      {"E10", "all-to-all of 33,554,432 bytes, ring of 16", "v5e-4x16", 93.25, 94.21, all_to_all(33'554'432), true,
       false},
      {"E11", "all-reduce of 1e9 bytes", "v5e-16x16", 0, 11'100, collective(kAllReduce, 1'000'000'000, 3), false,
       false},
      {"E11", "all-reduce of 1e9 bytes", "v5p-4x4x4", 0, 3'657.7, collective(kAllReduce, 1'000'000'000, 7), true, true},
      {"E11", "all-reduce of 1e9 bytes", "v4-16x16x16", 0, 7'453.6, collective(kAllReduce, 1'000'000'000, 7), false,
       false},
  };
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Worked examples of ICI transfers: exact, packet model, flow model."};
  bool json = false, lengthy = false;
  app.add_flag("--json", json, "print JSON");
  app.add_flag("--long", lengthy, "also those whose packets take minutes");
  CLI11_PARSE(app, argc, argv);
  auto rows = nlohmann::ordered_json::array();
  if (!json)
    fmt::print("{:<4} {:<12} {:<46} {:>9} {:>10} {:>10} {:>7} {:>10} {:>7} {:>10} {:>7}\n", "", "slice", "",
               "published", "exact us", "packets", "off %", "framed", "more %", "flow", "off %");
  for (const auto& example : examples()) {
    const auto slice = std::get<Slice>(parse_slice(example.slice));
    NetworkOptions options;
    options.link_bytes_per_second = slice.generation->link_bytes_per_second;
    options.framing = false;
    const bool packets = example.packets && (lengthy || !example.lengthy);
    const double plain = packets ? microseconds(example.work(slice, options)) : NAN;
    options.framing = true;
    const double framed = packets ? microseconds(example.work(slice, options)) : NAN;
    options.framing = false;
    options.packet_payload_bytes = 0;
    const double flow = microseconds(example.work(slice, options));
    const auto off = [&](double value) { return 100 * (value / example.exact_us - 1); };
    if (json)
      rows.push_back({{"name", example.name},
                      {"what", example.what},
                      {"slice", example.slice},
                      {"published_us", example.published_us},
                      {"exact_us", example.exact_us},
                      {"packet_us", plain},
                      {"framed_us", framed},
                      {"flow_us", flow}});
    else
      fmt::print("{:<4} {:<12} {:<46} {:>9} {:>10.2f} {:>10.2f} {:>7.2f} {:>10.2f} {:>7.2f} {:>10.2f} {:>7.2f}\n",
                 example.name, example.slice, example.what, example.published_us, example.exact_us, plain, off(plain),
                 framed, 100 * (framed / plain - 1), flow, off(flow));
    std::fflush(stdout);
  }
  if (json) fmt::print("{}\n", rows.dump(2));
  return 0;
}
