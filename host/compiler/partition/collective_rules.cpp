// Collectives of L1 that a device program has in it: parts side by side, and sums.
#include <algorithm>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/partition/device_collective.hpp"
#include "host/compiler/partition/graph_builder.hpp"

namespace weft::compiler {

using ir::Dims;
using ir::Op;

namespace {

constexpr size_t kSemaphores = WEFT_SEMAPHORES - WEFT_REMOTE_SEMAPHORE_FIRST;

/// Each chip has a semaphore of its own at all others; else each rank has, and there is one group.
bool by_chip(const DeviceSlice& slice) {
  return std::ranges::all_of(slice.chips, [](uint32_t chip) { return chip < kSemaphores; });
}

/// Devices that do it with this one.
ChipGroup group_of(const Op& op, const DeviceOfSlice& of) {
  const Dims& listed = op.list("groups");
  const auto size = static_cast<std::ptrdiff_t>(op.integer("group_size"));
  for (auto at = listed.begin(); at != listed.end(); at += size) {
    const Dims devices(at, at + size);
    const auto own = std::ranges::find(devices, static_cast<int64_t>(of.device));
    if (own == devices.end()) continue;
    if (devices.size() > kSemaphores) ir::unsupported("{} chips that send each other parts", devices.size());
    ChipGroup group;
    group.rank = static_cast<unsigned>(own - devices.begin());
    for (size_t rank = 0; rank < devices.size(); rank++) {
      const uint32_t chip = of.slice->chips[static_cast<size_t>(devices[rank])];
      group.chips.push_back(static_cast<uint16_t>(chip));
      group.semaphores.push_back(
          static_cast<uint8_t>(WEFT_REMOTE_SEMAPHORE_FIRST + (by_chip(*of.slice) ? chip : rank)));
    }
    return group;
  }
  ir::unsupported("a collective without device {}", of.device);
}

}  // namespace

/// Columns of what the collective reads: the dimension along which it has parts, and those behind it.
uint64_t GraphBuilder::shared_columns(const Op& op) const {
  const Dims& dims = module_.type(op.operands[0]).dims;
  uint64_t columns = 1;
  for (auto d = static_cast<size_t>(op.integer("dimension")); d < dims.size(); d++)
    columns *= static_cast<uint64_t>(dims[d]);
  return columns;
}

void GraphBuilder::add_collective(const Op& op) {
  const std::string& kind = op.word("kind");
  const auto& type = module_.type(op.operands[0]);
  CollectiveNode node;
  node.name = op.origin.node;
  if (kind == "reduce_scatter")
    node.what = Exchange::kOwnSums;
  else if (kind == "all_reduce")
    node.what = Exchange::kAllSums;
  else if (kind != "all_gather")
    ir::unsupported("a collective of the kind {} in a device program", kind);
  if (node.what != Exchange::kSideBySide && op.word("combine") != "add")
    ir::unsupported("a collective that combines by {} in a device program", op.word("combine"));
  if (!op.attributes.contains("together")) ir::unsupported("a collective that some devices may not come to");
  if (type.element != ir::ElementType::kF32) ir::unsupported("a collective of {} in a device program", type.text());
  if (node.what == Exchange::kOwnSums && static_cast<size_t>(op.integer("dimension")) + 1 != type.rank())
    ir::unsupported("sums in parts along another dimension than the last");
  node.group = group_of(op, device_);
  const bool others = std::ranges::any_of(graph_.nodes, [&](const Node& other) {
    const auto* collective = std::get_if<CollectiveNode>(&other);
    return collective != nullptr && collective->group.chips != node.group.chips;
  });
  if (others && !by_chip(*device_.slice))
    ir::unsupported("collectives of several groups of more than {} chips", kSemaphores);
  const uint64_t columns = node.what == Exchange::kAllSums ? columns_of(op.results[0]) : shared_columns(op);
  const uint64_t count = type.count(), ranks = node.group.ranks();
  node.x = tensor_of(op.origin.node, view(op.operands[0], op.origin.node), count, columns);
  node.y = new_tensor(op.origin.node, module_.type(op.results[0]).dims, count / columns,
                      node.what == Exchange::kOwnSums      ? columns / ranks
                      : node.what == Exchange::kSideBySide ? columns * ranks
                                                           : columns);
  views_[op.results[0]] = {{node.y}, nullptr};
  graph_.nodes.emplace_back(std::move(node));
}

}  // namespace weft::compiler
