// Pieces in the order of a lane's axes, and strips of them in HBM.
#include "host/compiler/collectives/collective_lanes.hpp"

#include <algorithm>

#include "base/round_up.hpp"

namespace weft::compiler {
namespace {

bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::kReduceScatter || kind == CollectiveKind::kAllReduce;
}

/// A ring's ranks have K - 1 sums to take in; a line's, by their place, up to K from below and up to K from above.
uint64_t slots(const CollectiveAxis& axis) { return axis.ring ? axis.ranks - 1 : axis.ranks + 1; }

/// The strip goes on with `next` along dimension `dim`.
bool extend(CollectiveStrip& strip, const CollectiveStrip& next, unsigned dim) {
  const auto steps = static_cast<int64_t>(strip.count[dim]);
  const auto hbm = static_cast<int64_t>(next.hbm) - static_cast<int64_t>(strip.hbm);
  const auto vmem = static_cast<int64_t>(next.vmem) - static_cast<int64_t>(strip.vmem);
  if (steps == 1) {
    strip.hbm_stride[dim] = hbm, strip.vmem_stride[dim] = vmem;
  } else if (hbm != steps * strip.hbm_stride[dim] || vmem != steps * strip.vmem_stride[dim]) {
    return false;
  }
  strip.count[dim]++;
  return true;
}

}  // namespace

CollectiveLanes::CollectiveLanes(const CollectiveMesh& mesh, const Collective& collective, uint64_t row_bytes)
    : mesh_(mesh), c_(collective), row_bytes_(row_bytes) {
  const auto axes = static_cast<unsigned>(mesh.axes.size());
  const CollectiveBlock longer = collective_block(c_.bytes, mesh.ranks(), 0);
  const CollectiveBlock shorter = collective_block(c_.bytes, mesh.ranks(), mesh.ranks() - 1);
  const auto place = [this](uint64_t bytes) {
    const uint64_t at = vmem_bytes_;
    vmem_bytes_ += bytes;
    return at;
  };
  for (unsigned part = 0; part < axes; part++)
    for (unsigned half = 0; half < (mesh.halves() ? 2u : 1u); half++) {
      CollectiveLane lane{.part = part, .half = half};
      const uint64_t a = collective_piece(mesh, longer, part, half).bytes;
      const uint64_t b = collective_piece(mesh, shorter, part, half).bytes;
      lane.length = std::max(a, b), lane.shortest = std::min(a, b);
      if (lane.length == 0) continue;
      lane.pitch = round_up(lane.length, row_bytes);
      lane.own = place(mesh.ranks() * lane.pitch);
      uint64_t span = mesh.ranks();
      for (unsigned level = 0; level < axes; level++) {
        const unsigned axis = reduction_axis(mesh, part, level);
        lane.axis.push_back(axis);
        lane.span.push_back(span /= mesh.axes[axis].ranks);
        lane.sums.push_back(reduces(c_.kind) ? place(slots(mesh.axes[axis]) * span * lane.pitch) : 0);
      }
      lanes_.push_back(std::move(lane));
    }
}

uint64_t CollectiveLanes::bucket(const CollectiveLane& lane, unsigned level, unsigned place) const {
  uint64_t first = place * lane.span[level];
  for (unsigned before = 0; before < level; before++)
    first += mesh_.coordinate(mesh_.rank, lane.axis[before]) * lane.span[before];
  return first;
}

std::vector<CollectiveTile> CollectiveLanes::tiles(const CollectiveLane& lane, unsigned level, unsigned place) const {
  const uint64_t first = bucket(lane, level, place), count = lane.span[level];
  const uint64_t most = std::clamp(count * lane.pitch / kTilesInBucket, kLeastTileBytes, kMostTileBytes);
  const uint64_t tile = std::max(row_bytes_, most / row_bytes_ * row_bytes_);
  std::vector<CollectiveTile> out;
  if (lane.pitch > tile) {
    for (uint64_t piece = first; piece < first + count; piece++)
      for (uint64_t at = 0; at < lane.length; at += tile)
        out.push_back({piece, 1, at, std::min(tile, lane.length - at)});
  } else {
    const uint64_t pieces = tile / lane.pitch;
    for (uint64_t piece = 0; piece < count; piece += pieces)
      out.push_back({first + piece, std::min(pieces, count - piece), 0, lane.length});
  }
  std::erase_if(out, [&](const CollectiveTile& t) { return empty(lane, t); });
  return out;
}

bool CollectiveLanes::empty(const CollectiveLane& lane, const CollectiveTile& tile) const {
  if (tile.at < lane.shortest) return false;
  for (uint64_t piece = tile.first; piece < tile.first + tile.count; piece++)
    if (piece_of(lane, piece).bytes > tile.at) return false;
  return true;
}

CollectiveBlock CollectiveLanes::piece_of(const CollectiveLane& lane, uint64_t piece) const {
  return collective_piece(mesh_, collective_block(c_.bytes, mesh_.ranks(), rank_of(lane, piece)), lane.part, lane.half);
}

uint64_t CollectiveLanes::slot(const CollectiveLane& lane, unsigned level, unsigned at, unsigned owner,
                               bool from_above) const {
  const CollectiveAxis& axis = mesh_.axes[lane.axis[level]];
  const uint64_t distance = (from_above ? at + axis.ranks - owner : owner + axis.ranks - at) % axis.ranks;
  const uint64_t slot = from_above ? slots(axis) - 1 - distance : distance;
  return lane.sums[level] + slot * lane.span[level] * lane.pitch;
}

unsigned CollectiveLanes::rank_of(const CollectiveLane& lane, uint64_t piece) const {
  unsigned rank = 0;
  for (unsigned level = 0; level < lane.axis.size(); level++) {
    const unsigned axis = lane.axis[level];
    rank = mesh_.moved(rank, axis, static_cast<unsigned>(piece / lane.span[level] % mesh_.axes[axis].ranks));
  }
  return rank;
}

std::vector<CollectiveStrip> CollectiveLanes::strips(const CollectiveLane& lane, const CollectiveTile& tile,
                                                     uint64_t first) const {
  std::vector<CollectiveStrip> runs;
  for (uint64_t piece = tile.first; piece < tile.first + tile.count; piece++) {
    const auto [offset, bytes] = piece_of(lane, piece);
    if (bytes <= tile.at) continue;
    const CollectiveStrip run{.hbm = offset + tile.at - first,
                              .vmem = lane.own + piece * lane.pitch + tile.at,
                              .bytes = std::min(tile.bytes, bytes - tile.at)};
    if (runs.empty() || runs.back().bytes != run.bytes || !extend(runs.back(), run, 0)) runs.push_back(run);
  }
  std::vector<CollectiveStrip> out;
  for (const CollectiveStrip& run : runs) {
    const bool alike = !out.empty() && out.back().bytes == run.bytes && out.back().count[0] == run.count[0] &&
                       out.back().hbm_stride[0] == run.hbm_stride[0] && out.back().vmem_stride[0] == run.vmem_stride[0];
    if (!alike || !extend(out.back(), run, 1)) out.push_back(run);
  }
  return out;
}

}  // namespace weft::compiler
