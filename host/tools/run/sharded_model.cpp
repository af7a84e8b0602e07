// Module -> tilings -> the program of each chip -> parts; a thread for each chip, which meet where they exchange values.
#include "host/tools/run/sharded_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "host/compiler/localise/consecutive_parts.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/runtime/slice_programs.hpp"
#include "host/tools/run/launch_exchange.hpp"
#include "host/tools/run/run_parts.hpp"

namespace weft::tools {
namespace {

using compiler::MeshAxes;
using compiler::SliceShape;
using compiler::ir::TensorPtr;
using compiler::ir::TensorType;
using compiler::ir::Tiling;

std::vector<int64_t> places(const SliceShape& shape, const MeshAxes& axes) {
  std::vector<int64_t> places;
  for (uint32_t chip = 0; chip < shape.chips(); chip++) places.push_back(compiler::mesh_rank(shape, axes, chip));
  return places;
}

Tiling by_rows(const TensorType& type, const SliceShape& shape, const MeshAxes& axes) {
  Tiling tiling = compiler::ir::replicated(type.rank(), shape.chips());
  tiling.tiles[0] = compiler::mesh_ranks(shape, axes);
  const auto place = places(shape, axes);
  for (size_t chip = 0; chip < place.size(); chip++) tiling.place[chip][0] = place[chip];
  return tiling;
}

}  // namespace

Result<ShardedModel> compile_sharded_model(const compiler::ir::Module& module, const spec::Chip& chip,
                                           const SliceShape& shape, const compiler::Sharding& sharding) {
  ShardedModel made;
  const int64_t ranks = compiler::mesh_ranks(shape, sharding.batch);
  const auto& first = module.type(module.inputs.at(0));
  const int64_t rows = first.rank() == 0 ? 1 : first.dims[0];
  if (auto status = compiler::check_sharding(shape, sharding, static_cast<uint64_t>(rows)); !status.ok())
    return status.error();
  if (rows % ranks != 0)
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("a batch of {} rows over {} chips: of a network like this each has as many", rows, ranks)};
  const auto lying = [&](const TensorType& type) {
    const bool cut = ranks > 1 && type.rank() != 0 && type.dims[0] == rows;
    return cut ? by_rows(type, shape, sharding.batch) : compiler::ir::replicated(type.rank(), shape.chips());
  };
  for (const auto input : module.inputs) made.inputs.push_back(lying(module.type(input)));
  for (const auto& output : module.outputs) made.outputs.push_back(lying(module.type(output.value)));
  const compiler::localise::WeightTiling weights{compiler::mesh_ranks(shape, sharding.k),
                                                 compiler::mesh_ranks(shape, sharding.n), places(shape, sharding.k),
                                                 places(shape, sharding.n)};
  auto local = compiler::localise::localise(module, made.inputs, made.outputs, shape.chips(), weights);
  if (!local.ok()) return local.error();
  auto simplified = compiler::passes::run_all(compiler::localise::consecutive_parts(local.value().module));
  if (!simplified.ok()) return simplified.error();
  made.extras = std::move(local.value().extras);
  made.replicated = std::move(local.value().replicated);
  compiler::DeviceSlice slice{shape, std::vector<uint32_t>(shape.chips())};
  std::iota(slice.chips.begin(), slice.chips.end(), 0U);
  auto model = compile_parts(std::move(simplified.value()), chip, nullptr, &slice);
  if (!model.ok()) return model.error();
  made.model = std::move(model.value());
  return made;
}

Result<ShardedModelResult> run_sharded_model(const ShardedModel& sharded, const std::vector<TensorPtr>& inputs,
                                             runtime::ChipSet& chips) {
  const uint32_t count = chips.chips();
  std::vector<runtime::Session> sessions;
  std::vector<weft_queue*> queues;
  std::vector<uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0U);
  for (uint32_t chip = 0; chip < count; chip++) {
    auto session = runtime::Session::on(chips.device(chip));
    if (!session.ok()) return session.error();
    sessions.push_back(std::move(session.value()));
    queues.push_back(sessions.back().queue());
  }
  runtime::SlicePrograms programs(chips.slice());
  LaunchExchange exchange(&programs, numbers, queues);
  std::vector<std::optional<Result<PartsResult>>> results(count);
  const auto run = [&](uint32_t chip) {
    const compiler::reference::OnDevice scope(exchange, chip);
    DeviceLauncher launcher(exchange, chip);
    std::vector<TensorPtr> own;
    for (size_t i = 0; i < inputs.size(); i++) own.push_back(compiler::ir::tile_of(inputs[i], sharded.inputs[i], chip));
    for (const auto& extra : sharded.extras)
      own.push_back(compiler::ir::tile_of(extra.constant ? extra.constant : own[*extra.input], extra.tiling, chip));
    results[chip] = run_parts(sharded.model, own, &sessions[chip], Verify::kNo, &launcher);
    exchange.end(chip);
  };
  std::vector<std::thread> threads;
  for (uint32_t chip = 0; chip < count; chip++) threads.emplace_back(run, chip);
  for (auto& thread : threads) thread.join();
  std::optional<Error> error;  // that a chip waits for one that has failed is not the cause
  for (const auto& result : results)
    if (!result->ok() && (!error || error->message.find("waits for one") != std::string::npos)) error = result->error();
  if (error) return *error;
  ShardedModelResult made;
  for (const auto& result : results) {
    made.device_cycles = std::max(made.device_cycles, result->value().device_cycles);
    made.host_seconds = std::max(made.host_seconds, result->value().host_seconds);
    made.macs += result->value().macs;
  }
  std::vector<uint64_t> exchanged(count);
  for (const auto& window : exchange.windows()) exchanged[window.chip] += window.end - window.begin;
  made.device_cycles += *std::ranges::max_element(exchanged);
  for (size_t i = 0; i < sharded.outputs.size(); i++) {
    std::vector<TensorPtr> tiles;
    for (const auto& result : results) tiles.push_back(result->value().outputs[i]);
    made.outputs.push_back(compiler::ir::joined(tiles, sharded.outputs[i]));
  }
  return made;
}

}  // namespace weft::tools
