#include "model/ici/routing.hpp"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <utility>

namespace weft::ici {

DimensionOrder dimension_order(const Topology& topology, uint32_t from, uint32_t to, unsigned order, unsigned number) {
  const auto way = topology.way(from, to, number);
  DimensionOrder route;
  for (unsigned axis = 0; axis < kAxes; axis++) route.left[axis] = static_cast<int8_t>(way[axis]);
  route.order = static_cast<uint8_t>(order);
  return route;
}

namespace {

/// The orders by how they take the axes of a way: sequences that differ, and the orders of each, which are alike for
/// that way and have channels of their own.
struct Orders {
  std::array<std::array<uint8_t, kOrders>, kOrders> alike{};  // by sequence
  uint8_t count = 0;                                          // sequences
  uint8_t each = 0;                                           // orders of a sequence
};

/// mask: of the axes that the way goes along.
constexpr Orders orders_of(unsigned mask) {
  Orders found;
  std::array<unsigned, kOrders> sequences{}, filled{};
  for (uint8_t order = 0; order < kOrders; order++) {
    unsigned sequence = 0;
    for (const auto axis : kAxisOrders[order])
      if ((mask >> axis & 1) != 0) sequence = sequence * (kAxes + 1) + axis + 1;
    unsigned place = 0;
    while (place < found.count && sequences[place] != sequence) place++;
    if (place == found.count) sequences[found.count++] = sequence;
    found.alike[place][filled[place]++] = order;
  }
  found.each = static_cast<uint8_t>(kOrders / found.count);
  return found;
}

constexpr auto kOrdersOf = [] {
  std::array<Orders, 1 << kAxes> table{};
  for (unsigned mask = 0; mask < table.size(); mask++) table[mask] = orders_of(mask);
  return table;
}();
static_assert(kOrdersOf[1].count == 1 && kOrdersOf[3].count == 2 && kOrdersOf[7].count == kOrders);

}  // namespace

Route balanced_route(const Topology& topology, uint32_t from, uint32_t to, uint32_t block) {
  constexpr uint32_t kOdd = 0x9e3779b1, kOther = 0x85ebca77;  // multiplicative hashing (Knuth, 6.4)
  const auto ways = topology.ways(from, to);
  const auto number = (block + ((from * kOdd ^ to * kOther) * kOdd >> 16)) % ways;
  const auto way = topology.way(from, to, number);
  unsigned mask = 0, length = 0;
  for (unsigned axis = 0; axis < kAxes; axis++) {
    mask |= way[axis] != 0 ? 1u << axis : 0;
    length += static_cast<unsigned>(std::abs(way[axis]));
  }
  const auto& orders = kOrdersOf[mask];
  const auto& alike = orders.alike[(block / ways + block % ways + length) % orders.count];
  return {alike[from % orders.each], static_cast<uint8_t>(number)};
}

FaultTables::FaultTables(const Topology& topology, std::vector<bool> alive)
    : topology_(topology),
      alive_(std::move(alive)),
      down_(size_t{topology.chips()} * kPorts),
      part_(topology.chips(), kNoChip),
      ways_to_(topology.chips()) {
  // levels of a breadth-first tree, one for each part that hangs together
  std::vector<uint32_t> level(topology.chips());
  for (uint32_t root = 0; root < topology.chips(); root++) {
    if (part_[root] != kNoChip) continue;
    part_[root] = root;
    std::deque<uint32_t> next{root};
    for (; !next.empty(); next.pop_front())
      for (unsigned port = 0; port < kPorts; port++) {
        const auto to = topology.neighbor(next.front(), port);
        if (to == kNoChip || !alive_[next.front() * kPorts + port] || part_[to] != kNoChip) continue;
        part_[to] = root;
        level[to] = level[next.front()] + 1;
        next.push_back(to);
      }
  }
  for (uint32_t chip = 0; chip < topology.chips(); chip++)
    for (unsigned port = 0; port < kPorts; port++)
      if (const auto to = topology.neighbor(chip, port); to != kNoChip)
        down_[chip * kPorts + port] = std::pair(level[to], to) > std::pair(level[chip], chip);
}

/// Shortest legal ways to one chip, backwards from it over (chip, has gone down).
void FaultTables::fill(uint32_t to, std::vector<uint8_t>& ways) const {
  ways.assign(size_t{topology_.chips()} * 2, kPorts);
  std::vector<bool> seen(ways.size());
  std::deque<std::pair<uint32_t, bool>> next{{to, false}, {to, true}};
  seen[to * 2] = seen[to * 2 + 1] = true;
  for (; !next.empty(); next.pop_front()) {
    const auto [chip, went_down] = next.front();
    for (unsigned port = 0; port < kPorts; port++) {
      const auto from = topology_.neighbor(chip, port);
      if (from == kNoChip || !alive_[chip * kPorts + port]) continue;
      const bool down = is_down(from, opposite(port));
      if (down != went_down) continue;  // going down leads to "has gone down", going up to "has not"
      for (const bool before : {false, true}) {
        if (before && !down) continue;  // never up after down
        if (seen[from * 2 + before]) continue;
        seen[from * 2 + before] = true;
        ways[from * 2 + before] = static_cast<uint8_t>(opposite(port));
        next.emplace_back(from, before);
      }
    }
  }
}

namespace {

/// The channels of a slice and which of them waits for which.
class Dependencies {
 public:
  explicit Dependencies(const Topology& topology) : waits_for_(size_t{topology.chips()} * kPorts * kChannels) {}

  static uint32_t channel(uint32_t chip, unsigned port, unsigned virtual_channel) {
    return (chip * kPorts + port) * kChannels + virtual_channel;
  }
  void add(uint32_t from, uint32_t to) {
    auto& list = waits_for_[from];
    if (std::find(list.begin(), list.end(), to) == list.end()) list.push_back(to);
  }

  [[nodiscard]] std::optional<std::string> cycle() const {
    std::vector<uint8_t> state(waits_for_.size());  // 0 new, 1 on the way, 2 done
    std::vector<std::pair<uint32_t, size_t>> way;
    for (uint32_t start = 0; start < waits_for_.size(); start++) {
      if (state[start] != 0) continue;
      way.assign(1, {start, 0});
      state[start] = 1;
      while (!way.empty()) {
        auto& [channel, index] = way.back();
        if (index == waits_for_[channel].size()) {
          state[channel] = 2;
          way.pop_back();
          continue;
        }
        const auto next = waits_for_[channel][index++];
        if (state[next] == 1) return text(way, next);
        if (state[next] == 0) {
          state[next] = 1;
          way.emplace_back(next, 0);
        }
      }
    }
    return std::nullopt;
  }

 private:
  static std::string text(const std::vector<std::pair<uint32_t, size_t>>& way, uint32_t from) {
    std::string text;
    bool inside = false;
    for (const auto& [channel, index] : way) {
      inside |= channel == from;
      if (inside)
        text += "chip " + std::to_string(channel / (kPorts * kChannels)) + " " +
                port_name(channel / kChannels % kPorts) + " channel " + std::to_string(channel % kChannels) + ", ";
    }
    return text + "and round again";
  }

  std::vector<std::vector<uint32_t>> waits_for_;
};

void follow_dimension_order(const Topology& topology, uint32_t from, uint32_t to, const Route& taken,
                            Datelines datelines, Dependencies& dependencies) {
  auto route = dimension_order(topology, from, to, taken.order, taken.way);
  uint32_t last = kNoChip, at = from;
  unsigned axis = kAxes;
  bool past_dateline = false;
  for (unsigned port = route.port(); port != kPorts; port = route.port()) {
    const auto left = static_cast<unsigned>(std::abs(route.left[axis_of(port)]));
    if (axis_of(port) != axis) past_dateline = datelines == Datelines::kAhead && topology.wraps_within(at, port, left);
    axis = axis_of(port);
    past_dateline |= datelines != Datelines::kIgnored && topology.is_wrap_link(at, port);
    const auto channel = Dependencies::channel(at, port, channel_of(0, taken.order, past_dateline));
    if (last != kNoChip) dependencies.add(last, channel);
    last = channel;
    route.take(port);
    at = topology.neighbor(at, port);
  }
}

void follow_tables(const Topology& topology, const FaultTables& tables, uint32_t from, uint32_t to,
                   Dependencies& dependencies) {
  uint32_t last = kNoChip, at = from;
  bool went_down = false;
  for (unsigned port = kPorts; at != to && (port = tables.port(at, to, went_down)) != kPorts;
       at = topology.neighbor(at, port)) {
    const auto channel = Dependencies::channel(at, port, fault_channel_of(0));
    if (last != kNoChip) dependencies.add(last, channel);
    last = channel;
    went_down |= tables.is_down(at, port);
  }
}

}  // namespace

std::optional<std::string> dependency_cycle(const Topology& topology, const FaultTables* tables, Datelines datelines) {
  Dependencies dependencies(topology);
  for (uint32_t from = 0; from < topology.chips(); from++)
    for (uint32_t to = 0; to < topology.chips(); to++) {
      if (from == to) continue;
      for (unsigned way = 0; way < topology.ways(from, to); way++)
        for (unsigned order = 0; order < kOrders; order++)
          follow_dimension_order(topology, from, to, {static_cast<uint8_t>(order), static_cast<uint8_t>(way)},
                                 datelines, dependencies);
      if (tables != nullptr) follow_tables(topology, *tables, from, to, dependencies);
    }
  // A packet keeps to the channels of its order or to those of the tables all its way: the two do not meet.
  return dependencies.cycle();
}

}  // namespace weft::ici
