// Axes of the slice as tilings of inputs, outputs and weights.
#include "host/compiler/sharded/sharded_module.hpp"

#include <fmt/format.h>

#include <utility>

namespace weft::compiler {
namespace {

using ir::TensorType;
using ir::Tiling;

std::vector<int64_t> places(const SliceShape& slice, const MeshAxes& axes) {
  std::vector<int64_t> places;
  for (uint32_t chip = 0; chip < slice.chips(); chip++) places.push_back(mesh_rank(slice, axes, chip));
  return places;
}

Tiling by_rows(const TensorType& type, const SliceShape& slice, const MeshAxes& axes) {
  Tiling tiling = ir::replicated(type.rank(), slice.chips());
  tiling.tiles[0] = mesh_ranks(slice, axes);
  const auto place = places(slice, axes);
  for (size_t chip = 0; chip < place.size(); chip++) tiling.place[chip][0] = place[chip];
  return tiling;
}

/// Whether chips at different `places` do a collective together.
bool meets(const ir::Module& module, const std::vector<int64_t>& places) {
  for (const ir::Op& op : module.ops()) {
    for (const auto& region : op.regions)
      if (meets(*region, places)) return true;
    if (op.kind != ir::OpKind::kCollective) continue;
    const auto& devices = op.list("groups");
    const auto size = static_cast<size_t>(op.integer("group_size"));
    for (size_t i = 0; i < devices.size(); i++)
      if (places[static_cast<size_t>(devices[i])] != places[static_cast<size_t>(devices[i - i % size])]) return true;
  }
  return false;
}

}  // namespace

Result<ShardedModule> shard_module(const ir::Module& module, const SliceShape& slice, const Sharding& sharding,
                                   int64_t unit) {
  ShardedModule made;
  const int64_t ranks = mesh_ranks(slice, sharding.batch);
  const auto& first = module.type(module.inputs.at(0));
  const int64_t rows = first.rank() == 0 ? 1 : first.dims[0];
  if (auto status = check_sharding(slice, sharding, static_cast<uint64_t>(rows)); !status.ok()) return status.error();
  if (rows % ranks != 0)
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("a batch of {} rows over {} chips: each has as many as the others", rows, ranks)};
  const auto lying = [&](const TensorType& type) {
    const bool cut = ranks > 1 && type.rank() != 0 && type.dims[0] == rows;
    return cut ? by_rows(type, slice, sharding.batch) : ir::replicated(type.rank(), slice.chips());
  };
  for (const auto input : module.inputs) made.inputs.push_back(lying(module.type(input)));
  for (const auto& output : module.outputs) made.outputs.push_back(lying(module.type(output.value)));
  localise::WeightTiling weights;
  weights.summed = mesh_ranks(slice, sharding.k), weights.summed_place = places(slice, sharding.k);
  weights.kept = mesh_ranks(slice, sharding.n), weights.kept_place = places(slice, sharding.n);
  weights.scatter_unit = unit;
  auto local = localise::localise(module, made.inputs, made.outputs, slice.chips(), weights,
                                  std::vector<bool>(made.outputs.size(), unit != 0));
  if (!local.ok()) return local.error();
  made.module = std::move(local.value().module);
  made.extras = std::move(local.value().extras);
  made.outputs = std::move(local.value().outputs);
  made.replicated = std::move(local.value().replicated);
  made.rows_meet = meets(made.module, places(slice, sharding.batch));
  return made;
}

}  // namespace weft::compiler
