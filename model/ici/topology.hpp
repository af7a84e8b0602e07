/// The shape of a slice: which chip is whose neighbour, and the shortest way between two.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::ici {

inline constexpr unsigned kAxes = 3;
inline constexpr unsigned kPorts =
    2 * kAxes;  ///< port 2 a: towards higher coordinates of axis a, 2 a + 1: towards lower
inline constexpr uint32_t kNoChip = ~uint32_t{0};

using Coordinates = std::array<int, kAxes>;

constexpr unsigned port_of(unsigned axis, bool up) { return 2 * axis + (up ? 0 : 1); }
constexpr unsigned axis_of(unsigned port) { return port / 2; }
constexpr bool is_up(unsigned port) { return port % 2 == 0; }
constexpr unsigned opposite(unsigned port) { return port ^ 1; }
std::string port_name(unsigned port);  ///< "+x" to "-z"

/// A mesh or torus of up to three axes. Chips are numbered x first: chip = x + X (y + Y z).
///
/// A wrapped axis closes to a ring. In a twisted torus (k x k x 2k, k x 2k x 2k) the wrap of a short axis moves the
/// other, long axes by k, which halves their longest ways (Camarero, Martinez, Beivide: "Lattice graphs for high-scale
/// interconnection topologies"). Immutable; any thread may read it.
class Topology {
 public:
  /// Sizes at least 1; `twisted` needs k x k x 2k or k x 2k x 2k with every axis wrapped (is_twistable).
  Topology(std::array<unsigned, kAxes> size, std::array<bool, kAxes> wrap, bool twisted);

  static bool is_twistable(const std::array<unsigned, kAxes>& size);

  [[nodiscard]] uint32_t chips() const { return chips_; }
  [[nodiscard]] unsigned size(unsigned axis) const { return size_[axis]; }
  [[nodiscard]] bool wraps(unsigned axis) const { return wrap_[axis]; }
  [[nodiscard]] bool twisted() const { return twisted_; }
  [[nodiscard]] const Coordinates& coordinates(uint32_t chip) const { return coordinates_[chip]; }
  [[nodiscard]] uint32_t chip(const Coordinates& at) const;

  /// kNoChip where the axis ends. An axis of 1 has no neighbours; one of 2 that wraps has two links between its chips.
  [[nodiscard]] uint32_t neighbor(uint32_t chip, unsigned port) const { return neighbor_[chip * kPorts + port]; }
  /// True if that link is the one that closes the ring of its axis: a dateline lies on it.
  [[nodiscard]] bool is_wrap_link(uint32_t chip, unsigned port) const;
  /// True if that link is among the next `links` of the axis.
  [[nodiscard]] bool wraps_within(uint32_t chip, unsigned port, unsigned links) const {
    const auto at = static_cast<unsigned>(coordinates_[chip][axis_of(port)]), size = size_[axis_of(port)];
    return wrap_[axis_of(port)] && (is_up(port) ? at + links >= size : at < links);
  }

  /// How many shortest ways there are, the order of the axes apart; 1 from a chip to itself.
  [[nodiscard]] unsigned ways(uint32_t from, uint32_t to) const { return ways_[displacement(from, to)].count; }
  /// Links to take along each axis, negative: down. Shortest way `number`, modulo their number: 0 is the one that wraps
  /// least, then goes up first.
  [[nodiscard]] Coordinates way(uint32_t from, uint32_t to, unsigned number = 0) const {
    const auto& ways = ways_[displacement(from, to)];
    const auto& way = ways.way[number % ways.count];
    return {way[0], way[1], way[2]};
  }
  [[nodiscard]] unsigned distance(uint32_t from, uint32_t to) const;
  [[nodiscard]] unsigned links() const;  ///< one way each

 private:
  struct Step {
    Coordinates at;
    bool wrapped;
  };
  /// Shortest ways between chips so far from each other, those that wrap less first.
  struct Ways {
    static constexpr unsigned kMost = 8;  // as many as ties on three axes make, or a twist
    std::array<std::array<int8_t, kAxes>, kMost> way;
    uint8_t count = 0;
  };
  [[nodiscard]] Step step(Coordinates at, unsigned port) const;
  [[nodiscard]] Ways find_ways(const Coordinates& apart) const;
  /// Place in `ways_` of two chips' differences along each axis.
  [[nodiscard]] size_t displacement(uint32_t from, uint32_t to) const {
    const auto &a = coordinates_[from], &b = coordinates_[to];
    size_t place = 0;
    for (unsigned axis = kAxes; axis-- > 0;)
      place =
          place * (2 * size_[axis] - 1) + static_cast<size_t>(b[axis] - a[axis] + static_cast<int>(size_[axis]) - 1);
    return place;
  }

  std::array<unsigned, kAxes> size_;
  std::array<bool, kAxes> wrap_;
  bool twisted_;
  uint32_t chips_;
  std::vector<Coordinates> coordinates_;
  std::vector<uint32_t> neighbor_;
  std::vector<Ways> ways_;
};

}  // namespace weft::ici
