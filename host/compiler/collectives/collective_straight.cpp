// One transfer a receiver; routers find the way.
#include "host/compiler/collectives/collective_straight.hpp"

#include <algorithm>

namespace weft::compiler {
namespace {

TransferSink straight_to(const CollectiveMesh& mesh, unsigned rank, uint64_t offset) {
  if (rank == mesh.rank) return {{kCollectiveOutput, offset}, {}, WEFT_NO_SEMAPHORE};
  return {{kCollectiveOutput, offset}, static_cast<uint16_t>(mesh.chips[rank]), kCollectiveDirect};
}

uint64_t tiles(uint64_t bytes, uint64_t tile_bytes) { return (bytes + tile_bytes - 1) / tile_bytes; }

}  // namespace

CollectivePaths all_to_all_paths(const CollectiveMesh& mesh, const Collective& c, uint64_t tile_bytes) {
  CollectivePaths paths;
  const unsigned ranks = mesh.ranks(), me = mesh.rank;
  const auto send = [&](unsigned to) {
    const auto block = collective_block(c.bytes, ranks, to);
    if (block.bytes != 0)
      paths.transfers.push_back({block.bytes,
                                 {{{kCollectiveInput, block.offset}, WEFT_NO_SEMAPHORE}},
                                 {straight_to(mesh, to, me * block.bytes)}});
  };
  const bool ring = mesh.axes.size() == 1 && mesh.axes.front().ring;
  const auto [below, above] = collective_reach(ranks, ring, me, 0);
  for (unsigned distance = std::max(below, above); distance > 0; distance--) {
    if (distance <= above) send((me + distance) % ranks);
    if (distance <= below) send((me + ranks - distance) % ranks);
  }
  send(me);
  paths.direct_posts = tiles(collective_block(c.bytes, ranks, me).bytes, tile_bytes) * (ranks - 1);
  return paths;
}

CollectivePaths permute_paths(const CollectiveMesh& mesh, const Collective& c, uint64_t tile_bytes) {
  CollectivePaths paths;
  paths.transfers.push_back({c.bytes,
                             {{{kCollectiveInput, 0}, WEFT_NO_SEMAPHORE}},
                             {straight_to(mesh, (mesh.rank + c.shift) % mesh.ranks(), 0)}});
  paths.direct_posts = c.shift == 0 ? 0 : tiles(c.bytes, tile_bytes);
  return paths;
}

}  // namespace weft::compiler
