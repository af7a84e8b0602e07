// One launch of all chips if that can be; else the program of each chip in parts, and a thread for each chip, which meet
// where they exchange values.
#include "host/tools/run/sharded_model.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "host/compiler/localise/consecutive_parts.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/runtime/chip_set.hpp"
#include "host/runtime/sharded_network.hpp"
#include "host/runtime/slice_programs.hpp"
#include "host/tools/run/launch_exchange.hpp"
#include "host/tools/run/run_parts.hpp"

namespace weft::tools {

using compiler::SliceShape;
using compiler::ir::TensorPtr;

namespace {

Result<ShardedModelResult> run_programs(const compiler::ShardedPrograms& programs, const std::vector<TensorPtr>& inputs,
                                        runtime::SliceSession& session) {
  auto run = runtime::run_sharded(session, programs, inputs);
  if (!run.ok()) return run.error();
  ShardedModelResult made;
  made.outputs = std::move(run.value().outputs);
  made.device_cycles =
      *std::ranges::max_element(run.value().end_cycle) - *std::ranges::min_element(run.value().start_cycle);
  for (const auto& chip : programs.chips) made.macs += chip.kernel.macs;
  return made;
}

}  // namespace

Result<ShardedModel> compile_sharded_model(const compiler::ir::Module& module, const spec::Chip& chip,
                                           const SliceShape& shape, const compiler::Sharding& sharding) {
  auto programs = compiler::compile_sharded(chip, module, shape, sharding);
  if (!programs.ok() && programs.error().code == WEFT_ERROR_INVALID_ARGUMENT) return programs.error();
  if (!programs.ok()) {
    auto parts = compile_sharded_parts(module, chip, shape, sharding);
    if (parts.ok()) parts.value().refused = programs.error().message;
    return parts;
  }
  ShardedModel made;
  made.programs = std::move(programs.value());
  made.rows_meet = made.programs->rows_meet;
  return made;
}

Result<ShardedModel> compile_sharded_parts(const compiler::ir::Module& module, const spec::Chip& chip,
                                           const SliceShape& shape, const compiler::Sharding& sharding) {
  ShardedModel made;
  auto sharded = compiler::shard_module(module, shape, sharding, 0);
  if (!sharded.ok()) return sharded.error();
  auto simplified = compiler::passes::run_all(compiler::localise::consecutive_parts(sharded.value().module));
  if (!simplified.ok()) return simplified.error();
  made.inputs = std::move(sharded.value().inputs), made.outputs = std::move(sharded.value().outputs);
  made.extras = std::move(sharded.value().extras);
  made.replicated = std::move(sharded.value().replicated);
  made.rows_meet = sharded.value().rows_meet;
  compiler::DeviceSlice slice{shape, std::vector<uint32_t>(shape.chips())};
  std::iota(slice.chips.begin(), slice.chips.end(), 0U);
  auto model = compile_parts(std::move(simplified.value()), chip, nullptr, &slice);
  if (!model.ok()) return model.error();
  made.model = std::move(model.value());
  return made;
}

Result<ShardedModelResult> run_sharded_model(const ShardedModel& sharded, const std::vector<TensorPtr>& inputs,
                                             runtime::SliceSession& session) {
  if (sharded.programs) return run_programs(*sharded.programs, inputs, session);
  const runtime::ChipSet& chips = session.chips();
  const uint32_t count = chips.chips();
  std::vector<runtime::Session> sessions;
  std::vector<weft_queue*> queues;
  std::vector<uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0U);
  for (uint32_t chip = 0; chip < count; chip++) {
    auto own = runtime::Session::on(chips.device(chip));
    if (!own.ok()) return own.error();
    sessions.push_back(std::move(own.value()));
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
