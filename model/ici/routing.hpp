/// Which way packets take, and proof that they cannot block each other for ever.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/ici/topology.hpp"

namespace weft::ici {

inline constexpr unsigned kClasses = 2;  ///< of traffic: data, control
inline constexpr unsigned kOrders = 6;   ///< in which a packet may take its axes
/// Virtual channels of a link: two (before and after the dateline) for each class and order, and one of each class for
/// packets that go round a fault.
inline constexpr unsigned kChannels = kClasses * (kOrders * 2 + 1);

/// The axes of order 0 to 5: xyz, yxz, xzy, zxy, yzx, zyx.
inline constexpr std::array<std::array<uint8_t, kAxes>, kOrders> kAxisOrders{
    {{0, 1, 2}, {1, 0, 2}, {0, 2, 1}, {2, 0, 1}, {1, 2, 0}, {2, 1, 0}}};

constexpr unsigned channel_of(unsigned traffic_class, unsigned order, bool past_dateline) {
  return (traffic_class * kOrders + order) * 2 + (past_dateline ? 1 : 0);
}
constexpr bool is_past_dateline(unsigned channel) { return channel % 2 != 0; }  ///< of those of channel_of
constexpr unsigned fault_channel_of(unsigned traffic_class) { return kClasses * kOrders * 2 + traffic_class; }

/// Links that are left along each axis, taken axis by axis: a packet's way without faults.
struct DimensionOrder {
  std::array<int8_t, kAxes> left{};
  uint8_t order = 0;

  /// The port to leave by; kPorts when the packet has arrived.
  [[nodiscard]] unsigned port() const {
    for (const auto axis : kAxisOrders[order])
      if (left[axis] != 0) return port_of(axis, left[axis] > 0);
    return kPorts;
  }
  void take(unsigned port) { left[axis_of(port)] = static_cast<int8_t>(left[axis_of(port)] + (is_up(port) ? -1 : 1)); }
};

DimensionOrder dimension_order(const Topology& topology, uint32_t from, uint32_t to, unsigned order, unsigned way = 0);

/// One of the ways that packets from one chip to another may take without faults.
struct Route {
  uint8_t order = 0;  ///< of the axes, < kOrders
  uint8_t way = 0;    ///< of the shortest ones
};

/// The route of a block, by its number among those that a chip sends to another: all shortest ways by turns, and each
/// of them in all orders of the axes that differ. Pairs of chips begin with different ways; first blocks that go as far
/// take one order, so that they do not crowd links where each chip sends one block. Orders that are alike for a way are
/// dealt out by source: they have channels of their own, and a packet that waits in one holds up fewer sources. So
/// loads even out over the slice's links as far as shortest ways can even them out; and a block's route depends on
/// nothing but these numbers.
Route balanced_route(const Topology& topology, uint32_t from, uint32_t to, uint32_t block);

/// Ways around dead links and chips, by up*/down* (Autonet, Schroeder et al. 1991): links point up towards a root, and
/// no packet goes up after it went down, so channels form no cycle whatever is dead. Built anew when something changes.
/// The ways to a chip are worked out when somebody first asks for them. One thread.
class FaultTables {
 public:
  /// alive: one for each chip and port (chip * kPorts + port), as seen from that chip; both ends agree. The topology
  /// outlives the tables.
  FaultTables(const Topology& topology, std::vector<bool> alive);

  /// The port to leave by, kPorts if `to` cannot be reached. went_down: the packet has taken a link down before.
  [[nodiscard]] unsigned port(uint32_t at, uint32_t to, bool went_down) const {
    auto& ways = ways_to_[to];
    if (ways.empty()) fill(to, ways);
    return ways[at * 2 + (went_down ? 1 : 0)];
  }
  [[nodiscard]] bool is_down(uint32_t chip, unsigned port) const { return down_[chip * kPorts + port]; }
  [[nodiscard]] bool reaches(uint32_t from, uint32_t to) const { return part_[from] == part_[to]; }

 private:
  void fill(uint32_t to, std::vector<uint8_t>& ways) const;

  const Topology& topology_;
  const std::vector<bool> alive_;
  std::vector<bool> down_;
  std::vector<uint32_t> part_;                         // chips that hang together have the same
  mutable std::vector<std::vector<uint8_t>> ways_to_;  // by the chip that is gone to; empty: not asked for yet
};

/// When packets take the second channel of a ring. kKept: from its dateline on. kAhead: those that will cross it, from
/// where they enter the ring; shortest ways leave one link of the ring to the others, so no circle closes, except in
/// twisted tori, which must not have it. kIgnored: never.
enum class Datelines : uint8_t { kKept, kAhead, kIgnored };

/// A circle of channels that could wait for each other, as "chip port channel" one after the other; nothing if there is
/// none. Follows every packet from every chip to every other, by all shortest ways in every order, and those of
/// `tables` too if given. kIgnored: as if packets kept to their first channel, which shows that the search finds what
/// datelines prevent.
std::optional<std::string> dependency_cycle(const Topology& topology, const FaultTables* tables,
                                            Datelines datelines = Datelines::kKept);

}  // namespace weft::ici
