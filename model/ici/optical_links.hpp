/// Links that go through optical switches: those between the cubes that a slice is made of, rings' ends included.
#pragma once
#include <cstdint>

#include "model/ici/time.hpp"
#include "model/ici/topology.hpp"

namespace weft::ici {

struct OpticalLinks {
  unsigned cube = 0;         ///< chips along each axis of a cube; 0: all links are alike
  Femtoseconds latency = 0;  ///< of such a hop, not less than another one's

  [[nodiscard]] bool any() const { return cube != 0; }
  [[nodiscard]] bool is_optical(const Topology& topology, uint32_t chip, unsigned port) const {
    if (!any()) return false;
    const auto at = static_cast<unsigned>(topology.coordinates(chip)[axis_of(port)]) % cube;
    return at == (is_up(port) ? cube - 1 : 0);
  }
  /// Among so many links of an axis, one after the other, wherever they begin.
  [[nodiscard]] unsigned most_among(unsigned links) const { return any() && links != 0 ? 1 + (links - 1) / cube : 0; }
  /// Of a shortest way, all of whose other hops take `hop_latency`.
  [[nodiscard]] Femtoseconds way_time(const Topology& topology, uint32_t from, uint32_t to,
                                      Femtoseconds hop_latency) const;
};

}  // namespace weft::ici
