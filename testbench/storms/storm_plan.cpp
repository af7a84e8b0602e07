// Draws slices, buffers, traffic and strokes.
#include "testbench/storms/storm_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "model/ici/slice.hpp"

namespace weft::storms {
namespace {

using namespace ici;
using Kind = Stroke::Kind;

constexpr const char* kLine = "line-8";
constexpr unsigned kLineChips = 8;

struct Draw {
  std::mt19937_64 random;
  uint64_t below(uint64_t limit) { return random() % limit; }
  uint64_t between(uint64_t first, uint64_t last) { return first + below(last - first + 1); }
  bool once_in(uint64_t n) { return below(n) == 0; }
};

/// A cable, at one of its two ends.
std::pair<uint32_t, unsigned> draw_cable(Draw& draw, const Topology& topology) {
  for (;;) {
    const auto chip = static_cast<uint32_t>(draw.below(topology.chips()));
    const auto port = static_cast<unsigned>(draw.below(kPorts));
    if (topology.neighbor(chip, port) != kNoChip) return {chip, port};
  }
}

/// How long the traffic takes without a storm, roughly: strokes fall into that time.
Femtoseconds duration(const Topology& topology, const Plan& plan) {
  const double links = static_cast<double>(topology.links()) / topology.chips();
  const double bytes = static_cast<double>(plan.traffic.messages) * static_cast<double>(plan.traffic.largest) / 2;
  const double hops = std::max(1u, topology.distance(0, topology.chips() - 1));
  return static_cast<Femtoseconds>(bytes * hops / links / static_cast<double>(plan.network.link_bytes_per_second) *
                                   1e15) +
         5 * kMicrosecond;
}

LinkTrouble draw_trouble(Draw& draw, bool permanent) {
  using Trouble = LinkTrouble::Kind;
  LinkTrouble trouble;
  const auto kind = draw.below(permanent ? 10 : 7);
  trouble.kind = kind < 6 ? Trouble::kFlap : kind == 6 ? Trouble::kDark : kind < 9 ? Trouble::kDown : Trouble::kChipCut;
  trouble.time = draw.between(1, 20'000) * kNanosecond;
  return trouble;
}

}  // namespace

const std::vector<std::string>& slice_names() {
  static const std::vector<std::string> names{"nano-2x2",          "v5e-4x4", "v4-4x4x4",
                                              "v5p-4x4x8_twisted", kLine,     "v5e-16x16"};
  return names;
}

Topology topology_of(const std::string& name) {
  if (name == kLine) return {{kLineChips, 1, 1}, {false, false, false}, false};
  return std::get<Slice>(parse_slice(name)).topology();
}

Plan draw_plan(uint64_t seed, const std::string& slice, uint32_t buffer_packets) {
  Draw draw{std::mt19937_64(seed)};
  Plan plan;
  const auto& names = slice_names();
  const auto& drawn = names[draw.below(names.size())];
  plan.slice = slice.empty() ? drawn : slice;
  const auto topology = topology_of(plan.slice);
  if (plan.slice != kLine)
    plan.network.link_bytes_per_second = std::get<Slice>(parse_slice(plan.slice)).generation->link_bytes_per_second;
  const auto drawn_packets = draw.once_in(8) ? 0 : static_cast<uint32_t>(draw.between(2, draw.once_in(2) ? 2 : 8));
  plan.network.buffer_packets = buffer_packets != 0 ? buffer_packets : drawn_packets;
  plan.network.seed = seed;
  if (draw.once_in(8)) plan.network.bit_error_rate = 1e-8;

  const unsigned messages = topology.chips() > 100 ? 40 : topology.chips() > 50 ? 80 : 200;
  plan.traffic.messages = static_cast<unsigned>(draw.between(messages / 2, messages));
  plan.traffic.outstanding = static_cast<unsigned>(draw.between(4, 40));
  plan.traffic.partners = static_cast<unsigned>(draw.between(1, std::min(topology.chips(), 12u)));
  plan.traffic.orders = static_cast<unsigned>(draw.between(1, topology.size(2) > 1 ? kOrders : 2));
  plan.traffic.largest = draw.between(1, draw.once_in(4) ? 60'000 : 12'000);

  const auto kinds = draw.below(4);  // cuts; cuts and repairs; armed flaps; everything
  const auto cables = topology.links() / 2;
  const auto strokes = draw.between(1, std::max(3u, draw.once_in(3) ? cables : cables / 4));
  const auto begin = draw.below(5 * kMicrosecond), lasts = duration(topology, plan);
  for (uint64_t i = 0; i < strokes; i++) {
    const auto [chip, port] = draw_cable(draw, topology);
    Stroke stroke{begin + draw.below(lasts), Kind::kCableCut, chip, port, {}};
    const bool again = kinds == 1 || (kinds == 3 && !draw.once_in(3));
    if (kinds == 2 || (kinds == 3 && draw.once_in(2))) {
      stroke.kind = Kind::kArmed;
      stroke.trouble = draw_trouble(draw, kinds == 3);
    } else if (kinds == 3 && draw.once_in(std::max(8u, cables / 2))) {
      stroke.kind = Kind::kChipDies;
    }
    plan.strokes.push_back(stroke);
    const auto pause = draw.between(1, draw.once_in(3) ? 2'000 : 200'000) * kNanosecond;
    if (again) plan.strokes.push_back({stroke.at + pause, Kind::kCableBack, chip, port, {}});
  }
  std::ranges::stable_sort(plan.strokes, {}, &Stroke::at);
  return plan;
}

std::string describe(const Plan& plan) {
  const auto buffers = plan.network.buffer_packets == 0
                           ? "default buffers"
                           : fmt::format("buffers of {} packets", plan.network.buffer_packets);
  return fmt::format("{}, {}, {} strokes", plan.slice, buffers, plan.strokes.size());
}

}  // namespace weft::storms
