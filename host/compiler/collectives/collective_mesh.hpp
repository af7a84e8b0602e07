/// The chips that do a collective together, as a mesh of their own: ranks, axes, and who is next to whom.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "host/compiler/collectives/collective.hpp"
#include "weft/spec/commands.hpp"

namespace weft::compiler {

/// One axis of the group: its ranks in a line, or in a ring.
struct CollectiveAxis {
  unsigned ranks = 1;
  bool ring = false;
};

/// The group of one chip. A rank counts along the first axis first. Axes of one chip are left out, but for the last.
struct CollectiveMesh {
  std::vector<uint32_t> chips;  ///< by rank
  std::vector<CollectiveAxis> axes;
  unsigned rank = 0;

  [[nodiscard]] unsigned ranks() const { return static_cast<unsigned>(chips.size()); }
  [[nodiscard]] unsigned coordinate(unsigned of_rank, unsigned axis) const;
  /// The rank at another place on one axis.
  [[nodiscard]] unsigned moved(unsigned from_rank, unsigned axis, unsigned coordinate) const;
  /// An axis is a ring of even length: a block has two halves, which reach the rank opposite from either side.
  [[nodiscard]] bool halves() const;
};

/// INVALID_ARGUMENT: a chip, axes or a group that cannot be; the message says which.
[[nodiscard]] Result<CollectiveMesh> collective_mesh(const SliceShape& slice, const Collective& collective,
                                                     uint32_t chip);

/// The barrier of the group, without header and signature. The group is a box of chips.
[[nodiscard]] spec::BarrierCommand collective_barrier(const CollectiveMesh& mesh);

/// Every block has a part for each axis: part p is reduced along axes p, p + 1, ..., and gathered back along them.
[[nodiscard]] inline unsigned reduction_axis(const CollectiveMesh& mesh, unsigned part, unsigned phase) {
  return (part + phase) % static_cast<unsigned>(mesh.axes.size());
}

/// Half `half` (of one or two) of part `part` of a block. Parts are as large as their axes are fast, so that all axes
/// have as long to do: K / (K - 1) of a line of K, twice that of a ring, in granules, where they begin rounded up.
[[nodiscard]] CollectiveBlock collective_piece(const CollectiveMesh& mesh, const CollectiveBlock& block, unsigned part,
                                               unsigned half);

}  // namespace weft::compiler
