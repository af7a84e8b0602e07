/// Collectives in which every rank's data go straight to their receiver: all-to-all and permute.
#pragma once
#include "host/compiler/collectives/collective_paths.hpp"

namespace weft::compiler {

/// Each rank's block to that rank, the farthest first, both ways by turns; the network finds the way.
[[nodiscard]] CollectivePaths all_to_all_paths(const CollectiveMesh& mesh, const Collective& collective,
                                               uint64_t tile_bytes);

/// The array to rank (this one + shift) modulo the ranks.
[[nodiscard]] CollectivePaths permute_paths(const CollectiveMesh& mesh, const Collective& collective,
                                            uint64_t tile_bytes);

}  // namespace weft::compiler
