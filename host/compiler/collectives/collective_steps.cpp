// Chains towards each bucket's owner, and buckets away from their owners, level after level.
#include "host/compiler/collectives/collective_steps.hpp"

#include <algorithm>

#include "weft/spec/ici.hpp"

namespace weft::compiler {
namespace {

constexpr uint64_t kOverheadNs = 150;  // of a rank, for a tile that it passes on

using Kind = RankStep::Kind;

class Steps {
 public:
  Steps(const CollectiveMesh& mesh, const Collective& c, const CollectiveLanes& lanes, uint64_t link_bytes_per_second)
      : mesh_(mesh), c_(c), lanes_(lanes) {
    for (unsigned axis = 0; axis < mesh.axes.size(); axis++) {
      uint64_t bytes = 0;
      for (const CollectiveLane& lane : lanes.lanes())
        if (lane.axis.front() == axis) bytes += lane.length * lane.span.front();
      bytes_ns_.push_back(link_bytes_per_second == 0 ? 0 : bytes * 1'000'000'000 / link_bytes_per_second);
    }
  }

  std::vector<RankStep> run() {
    const auto levels = static_cast<unsigned>(mesh_.axes.size());
    for (lane_ = 0; lane_ < lanes_.lanes().size(); lane_++) {
      time_ = 0, phase_ = 0;
      if (c_.kind != CollectiveKind::kAllGather)
        for (level_ = 0; level_ < levels; level_++) reduce(level_ + 1 == levels);
      if (c_.kind != CollectiveKind::kReduceScatter)
        for (level_ = levels; level_-- > 0;) gather(level_ + 1 == levels);
    }
    std::ranges::sort(steps_, {}, &RankStep::order);
    return std::move(steps_);
  }

 private:
  [[nodiscard]] const CollectiveLane& lane() const { return lanes_.lanes()[lane_]; }
  [[nodiscard]] unsigned axis() const { return lane().axis[level_]; }
  [[nodiscard]] unsigned size() const { return mesh_.axes[axis()].ranks; }
  [[nodiscard]] bool ring() const { return mesh_.axes[axis()].ring; }
  [[nodiscard]] unsigned here() const { return mesh_.coordinate(mesh_.rank, axis()); }
  [[nodiscard]] unsigned up(unsigned by) const { return (here() + by) % size(); }
  [[nodiscard]] unsigned down(unsigned by) const { return (here() + size() - by) % size(); }
  [[nodiscard]] bool has_up(unsigned by) const { return ring() || here() + by < size(); }
  [[nodiscard]] bool has_down(unsigned by) const { return ring() || here() >= by; }
  [[nodiscard]] CollectiveReach reach(unsigned place) const {
    return collective_reach(size(), ring(), place, lane().half);
  }
  /// Ranks above, and below, that the bucket of the rank at `place` goes to.
  [[nodiscard]] CollectiveReach spread(unsigned place) const {
    const auto r = reach(place);
    return ring() ? CollectiveReach{r.above, r.below} : r;
  }
  /// Steps along the axis.
  [[nodiscard]] unsigned farthest() const { return ring() ? size() / 2 : size() - 1; }
  [[nodiscard]] uint64_t step_ns() const { return spec::kIciHopLatencyNs + kOverheadNs + bytes_ns_[axis()]; }

  void plan(unsigned step, RankStep what) {
    const auto tiles = lanes_.tiles(lane(), level_, what.owner);
    what.lane = lane_, what.level = level_;
    for (size_t i = 0; i < tiles.size(); i++) {
      what.tile = tiles[i];
      what.order = {time_ + step * step_ns() + bytes_ns_[axis()] * i / tiles.size(), phase_, lane_, steps_.size()};
      steps_.push_back(what);
    }
  }
  void next_phase() {
    time_ += farthest() * step_ns() + bytes_ns_[axis()] + 1;
    phase_++;
  }

  /// Sums towards other owners, the farthest first. Then the sum of this rank's own bucket.
  void reduce(bool last) {
    for (unsigned distance = farthest(); distance > 0; distance--) {
      const unsigned step = farthest() - distance;
      if (has_up(distance) && reach(up(distance)).below >= distance)
        plan(step, {.kind = reach(up(distance)).below == distance ? Kind::kBegin : Kind::kPass, .owner = up(distance)});
      if (has_down(distance) && reach(down(distance)).above >= distance)
        plan(step, {.kind = reach(down(distance)).above == distance ? Kind::kBegin : Kind::kPass,
                    .owner = down(distance),
                    .down = true});
    }
    RankStep sum{.kind = Kind::kSum, .owner = here(), .last_sum = last};
    sum.from_below = reach(here()).below > 0, sum.from_above = reach(here()).above > 0;
    const bool gathers = last && c_.kind == CollectiveKind::kAllReduce;
    if (gathers) sum.above = spread(here()).above, sum.below = spread(here()).below;
    plan(farthest(), sum);
    if (gathers) {
      time_ += farthest() * step_ns();
      phase_++;
    } else {
      next_phase();
    }
  }

  /// `first`: what is gathered has not been on any axis yet.
  void gather(bool first) {
    if (!first || c_.kind == CollectiveKind::kAllGather)
      plan(0, {.kind = Kind::kSetOut, .owner = here(), .above = spread(here()).above, .below = spread(here()).below});
    for (unsigned distance = 1; distance <= farthest(); distance++) {
      if (has_down(distance) && spread(down(distance)).above >= distance)
        plan(distance,
             {.kind = Kind::kArrive, .owner = down(distance), .above = spread(down(distance)).above - distance});
      if (has_up(distance) && spread(up(distance)).below >= distance)
        plan(distance, {.kind = Kind::kArrive,
                        .owner = up(distance),
                        .down = true,
                        .below = spread(up(distance)).below - distance});
    }
    next_phase();
  }

  const CollectiveMesh& mesh_;
  const Collective& c_;
  const CollectiveLanes& lanes_;
  std::vector<uint64_t> bytes_ns_;  ///< of an axis: a step's bytes on a link
  unsigned lane_ = 0, level_ = 0, phase_ = 0;
  uint64_t time_ = 0;
  std::vector<RankStep> steps_;
};

}  // namespace

std::vector<RankStep> collective_steps(const CollectiveMesh& mesh, const Collective& collective,
                                       const CollectiveLanes& lanes, uint64_t link_bytes_per_second) {
  return Steps(mesh, collective, lanes, link_bytes_per_second).run();
}

}  // namespace weft::compiler
