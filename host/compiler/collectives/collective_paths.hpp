/// Who passes what to whom in a collective, rank by rank.
#pragma once
#include <vector>

#include "host/compiler/collectives/collective_mesh.hpp"
#include "host/compiler/collectives/collective_tiles.hpp"

namespace weft::compiler {

/// The part of one rank: its transfers in order, and what it needs for them.
struct CollectivePaths {
  std::vector<Transfer> transfers;
  uint64_t scratch_bytes = 0;
  /// Posts of kCollectiveDirect, from ranks that write this one's output.
  uint64_t direct_posts = 0;
};

constexpr uint8_t kCollectiveInput = 3, kCollectiveOutput = 4;  ///< segments
constexpr uint8_t kCollectiveDirect = 60;                       ///< posted for each tile that comes straight

/// All kinds but the barrier. `tile_bytes`: how transfers are cut. UNSUPPORTED: more tiles than a semaphore counts.
[[nodiscard]] Result<CollectivePaths> collective_paths(const CollectiveMesh& mesh, const Collective& collective,
                                                       uint64_t tile_bytes);

}  // namespace weft::compiler
