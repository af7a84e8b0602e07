// Ranks of axes and of explicit groups.
#include "host/compiler/collectives/collective_mesh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace weft::compiler {
namespace {

constexpr uint64_t kGranule = 16;

Error invalid(std::string text) { return {WEFT_ERROR_INVALID_ARGUMENT, std::move(text)}; }

/// Chips base + i * stride[0] + j * stride[1] + k * stride[2].
struct Box {
  std::array<uint32_t, 3> count{1, 1, 1}, stride{};
};

/// None: the chips, in ascending order, are no box.
std::optional<Box> box_of(const std::vector<uint32_t>& chips) {
  Box box;
  size_t have = 1;  // chips of the box so far
  for (unsigned axis = 0; axis < 3 && have < chips.size(); axis++) {
    const uint32_t stride = chips[have] - chips[0];
    uint32_t count = 1;
    while ((count + 1) * have <= chips.size() && chips[count * have] == chips[0] + count * stride) count++;
    box.count[axis] = count, box.stride[axis] = stride;
    have *= count;
  }
  if (have != chips.size()) return std::nullopt;
  for (size_t i = 0; i < chips.size(); i++) {
    const auto j = i / box.count[0], k = j / box.count[1];
    const uint64_t chip =
        chips[0] + i % box.count[0] * box.stride[0] + j % box.count[1] * box.stride[1] + k * box.stride[2];
    if (chip != chips[i]) return std::nullopt;
  }
  return box;
}

bool neighbors(const SliceShape& slice, uint32_t a, uint32_t b) {
  unsigned differ = 0;
  bool near = true;
  uint32_t stride = 1;
  for (unsigned axis = 0; axis < 3; axis++) {
    const unsigned size = slice.size[axis], at_a = a / stride % size, at_b = b / stride % size;
    const unsigned distance = at_a > at_b ? at_a - at_b : at_b - at_a;
    if (distance != 0) {
      differ++;
      near &= distance == 1 || (slice.wraps[axis] && distance == size - 1);
    }
    stride *= size;
  }
  return differ == 1 && near;
}

/// A group whose every chip is a neighbour of the next, and the last of the first, is a ring.
bool closes(const SliceShape& slice, const std::vector<uint32_t>& chips) {
  for (size_t i = 0; i < chips.size(); i++)
    if (!neighbors(slice, chips[i], chips[(i + 1) % chips.size()])) return false;
  return chips.size() > 2;
}

/// Of a group that is a mesh of the slice's links in its order, rank counting along the first axis first. Empty: it is
/// none, or a line.
std::vector<CollectiveAxis> axes_of(const SliceShape& slice, const std::vector<uint32_t>& chips) {
  std::vector<CollectiveAxis> axes;
  for (size_t have = 1; have < chips.size();) {
    unsigned ranks = 1;
    while ((ranks + 1) * have <= chips.size() && neighbors(slice, chips[(ranks - 1) * have], chips[ranks * have]))
      ranks++;
    if (ranks == 1) return {};
    bool ring = ranks > 2;
    for (size_t i = 0; i < chips.size(); i++) {
      const size_t first = i / (ranks * have) * ranks * have + i % have;  // of the rank's line
      const size_t at = i / have % ranks;
      if (at + 1 < ranks && (i + have >= chips.size() || !neighbors(slice, chips[i], chips[i + have]))) return {};
      if (at + 1 == ranks) ring &= neighbors(slice, chips[i], chips[first]);
    }
    axes.push_back({ranks, ring});
    have *= ranks;
  }
  return axes.size() > 1 ? axes : std::vector<CollectiveAxis>{};
}

Result<CollectiveMesh> mesh_of_group(const SliceShape& slice, const std::vector<std::vector<uint32_t>>& groups,
                                     uint32_t chip) {
  std::vector<bool> seen(slice.chips());
  for (const auto& group : groups) {
    if (group.empty()) return invalid("a group without chips");
    for (const uint32_t member : group) {
      if (member >= slice.chips())
        return invalid(fmt::format("chip {} in a group: the slice has {}", member, slice.chips()));
      if (seen[member]) return invalid(fmt::format("chip {} is in the groups twice", member));
      seen[member] = true;
    }
    auto sorted = group;
    std::ranges::sort(sorted);
    if (!box_of(sorted))
      return invalid(
          fmt::format("the group of chip {} is no box: chips at regular strides along up to three axes are "
                      "due, as a barrier names them",
                      group.front()));
    if (group.size() != groups.front().size())
      return invalid(
          fmt::format("groups of {} and {} chips: all have the same number", groups.front().size(), group.size()));
  }
  for (const auto& group : groups)
    if (const auto found = std::ranges::find(group, chip); found != group.end())
      return CollectiveMesh{group,
                            {{static_cast<unsigned>(group.size()), closes(slice, group)}},
                            static_cast<unsigned>(found - group.begin())};
  return invalid(fmt::format("chip {} is in no group", chip));
}

/// As an axis is fast: K / (K - 1) of a line, twice that of a ring, over one denominator.
uint64_t part_weight(const CollectiveMesh& mesh, unsigned part) {
  if (mesh.axes.size() == 1) return 1;
  uint64_t weight = uint64_t{mesh.axes[part].ranks} * (mesh.axes[part].ring ? 2 : 1);
  for (unsigned other = 0; other < mesh.axes.size(); other++)
    if (other != part) weight *= mesh.axes[other].ranks - 1;
  return weight;
}

}  // namespace

unsigned CollectiveMesh::coordinate(unsigned of_rank, unsigned axis) const {
  for (unsigned i = 0; i < axis; i++) of_rank /= axes[i].ranks;
  return of_rank % axes[axis].ranks;
}

unsigned CollectiveMesh::moved(unsigned from_rank, unsigned axis, unsigned to) const {
  unsigned stride = 1;
  for (unsigned i = 0; i < axis; i++) stride *= axes[i].ranks;
  return from_rank + to * stride - coordinate(from_rank, axis) * stride;
}

bool CollectiveMesh::halves() const {
  return std::ranges::any_of(axes, [](const CollectiveAxis& a) { return a.ring && a.ranks % 2 == 0; });
}

Result<CollectiveMesh> collective_mesh(const SliceShape& slice, const Collective& c, uint32_t chip) {
  if (chip >= slice.chips()) return invalid(fmt::format("chip {}: the slice has {}", chip, slice.chips()));
  if (!c.groups.empty()) {
    auto mesh = mesh_of_group(slice, c.groups, chip);
    if (mesh.ok() && c.kind == CollectiveKind::kAllGather)  // of a reduction it would be another order
      if (auto axes = axes_of(slice, mesh.value().chips); !axes.empty()) mesh.value().axes = std::move(axes);
    return mesh;
  }
  CollectiveMesh mesh;
  uint32_t stride = 1, rank_stride = 1;
  std::vector<uint32_t> chips{chip};
  for (unsigned axis = 0; axis < 3; axis++) {
    const uint32_t size = slice.size[axis], at = chip / stride % size;
    if (c.axes[axis] && size > 1) {
      std::vector<uint32_t> more;
      for (uint32_t i = 0; i < size; i++)
        for (const uint32_t member : chips) more.push_back(member + i * stride - at * stride);
      chips = std::move(more);
      mesh.axes.push_back({size, slice.wraps[axis]});
      mesh.rank += at * rank_stride;
      rank_stride *= size;
    }
    stride *= size;
  }
  if (c.axes == MeshAxes{}) return invalid("no axis: x, y, z or several are due");
  if (mesh.axes.empty()) mesh.axes.push_back({});
  mesh.chips = std::move(chips);
  return mesh;
}

spec::BarrierCommand collective_barrier(const CollectiveMesh& mesh) {
  auto sorted = mesh.chips;
  std::ranges::sort(sorted);
  const Box box = *box_of(sorted);
  spec::BarrierCommand barrier;
  barrier.base = static_cast<uint16_t>(sorted.front());
  barrier.count0 = static_cast<uint16_t>(box.count[0]), barrier.stride0 = static_cast<uint16_t>(box.stride[0]);
  barrier.count1 = static_cast<uint16_t>(box.count[1]), barrier.stride1 = static_cast<uint16_t>(box.stride[1]);
  barrier.count2 = static_cast<uint16_t>(box.count[2]), barrier.stride2 = static_cast<uint16_t>(box.stride[2]);
  return barrier;
}

CollectiveBlock collective_block(uint64_t bytes, unsigned ranks, unsigned rank) {
  const uint64_t granules = bytes / kGranule, each = granules / ranks, longer = granules % ranks;
  return {(rank * each + std::min<uint64_t>(rank, longer)) * kGranule, (each + (rank < longer ? 1 : 0)) * kGranule};
}

CollectiveBlock collective_piece(const CollectiveMesh& mesh, const CollectiveBlock& block, unsigned part,
                                 unsigned half) {
  uint64_t before = 0, all = 0;
  for (unsigned i = 0; i < mesh.axes.size(); i++) {
    if (i == part) before = all;
    all += part_weight(mesh, i);
  }
  const auto cut = [&](uint64_t weight) { return (block.bytes / kGranule * weight + all - 1) / all * kGranule; };
  const uint64_t first = cut(before), end = cut(before + part_weight(mesh, part));
  const auto h = collective_block(end - first, mesh.halves() ? 2 : 1, half);
  return {block.offset + first + h.offset, h.bytes};
}

CollectiveReach collective_reach(unsigned ranks, bool ring, unsigned rank, unsigned half) {
  if (!ring) return {rank, ranks - 1 - rank};
  const unsigned shorter = ranks - 1 - ranks / 2;
  return half == 0 ? CollectiveReach{ranks / 2, shorter} : CollectiveReach{shorter, ranks / 2};
}

}  // namespace weft::compiler
