/// Slices by name: `v5e-4x4`, `v5p-4x4x8`, `v5p-4x4x8_twisted`, `v3-32`.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/ici/optical_links.hpp"
#include "model/ici/topology.hpp"
#include "weft/spec/ici.hpp"

namespace weft::ici {

inline constexpr double kMostOpticalUs = 1000;  ///< 200 km of fibre, one way

/// A slice that its generation's rules allow.
struct Slice {
  const spec::Generation* generation;
  std::array<unsigned, kAxes> size;  ///< chips along x, y, z
  bool twisted;

  [[nodiscard]] std::array<bool, kAxes> wrap() const;  ///< which axes close to a ring
  [[nodiscard]] Topology topology() const { return {size, wrap(), twisted}; }
  [[nodiscard]] uint32_t chips() const { return size[0] * size[1] * size[2]; }
  [[nodiscard]] std::string name() const;

  /// Cubes of 4 x 4 x 4 chips, which optical switches join; 0: it is not made of them.
  [[nodiscard]] uint32_t cubes() const;
  /// Its links between cubes, a hop of which takes `latency_us`; or an error: it is not made of cubes, or that is less
  /// than another hop takes or more than kMostOpticalUs.
  [[nodiscard]] std::variant<OpticalLinks, std::string> optical_links(double latency_us) const;
  /// The chips of a cube, < cubes(); cubes are counted as chips are, x first.
  [[nodiscard]] std::vector<uint32_t> chips_of_cube(uint32_t cube) const;
};

/// The slice of that name, or a message that says which rule it breaks.
std::variant<Slice, std::string> parse_slice(std::string_view name);

}  // namespace weft::ici
