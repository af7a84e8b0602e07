/// Where the chips of a process group lie on a slice, as collectives see it.
#pragma once
#include <cstdint>
#include <vector>

#include "model/ici/topology.hpp"

namespace weft::replay {

/// A mesh or torus of the group's own, and the slice's chip at each of its places.
struct GroupShape {
  ici::Topology topology;
  std::vector<uint32_t> chips;
  /// Places are the slice's chips.
  bool whole_slice = false;

  [[nodiscard]] unsigned axes() const;  ///< that have more than one place
};

/// The shape of chips, which differ, by rank. The whole slice is its own shape. Chips at regular strides along up to
/// three axes are a box, whose axes close to rings where the last place is a stride before the first. Others are a line
/// in the order of ranks, or a ring if each is a neighbour of the next, and the last of the first.
GroupShape shape_of(const ici::Topology& slice, const std::vector<uint32_t>& chips);

}  // namespace weft::replay
