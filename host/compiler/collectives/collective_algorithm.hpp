/// Which way the data of a collective take: what each way takes by its closed form, and the faster one.
#pragma once
#include "host/compiler/collectives/collective_mesh.hpp"

namespace weft::compiler {

/// All-gather, reduce-scatter, all-reduce, broadcast: the others go straight to each rank whatever their size.
[[nodiscard]] bool has_algorithms(CollectiveKind kind);

/// Microseconds from the barrier to the last byte, by the figures of chip and links. 0 for kinds without
/// algorithms, for one rank, and for links of unknown rate.
struct CollectiveTimes {
  double neighbor_us = 0, direct_us = 0;
};
[[nodiscard]] CollectiveTimes collective_times(const spec::Chip& chip, const SliceShape& slice,
                                               const CollectiveMesh& mesh, const Collective& collective);

/// The way that a collective takes: the one it asks for, or the faster one of those that fit in VMEM. kDirect for kinds
/// without algorithms. INVALID_ARGUMENT: it asks for one that its kind does not have. UNSUPPORTED: it asks for kDirect,
/// and VMEM is too small.
[[nodiscard]] Result<CollectiveAlgorithm> collective_algorithm(const spec::Chip& chip, const SliceShape& slice,
                                                               const CollectiveMesh& mesh,
                                                               const Collective& collective);

/// "neighbor", "direct".
[[nodiscard]] const char* algorithm_name(CollectiveAlgorithm algorithm);

}  // namespace weft::compiler
