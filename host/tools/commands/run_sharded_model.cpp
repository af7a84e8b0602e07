// Import, localise, run, write.
#include "host/tools/commands/run_sharded_model.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "host/compiler/import_graph.hpp"
#include "host/tools/commands/failure.hpp"
#include "host/tools/formats/files.hpp"
#include "host/tools/formats/json_text.hpp"
#include "host/tools/run/one_chip.hpp"
#include "host/tools/run/run_arrays.hpp"
#include "host/tools/run/run_parts.hpp"
#include "host/tools/run/sharded_model.hpp"
#include "host/tools/run/tensor_arrays.hpp"

namespace weft::tools {
namespace {

using compiler::ir::Module;
using compiler::ir::TensorPtr;

Result<std::vector<TensorPtr>> tensors_of(const Module& module, const std::map<std::string, NpyArray>& arrays,
                                          const std::map<std::string, std::string>& files) {
  std::vector<std::string> names;
  for (const auto input : module.inputs) names.push_back(module.input_name(input));
  if (auto status = check_names("input", files, names); !status.ok()) return status.error();
  std::vector<TensorPtr> tensors;
  for (size_t i = 0; i < names.size(); i++) {
    const auto array = arrays.find(names[i]);
    if (array == arrays.end()) return missing_input(names[i], names);
    auto tensor = input_tensor(names[i], files.at(names[i]), array->second, module.type(module.inputs[i]));
    if (!tensor.ok()) return tensor.error();
    tensors.push_back(std::move(tensor.value()));
  }
  return tensors;
}

void print(const SliceRun& run, const ShardedModel& model, const ShardedModelResult& result, uint32_t chips,
           double seconds, std::optional<uint64_t> one_chip) {
  if (run.json) {
    nlohmann::ordered_json json = {{"what", run.model},
                                   {"slice", run.slice.slice},
                                   {"chips", chips},
                                   {"core", run.core},
                                   {"sharding", run.slice.sharding},
                                   {"parts", model.model.partition.parts.size()},
                                   {"launches", model.model.launches.size()},
                                   {"replicated", model.replicated},
                                   {"device_cycles", result.device_cycles},
                                   {"macs", result.macs},
                                   {"host_seconds", result.host_seconds},
                                   {"wall_seconds", seconds}};
    if (one_chip) json["one_chip_cycles"] = *one_chip;
    fmt::print("{}\n", json_text(json));
    return;
  }
  fmt::print("{} on {} ({} chips, {} core), {}; {} parts on each\n{}", run.model, run.slice.slice, chips, run.core,
             run.slice.sharding, model.model.partition.parts.size(), parts_text(model.model));
  for (const auto& [kind, count] : model.replicated) fmt::print("  each chip computes all of {} {}\n", count, kind);
  fmt::print("  device cycles       {} of one chip\n", result.device_cycles);
  if (const auto slower = slower_than_one_chip(result.device_cycles, one_chip); !slower.empty())
    fmt::print("  one chip alone      {}\n", slower);
  fmt::print("  MACs                {}\n", result.macs);
  fmt::print("  wall time           {:.3f} s, islands {:.3f}\n", seconds, result.host_seconds);
}

}  // namespace

int run_sharded(const SliceRun& run, const std::vector<std::byte>& file, const compiler::Sharding& sharding,
                const compiler::frontend::Binding& binding, const std::map<std::string, NpyArray>& arrays,
                const std::map<std::string, std::string>& input_files,
                const std::map<std::string, std::string>& output_files) {
  if (run.verify || !run.trace.empty())
    return fail(
        {WEFT_ERROR_UNSUPPORTED,
         fmt::format("{}: {} on a slice takes a dense network: products by constants, bias, relu and elementwise "
                     "operations",
                     run.model, run.verify ? "--verify" : "--trace")});
  auto folder = std::filesystem::path(run.model).parent_path().string();
  const auto imported = compiler::import_simplified(file, folder.empty() ? "." : folder, binding);
  if (!imported.ok()) return fail({imported.error().code, fmt::format("{}: {}", run.model, imported.error().message)});
  const Module& module = imported.value().module;
  const auto inputs = tensors_of(module, arrays, input_files);
  if (!inputs.ok()) return fail(inputs.error());
  std::vector<std::string> names;
  for (const auto& output : module.outputs) names.push_back(output.name);
  if (auto status = check_names("output", output_files, names); !status.ok()) return fail(status.error());

  const std::string manager = run.manager.empty() ? "" : "&manager=" + run.manager;
  auto chips = runtime::ChipSet::open_slice(fmt::format("sim:{}?core={}{}", run.slice.slice, run.core, manager));
  if (!chips.ok()) return fail(chips.error());
  const auto model = compile_sharded_model(module, chips.value().chip(), chips.value().shape(), sharding);
  if (!model.ok()) return fail({model.error().code, fmt::format("{}: {}", run.model, model.error().message)});
  const auto began = std::chrono::steady_clock::now();
  const auto result = run_sharded_model(model.value(), inputs.value(), chips.value());
  if (!result.ok()) return fail({result.error().code, fmt::format("{}: {}", run.model, result.error().message)});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  for (size_t i = 0; i < names.size(); i++)
    if (const auto path = output_files.find(names[i]); path != output_files.end())
      if (auto status = write_file(path->second, format_npy(array_of(*result.value().outputs[i]))); !status.ok())
        return fail(status.error());
  const auto one_chip = cycles_of_one_chip(chips.value().chip(), module);
  print(run, model.value(), result.value(), chips.value().chips(), seconds, one_chip);
  return 0;
}

}  // namespace weft::tools
