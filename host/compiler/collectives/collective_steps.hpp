/// What a rank does in a collective from neighbour to neighbour, tile by tile in the order of time.
#pragma once
#include <cstdint>
#include <vector>

#include "host/compiler/collectives/collective_lanes.hpp"

namespace weft::compiler {

/// One tile at one rank.
struct RankStep {
  enum class Kind : uint8_t {
    kBegin,   ///< sums of a bucket set out here: this rank's part goes to the neighbour
    kPass,    ///< what has come, plus this rank's part, goes on
    kSum,     ///< the bucket is this rank's: what has come from below, its part, what has come from above
    kSetOut,  ///< this rank's bucket goes to both neighbours
    kArrive,  ///< a bucket has come; it goes on if ranks are left
  };
  Kind kind;
  unsigned lane = 0, level = 0;
  unsigned owner = 0;  ///< place on the level's axis of the bucket's owner
  bool down = false;   ///< kBegin, kPass, kArrive: it goes down the axis
  unsigned above = 0;  ///< kSetOut, kArrive, last kSum of an all-reduce: ranks above that it still goes to ...
  unsigned below = 0;  ///< ... and below
  bool from_below = false, from_above = false;  ///< kSum: sums come from there
  bool last_sum = false;                        ///< kSum: over all axes
  CollectiveTile tile = {};
  struct Order {
    uint64_t time = 0;
    unsigned phase = 0, lane = 0;
    uint64_t number = 0;
    auto operator<=>(const Order&) const = default;
  } order = {};
};

/// All steps of `mesh.rank`, in an order in which each waits only for what stands before it, here or at a neighbour:
/// by the time at which it is due if nothing is late. A step along an axis lasts a hop and the bytes of its first
/// bucket wherever a lane takes that axis, so what one rank sends along a link is what the next one waits for, in the
/// same order.
[[nodiscard]] std::vector<RankStep> collective_steps(const CollectiveMesh& mesh, const Collective& collective,
                                                     const CollectiveLanes& lanes, uint64_t link_bytes_per_second);

}  // namespace weft::compiler
