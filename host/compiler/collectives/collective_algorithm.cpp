// The closed forms of model/ici, with what a chip needs for a step.
#include "host/compiler/collectives/collective_algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "host/compiler/collectives/collective_direct.hpp"
#include "host/compiler/collectives/collective_lanes.hpp"
#include "host/compiler/collectives/collective_resident.hpp"
#include "host/compiler/collectives/collective_tiles.hpp"
#include "host/compiler/layout.hpp"
#include "weft/spec/ici.hpp"

namespace weft::compiler {
namespace {

/// Microseconds of one collective, term by term.
class Estimate {
 public:
  Estimate(const spec::Chip& chip, const SliceShape& slice, const CollectiveMesh& mesh, const Collective& c)
      : mesh_(mesh),
        c_(c),
        bytes_(static_cast<double>(c.bytes)),
        axes_(static_cast<double>(mesh.axes.size())),
        tile_bytes_(static_cast<double>(transfer_tile_bytes(chip))),
        bytes_per_us_(static_cast<double>(slice.link_bytes_per_second) / 1e6),
        vpu_bytes_per_us_(static_cast<double>(chip.n * element_bytes(c.dtype)) * static_cast<double>(chip.clock_hz) /
                          1e6),
        dma_bytes_per_us_(static_cast<double>(chip.word_bytes) * static_cast<double>(chip.clock_hz) / 1e6),
        read_us_(1e6 * chip.hbm_read_latency_cycles / static_cast<double>(chip.clock_hz)),
        write_us_(1e6 * chip.hbm_write_latency_cycles / static_cast<double>(chip.clock_hz)),
        // what arrives becomes visible in HBM, and is loaded from there
        step_us_(read_us_ + write_us_),
        // one to each rank, of a run a lane
        commands_us_(kCyclesOfRun * 1e6 * (mesh.ranks() - 1) * axes_ * (mesh.halves() ? 2 : 1) /
                     static_cast<double>(chip.clock_hz)),
        resident_(is_resident(chip, mesh, c)) {
    for (unsigned axis = 0; axis < mesh.axes.size(); axis++) hops_ += longest_way(axis);
  }

  /// A step at every hop. What is gathered has then come to where it belongs; sums are still to be stored there.
  [[nodiscard]] double neighbor() const {
    if (resident_) return passes() * resident_us() + kPassUs + write_us_;
    const double wire = c_.kind == CollectiveKind::kBroadcast ? pipelined_us() : gather_us();
    return passes() * std::max(hops_ * (kHopUs + step_us_) + wire, pieces_us()) + unhidden_us() +
           (c_.kind == CollectiveKind::kReduceScatter ? step_us_ : 0);
  }
  /// The farthest are sent to first, so what comes last over the busiest link has one hop to go.
  [[nodiscard]] double direct() const {
    const double each = bytes_ / (c_.kind == CollectiveKind::kBroadcast ? 1 : mesh_.ranks()) / bytes_per_us_;
    const double busiest = blocks_on_busiest_link() * each;
    return passes() * (std::max(hops_ * kHopUs + each, kHopUs + busiest) + commands_us_) + write_us_ + alone_us();
  }

 private:
  static constexpr double kHopUs = spec::kIciHopLatencyNs / 1e3;
  static constexpr double kCyclesOfRun = 3;  // of dma_out, in a command of a few
  static constexpr double kPassUs = 0.04;    // resident: a tile's addition and the commands around it

  [[nodiscard]] double passes() const { return c_.kind == CollectiveKind::kAllReduce ? 2 : 1; }
  [[nodiscard]] bool reduces() const {
    return c_.kind == CollectiveKind::kReduceScatter || c_.kind == CollectiveKind::kAllReduce;
  }
  /// Hops along an axis from where data begin to where they end.
  [[nodiscard]] unsigned longest_way(unsigned axis) const {
    const auto [ranks, ring] = mesh_.axes[axis];
    if (ring) return ranks / 2;
    if (c_.kind != CollectiveKind::kBroadcast) return ranks - 1;
    const unsigned root = mesh_.coordinate(c_.root, axis);
    return std::max(root, ranks - 1 - root);
  }

  /// V (1 - 1 / K) / (n W) if axes are alike: every axis works at once, with a part of the data each, as large as it is
  /// fast. Of what takes different axes at the same time the longest counts.
  [[nodiscard]] double gather_us() const {
    double all = 0;
    for (unsigned phase = 0; phase < mesh_.axes.size(); phase++) all += phase_us(phase).wire;
    return all;
  }
  /// In each phase either the links are busy all the time, except for one hop, or every step waits for a tile.
  [[nodiscard]] double resident_us() const {
    double all = 0;
    for (unsigned phase = 0; phase < mesh_.axes.size(); phase++) {
      const auto [wire, tile] = phase_us(phase);
      all += std::max(wire + kHopUs, hops_ / axes_ * (kHopUs + kPassUs + tile));
    }
    return all;
  }
  struct Phase {
    double wire, tile;
  };
  [[nodiscard]] Phase phase_us(unsigned phase) const {
    double all = 0;
    for (const CollectiveAxis& axis : mesh_.axes) all += 1 / way(axis);
    Phase longest{0, 0};
    for (unsigned part = 0; part < mesh_.axes.size(); part++) {
      double bytes = bytes_ / way(mesh_.axes[part]) / all;
      for (unsigned before = 0; before < phase; before++)
        bytes /= mesh_.axes[reduction_axis(mesh_, part, before)].ranks;
      const CollectiveAxis& axis = mesh_.axes[reduction_axis(mesh_, part, phase)];
      const double bucket = bytes / axis.ranks / (mesh_.halves() ? 2 : 1);
      longest.wire = std::max(longest.wire, bytes * way(axis) / bytes_per_us_);
      longest.tile = std::max(longest.tile, resident_tile_bytes(bucket) / bytes_per_us_);
    }
    return longest;
  }
  static double resident_tile_bytes(double bucket) {
    return std::min(bucket, std::clamp(bucket / kTilesInBucket, double{kLeastTileBytes}, double{kMostTileBytes}));
  }
  /// Of the bytes that are gathered along an axis, those on each of its links.
  static double way(const CollectiveAxis& axis) { return (1 - 1.0 / axis.ranks) / (axis.ring ? 2 : 1); }
  /// A block of one tile waits at each hop until it is loaded, added and read again; of two tiles one hides the other.
  [[nodiscard]] double unhidden_us() const {
    const double piece = bytes_ / mesh_.ranks() / axes_ / (mesh_.halves() ? 2 : 1);
    const double alone = std::min(piece, std::max(0.0, 2 * tile_bytes_ - piece));
    if (c_.kind == CollectiveKind::kBroadcast) return 0;
    if (!reduces()) return hops_ * 2 * alone / dma_bytes_per_us_;
    return hops_ * (4 * alone / dma_bytes_per_us_ + alone / vpu_bytes_per_us_);
  }
  /// A broadcast passes tiles on: the array over each link of the root, of which every axis carries each part once, and
  /// one tile over each further one.
  [[nodiscard]] double pipelined_us() const {
    const double tile = std::min(bytes_ / axes_ / (mesh_.halves() ? 2 : 1), tile_bytes_);
    return (bytes_ + (hops_ - 1) * tile) / bytes_per_us_;
  }
  /// A chip takes the pieces of all blocks one after the other, with so many loads under way.
  [[nodiscard]] double pieces_us() const {
    const double lanes = axes_ * (mesh_.halves() ? 2 : 1);
    const double blocks = c_.kind == CollectiveKind::kBroadcast ? 1 : mesh_.ranks();
    return std::max(blocks * lanes, bytes_ / tile_bytes_) * read_us_ / kTilesAtOnce;
  }

  /// What runs beside nothing: of a reduction the sums of a block, a row a cycle. From neighbour to neighbour they are
  /// hidden behind the links. Loads go before the barrier has ended.
  [[nodiscard]] double alone_us() const {
    return reduces() ? (mesh_.ranks() - 1) * bytes_ / mesh_.ranks() / vpu_bytes_per_us_ : 0;
  }

  /// Each rank's block straight to each rank: those of one half of an axis to its other half, on a ring by two links.
  /// Where several axes are taken one after the other, the ranks of the others share an axis out among them. A
  /// broadcast: what leaves the root along the axis that is taken first.
  [[nodiscard]] double blocks_on_busiest_link() const {
    double most = 0;
    for (unsigned axis = 0; axis < mesh_.axes.size(); axis++) {
      const auto [ranks, ring] = mesh_.axes[axis];
      const double others = mesh_.ranks() / ranks, half = ranks / 2, rest = ranks - half;
      most = std::max(
          most, others * (c_.kind == CollectiveKind::kBroadcast ? longest_way(axis) : half * rest / (ring ? 2 : 1)));
    }
    return most;
  }

  const CollectiveMesh& mesh_;
  const Collective& c_;
  const double bytes_, axes_, tile_bytes_, bytes_per_us_, vpu_bytes_per_us_, dma_bytes_per_us_, read_us_, write_us_,
      step_us_, commands_us_;
  const bool resident_;
  double hops_ = 0;
};

}  // namespace

bool has_algorithms(CollectiveKind kind) {
  return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kBroadcast;
}

CollectiveTimes collective_times(const spec::Chip& chip, const SliceShape& slice, const CollectiveMesh& mesh,
                                 const Collective& c) {
  if (!has_algorithms(c.kind) || mesh.ranks() == 1 || slice.link_bytes_per_second == 0) return {};
  const Estimate estimate(chip, slice, mesh, c);
  return {estimate.neighbor(), estimate.direct()};
}

Result<CollectiveAlgorithm> collective_algorithm(const spec::Chip& chip, const SliceShape& slice,
                                                 const CollectiveMesh& mesh, const Collective& c) {
  using enum CollectiveAlgorithm;
  if (!has_algorithms(c.kind)) {
    if (c.algorithm == kNeighbor)
      return Error{WEFT_ERROR_INVALID_ARGUMENT,
                   "algorithm neighbor: all-to-all, permute and barrier go straight to each rank"};
    return kDirect;
  }
  if (mesh.ranks() == 1) return kNeighbor;
  const uint64_t vmem = direct_vmem_bytes(chip, mesh, c);
  if (c.algorithm == kDirect && vmem > chip.vmem_bytes)
    return Error{WEFT_ERROR_UNSUPPORTED,
                 fmt::format("algorithm direct: {} bytes among {} ranks take {} bytes of VMEM, and {} has {}", c.bytes,
                             mesh.ranks(), vmem, chip.name, chip.vmem_bytes)};
  if (c.algorithm != kBySize) return c.algorithm;
  const auto times = collective_times(chip, slice, mesh, c);
  return vmem <= chip.vmem_bytes && times.direct_us < times.neighbor_us ? kDirect : kNeighbor;
}

const char* algorithm_name(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::kBySize:
      return "auto";
    case CollectiveAlgorithm::kNeighbor:
      return "neighbor";
    case CollectiveAlgorithm::kDirect:
      return "direct";
  }
  return "";
}

}  // namespace weft::compiler
