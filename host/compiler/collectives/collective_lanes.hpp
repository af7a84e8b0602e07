/// Where the pieces of a collective lie in VMEM: lane by lane, so that what goes along an axis together is one range.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "host/compiler/collectives/collective_mesh.hpp"

namespace weft::compiler {

/// One piece of every rank's block (part, half), in VMEM. A lane takes the axes in an order of its own, a level each.
/// Its pieces stand in that order, the first axis in the outermost place: so a *bucket*, what the rank at one place of
/// a level's axis is to have, is a range of pieces.
struct CollectiveLane {
  unsigned part = 0, half = 0;
  std::vector<unsigned> axis = {};  ///< of each level
  std::vector<uint64_t> span = {};  ///< pieces of a bucket of each level
  uint64_t length = 0;              ///< bytes of the longest piece; the others are sent as if they were as long
  uint64_t shortest = 0;            ///< bytes of the shortest one
  uint64_t pitch = 0;               ///< bytes from piece to piece: whole rows of the VPU
  uint64_t own = 0;                 ///< VMEM address of piece 0: this rank's array, then sums, then what is gathered
  std::vector<uint64_t> sums = {};  ///< of each level: VMEM address of slot 0 of the sums on their way, a bucket a slot
};

/// A bucket goes in so many tiles, so that a rank sends on while the rest arrives; none is shorter or longer than this.
inline constexpr uint64_t kTilesInBucket = 4, kLeastTileBytes = 4096, kMostTileBytes = 32768;

/// Some pieces whole, or a part of one.
struct CollectiveTile {
  uint64_t first = 0, count = 0;  ///< pieces of the lane
  uint64_t at = 0, bytes = 0;     ///< of each; at is 0 and bytes the lane's length if there are several
};

/// A run in HBM and in VMEM, repeated along up to two dimensions: what one COPY takes.
struct CollectiveStrip {
  uint64_t hbm = 0, vmem = 0, bytes = 0;
  std::array<uint64_t, 2> count{1, 1};
  std::array<int64_t, 2> hbm_stride{}, vmem_stride{};
};

/// The same for all ranks of a group.
class CollectiveLanes {
 public:
  /// `row_bytes`: of the VPU, in VMEM.
  CollectiveLanes(const CollectiveMesh& mesh, const Collective& collective, uint64_t row_bytes);

  /// Without empty ones.
  [[nodiscard]] const std::vector<CollectiveLane>& lanes() const { return lanes_; }
  [[nodiscard]] uint64_t vmem_bytes() const { return vmem_bytes_; }

  /// First piece of the bucket of the rank at `place` of the level's axis, among what `mesh.rank` has before the level.
  [[nodiscard]] uint64_t bucket(const CollectiveLane& lane, unsigned level, unsigned place) const;
  /// How a bucket of a level is cut; both ends of a link cut it alike. Without tiles that no piece has bytes of.
  [[nodiscard]] std::vector<CollectiveTile> tiles(const CollectiveLane& lane, unsigned level, unsigned place) const;
  /// VMEM address, at the rank at `at` of the level's axis, of sums that come for the rank at `owner` from below, or
  /// from above.
  [[nodiscard]] uint64_t slot(const CollectiveLane& lane, unsigned level, unsigned at, unsigned owner,
                              bool from_above) const;
  /// Where the bytes of a tile lie in an array that begins at `first` of the whole; shorter pieces have fewer.
  [[nodiscard]] std::vector<CollectiveStrip> strips(const CollectiveLane& lane, const CollectiveTile& tile,
                                                    uint64_t first) const;

 private:
  [[nodiscard]] bool empty(const CollectiveLane& lane, const CollectiveTile& tile) const;
  /// In the whole array.
  [[nodiscard]] CollectiveBlock piece_of(const CollectiveLane& lane, uint64_t piece) const;
  [[nodiscard]] unsigned rank_of(const CollectiveLane& lane, uint64_t piece) const;

  const CollectiveMesh& mesh_;
  const Collective& c_;
  const uint64_t row_bytes_;
  std::vector<CollectiveLane> lanes_;
  uint64_t vmem_bytes_ = 0;
};

}  // namespace weft::compiler
