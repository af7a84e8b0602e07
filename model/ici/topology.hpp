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

  /// Links to take along each axis, negative: down. A shortest way; of two as short, the one that wraps less, then up
  /// first; other_way: the one that wraps more.
  [[nodiscard]] Coordinates way(uint32_t from, uint32_t to, bool other_way = false) const;
  [[nodiscard]] unsigned distance(uint32_t from, uint32_t to) const;
  [[nodiscard]] unsigned links() const;  ///< one way each

 private:
  struct Step {
    Coordinates at;
    bool wrapped;
  };
  [[nodiscard]] Step step(Coordinates at, unsigned port) const;

  std::array<unsigned, kAxes> size_;
  std::array<bool, kAxes> wrap_;
  bool twisted_;
  uint32_t chips_;
  std::vector<Coordinates> coordinates_;
  std::vector<uint32_t> neighbor_;
};

}  // namespace weft::ici
