// docs/collectives.md, rank by rank, without tiles and messages.
#include "host/tools/collective_reference.hpp"

#include <algorithm>
#include <span>

#include "model/golden/remote.hpp"

namespace weft::tools {
namespace {

using compiler::Collective;
using compiler::CollectiveBlock;
using compiler::CollectiveKind;
using compiler::SliceShape;
using Bytes = std::vector<std::byte>;

struct Group {
  uint32_t first, stride, ranks;
  [[nodiscard]] uint32_t chip(uint32_t rank) const { return first + rank * stride; }
};

Group group_of(const SliceShape& slice, uint32_t chip, unsigned axis) {
  uint32_t stride = 1;
  for (unsigned i = 0; i < axis; i++) stride *= slice.size[i];
  const uint32_t ranks = slice.size[axis];
  return {chip - chip / stride % ranks * stride, stride, ranks};
}

uint32_t rank_of(const SliceShape& slice, uint32_t chip, unsigned axis) {
  const Group group = group_of(slice, chip, axis);
  return (chip - group.first) / group.stride;
}

Bytes part(const Bytes& data, const CollectiveBlock& block) {
  const auto first = data.begin() + static_cast<std::ptrdiff_t>(block.offset);
  return {first, first + static_cast<std::ptrdiff_t>(block.bytes)};
}

void add(Bytes& sum, const Bytes& more, weft_argument_dtype dtype) {
  const bool wide = dtype == WEFT_ARGUMENT_DTYPE_F32;
  golden::combine(wide ? WEFT_COMMAND_FLAG_REDUCE_F32 : WEFT_COMMAND_FLAG_REDUCE_BF16, sum, more);
}

/// The sum of a block at its owner: the chain from below, its own part, the chain from above.
Bytes reduced_block(const SliceShape& slice, const Collective& c, const ChipData& inputs, const Group& group,
                    uint32_t owner) {
  const CollectiveBlock block = compiler::collective_block(c.bytes, group.ranks, owner);
  const auto [below, above] = compiler::collective_reach(slice, c.axis, owner);
  const auto input = [&](uint32_t rank) { return part(inputs[group.chip(rank % group.ranks)], block); };
  Bytes sum;
  const auto chain = [&](unsigned length, int direction) {
    Bytes out;
    for (unsigned distance = length; distance > 0; distance--) {
      const uint32_t rank = owner + (direction > 0 ? distance : group.ranks - distance);
      if (out.empty())
        out = input(rank);
      else
        add(out, input(rank), c.dtype);
    }
    return out;
  };
  sum = chain(below, -1);
  if (sum.empty())
    sum = input(owner);
  else
    add(sum, input(owner), c.dtype);
  if (const Bytes from_above = chain(above, 1); !from_above.empty()) add(sum, from_above, c.dtype);
  return sum;
}

}  // namespace

uint64_t collective_input_bytes(const SliceShape& slice, uint32_t chip, const Collective& c) {
  if (c.kind == CollectiveKind::kBarrier) return 0;
  if (c.kind != CollectiveKind::kAllGather) return c.bytes;
  return compiler::collective_block(c.bytes, slice.size[c.axis], rank_of(slice, chip, c.axis)).bytes;
}

uint64_t collective_output_bytes(const SliceShape& slice, uint32_t chip, const Collective& c) {
  if (c.kind == CollectiveKind::kBarrier) return 0;
  if (c.kind == CollectiveKind::kAllToAll) {
    const uint32_t ranks = slice.size[c.axis];
    return ranks * compiler::collective_block(c.bytes, ranks, rank_of(slice, chip, c.axis)).bytes;
  }
  if (c.kind != CollectiveKind::kReduceScatter) return c.bytes;
  return compiler::collective_block(c.bytes, slice.size[c.axis], rank_of(slice, chip, c.axis)).bytes;
}

ChipData collective_reference(const SliceShape& slice, const Collective& c, const ChipData& inputs) {
  ChipData outputs(slice.chips());
  for (uint32_t chip = 0; chip < slice.chips(); chip++) {
    const Group group = group_of(slice, chip, c.axis);
    if (c.kind == CollectiveKind::kBroadcast) outputs[chip] = inputs[group.chip(c.root)];
    const uint32_t own = rank_of(slice, chip, c.axis);
    if (c.kind == CollectiveKind::kPermute)
      outputs[chip] = inputs[group.chip((own + group.ranks - c.shift) % group.ranks)];
    for (uint32_t rank = 0; rank < group.ranks && c.kind == CollectiveKind::kAllToAll; rank++) {
      const Bytes block = part(inputs[group.chip(rank)], compiler::collective_block(c.bytes, group.ranks, own));
      outputs[chip].insert(outputs[chip].end(), block.begin(), block.end());
    }
    if (c.kind == CollectiveKind::kReduceScatter)
      outputs[chip] = reduced_block(slice, c, inputs, group, rank_of(slice, chip, c.axis));
    if (c.kind != CollectiveKind::kAllGather && c.kind != CollectiveKind::kAllReduce) continue;
    for (uint32_t rank = 0; rank < group.ranks; rank++) {
      const Bytes block = c.kind == CollectiveKind::kAllGather ? inputs[group.chip(rank)]
                                                               : reduced_block(slice, c, inputs, group, rank);
      outputs[chip].insert(outputs[chip].end(), block.begin(), block.end());
    }
  }
  return outputs;
}

}  // namespace weft::tools
