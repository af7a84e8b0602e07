// Ranks on the axes of a slice, and blocks of columns.
#include "host/compiler/sharded/sharding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace weft::compiler {
namespace {

constexpr unsigned kMaxGroup = WEFT_SEMAPHORES - WEFT_REMOTE_SEMAPHORE_FIRST;  // a semaphore for each sender

std::array<uint32_t, 3> coordinates(const SliceShape& slice, uint32_t chip) {
  return {chip % slice.size[0], chip / slice.size[0] % slice.size[1], chip / slice.size[0] / slice.size[1]};
}

/// The chip at `coordinates` but for `axes`, where it stands at rank `rank`.
std::array<uint32_t, 3> moved(const SliceShape& slice, std::array<uint32_t, 3> place, const MeshAxes& axes,
                              unsigned rank) {
  for (unsigned axis = 0; axis < 3; axis++) {
    if (!axes[axis]) continue;
    place[axis] = rank % slice.size[axis];
    rank /= slice.size[axis];
  }
  return place;
}

}  // namespace

bool is_dense(const Graph& graph, const Sharding& sharding) {
  const auto dense = [](const Node& node) {
    return std::holds_alternative<DenseNode>(node) || std::holds_alternative<VectorNode>(node) ||
           std::holds_alternative<CopyNode>(node);
  };
  const bool batch = sharding.batch != MeshAxes{};
  return std::ranges::all_of(graph.nodes, dense) &&
         (!batch || std::ranges::all_of(graph.tensors, [&](const Tensor& tensor) {
           return tensor.rows == graph.tensors.front().rows;
         }));
}

unsigned mesh_ranks(const SliceShape& slice, const MeshAxes& axes) {
  unsigned ranks = 1;
  for (unsigned axis = 0; axis < 3; axis++)
    if (axes[axis]) ranks *= slice.size[axis];
  return ranks;
}

unsigned mesh_rank(const SliceShape& slice, const MeshAxes& axes, uint32_t chip) {
  const auto place = coordinates(slice, chip);
  unsigned rank = 0, stride = 1;
  for (unsigned axis = 0; axis < 3; axis++) {
    if (!axes[axis]) continue;
    rank += place[axis] * stride;
    stride *= slice.size[axis];
  }
  return rank;
}

Span shard(uint64_t total, uint64_t unit, unsigned ranks, unsigned rank) {
  const uint64_t units = (total + unit - 1) / unit, each = units / ranks, longer = units % ranks;
  const uint64_t first = (rank * each + std::min<uint64_t>(rank, longer)) * unit;
  const uint64_t end = first + (each + (rank < longer ? 1 : 0)) * unit;
  return {std::min(first, total), std::min(end, total) - std::min(first, total)};
}

Status check_sharding(const SliceShape& slice, const Sharding& sharding, uint64_t rows) {
  for (unsigned axis = 0; axis < 3; axis++)
    if (sharding.batch[axis] + sharding.k[axis] + sharding.n[axis] > 1)
      return Error{WEFT_ERROR_INVALID_ARGUMENT,
                   fmt::format("axis {} cuts two of batch, k and n; an axis cuts one thing", "xyz"[axis])};
  const std::array<std::pair<const char*, MeshAxes>, 3> kinds{
      {{"batch", sharding.batch}, {"weights=k", sharding.k}, {"weights=n", sharding.n}}};
  for (const auto& [kind, axes] : kinds)
    if (slice.chips() > 1 && axes != MeshAxes{} && mesh_ranks(slice, axes) == 1) {
      std::string named;
      for (unsigned axis = 0; axis < 3; axis++)
        if (axes[axis]) named += "xyz"[axis];
      return Error{WEFT_ERROR_INVALID_ARGUMENT,
                   fmt::format("{} over axis {} cuts nothing: a slice of {}x{}x{} chips has one chip along it", kind,
                               named, slice.size[0], slice.size[1], slice.size[2])};
    }
  if (const unsigned ranks = mesh_ranks(slice, sharding.batch); rows < ranks)
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("a batch of {} rows over {} chips: each needs a row at least", rows, ranks)};
  const unsigned group = mesh_ranks(slice, sharding.k) * mesh_ranks(slice, sharding.n);
  if (group > kMaxGroup)
    return Error{WEFT_ERROR_UNSUPPORTED,
                 fmt::format("weights over {} chips: {} are possible, as many as a chip has semaphores for the others; "
                             "give more axes to the batch",
                             group, kMaxGroup)};
  return Ok{};
}

ShardView::ShardView(const SliceShape& slice, const Sharding& sharding, uint32_t chip, uint64_t unit)
    : slice_(slice),
      sharding_(sharding),
      chip_(chip),
      unit_(unit),
      batch_ranks_(mesh_ranks(slice, sharding.batch)),
      batch_rank_(mesh_rank(slice, sharding.batch, chip)),
      k_ranks_(mesh_ranks(slice, sharding.k)),
      n_ranks_(mesh_ranks(slice, sharding.n)),
      me_(member(mesh_rank(slice, sharding.k, chip), mesh_rank(slice, sharding.n, chip))) {}

uint16_t ShardView::chip(unsigned member) const {
  auto place = coordinates(slice_, chip_);
  place = moved(slice_, place, sharding_.k, k_rank(member));
  place = moved(slice_, place, sharding_.n, n_rank(member));
  return static_cast<uint16_t>(place[0] + slice_.size[0] * (place[1] + slice_.size[1] * place[2]));
}

Span ShardView::k_block(unsigned member, uint64_t columns) const {
  return shard(columns, unit_, k_ranks_, k_rank(member));
}

Span ShardView::n_block(unsigned member, uint64_t columns) const {
  return shard(columns, unit_, n_ranks_, n_rank(member));
}

Span ShardView::result_block(unsigned member, uint64_t columns) const {
  const Span block = n_block(member, columns), share = shard(block.count, unit_, k_ranks_, k_rank(member));
  return {block.first + share.first, share.count};
}

Span ShardView::input_block(unsigned member, uint64_t columns) const {
  return n_ranks_ == 1 ? k_block(member, columns) : Span{0, columns};
}

std::optional<spec::BarrierCommand> ShardView::barrier() const {
  if (members() == 1) return std::nullopt;
  spec::BarrierCommand barrier;
  barrier.base = chip(0);
  std::array<uint16_t, 3> count{1, 1, 1}, stride{};
  uint32_t step = 1;
  for (unsigned axis = 0; axis < 3; axis++) {
    if ((sharding_.k[axis] || sharding_.n[axis]) && slice_.size[axis] > 1) {
      count[axis] = static_cast<uint16_t>(slice_.size[axis]);
      stride[axis] = static_cast<uint16_t>(step);
    }
    step *= slice_.size[axis];
  }
  barrier.count0 = count[0], barrier.count1 = count[1], barrier.count2 = count[2];
  barrier.stride0 = stride[0], barrier.stride1 = stride[1], barrier.stride2 = stride[2];
  return barrier;
}

}  // namespace weft::compiler
