// Import, shard, run, compare.
#include "host/tools/commands/run_slice.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/round_up.hpp"
#include "host/compiler/executable/debug_section.hpp"
#include "host/compiler/import_graph.hpp"
#include "host/compiler/partition/device_graph.hpp"
#include "host/reference/graph_reference.hpp"
#include "host/tools/commands/failure.hpp"
#include "host/tools/commands/options.hpp"
#include "host/tools/formats/files.hpp"
#include "host/tools/formats/json_text.hpp"
#include "host/tools/run/one_chip.hpp"
#include "host/tools/run/run_arrays.hpp"
#include "host/tools/run/run_parts.hpp"
#include "host/tools/run/sharded_model.hpp"
#include "host/tools/run/tensor_arrays.hpp"
#include "host/tools/trace/trace_names.hpp"

namespace weft::tools {
namespace {

using compiler::ir::Module;
using compiler::ir::TensorPtr;

/// What a run is told to be.
struct SliceReport {
  uint32_t chips = 0;
  uint64_t clock_hz = 0, peak_macs_per_cycle = 0;  ///< of all chips
  std::optional<uint64_t> one_chip;
  RunReport compared;
};

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

/// The model on these arrays.
struct Prepared {
  Module module;
  std::vector<TensorPtr> inputs;
};
Result<Prepared> prepare(const SliceRun& run, const std::vector<std::byte>& file,
                         const std::map<std::string, NpyArray>& arrays,
                         const std::map<std::string, std::string>& files) {
  const auto binding = binding_of(arrays, {}, 1);
  if (!binding.ok()) return binding.error();
  const auto folder = std::filesystem::path(run.model).parent_path().string();
  auto imported = compiler::import_simplified(file, folder.empty() ? "." : folder, binding.value());
  if (!imported.ok()) return Error{imported.error().code, fmt::format("{}: {}", run.model, imported.error().message)};
  auto inputs = tensors_of(imported.value().module, arrays, files);
  if (!inputs.ok()) return inputs.error();
  return Prepared{std::move(imported.value().module), std::move(inputs.value())};
}

/// The golden model's results of the whole network, with sums of products in as many parts as the slice has.
Status verify(const Prepared& prepared, unsigned parts, const ShardedModel& model, const ShardedModelResult& result,
              RunReport& report) {
  const auto graph = compiler::whole_device_graph(prepared.module);
  if (!graph.ok())
    return Error{graph.error().code,
                 "--verify compares with a program of one chip, which it would not be: " + graph.error().message};
  if (!model.programs && parts > 2)
    return Error{WEFT_ERROR_UNSUPPORTED,
                 fmt::format("--verify adds sums of {} parts in the order of ranks, and collectives in another one; in "
                             "one launch it cannot run: {}",
                             parts, model.refused)};
  std::vector<std::vector<float>> values;
  for (const auto& input : prepared.inputs)
    values.emplace_back(input->as<float>(), input->as<float>() + input->type.count());
  std::vector<std::vector<std::byte>> outputs;
  for (const auto& output : result.outputs) outputs.push_back(output->data);
  compare(report, graph.value(), evaluate_golden_in_parts(graph.value(), values, parts),
          evaluate_fp64(graph.value(), values), outputs);
  return Ok{};
}

/// Zeros behind the rows of arrays that have so many.
std::map<std::string, NpyArray> with_rows(std::map<std::string, NpyArray> arrays, uint64_t rows, uint64_t more) {
  for (auto& [name, array] : arrays) {
    if (array.shape.empty() || array.shape[0] != rows) continue;
    array.data.resize(array.data.size() / rows * more);
    array.shape[0] = more;
  }
  return arrays;
}

/// The first rows, of a type that has fewer.
TensorPtr with_type(const TensorPtr& tensor, const compiler::ir::TensorType& type) {
  if (tensor->type == type) return tensor;
  auto less = std::make_shared<compiler::ir::Tensor>(type);
  std::memcpy(less->data.data(), tensor->data.data(), less->data.size());
  return less;
}

/// Where chips do not share the rows evenly and no row has to do with another one, there are more of them.
Result<ShardedModelResult> run_prepared(const SliceRun& run, const std::vector<std::byte>& file,
                                        const std::map<std::string, NpyArray>& arrays,
                                        const std::map<std::string, std::string>& files, const Prepared& prepared,
                                        const compiler::Sharding& sharding, runtime::SliceSession& session,
                                        ShardedModel& model) {
  const auto shape = session.shape();
  const auto& first = prepared.module.type(prepared.module.inputs.at(0));
  const uint64_t rows = first.rank() == 0 ? 1 : static_cast<uint64_t>(first.dims[0]);
  const uint64_t ranks = compiler::mesh_ranks(shape, sharding.batch), even = round_up(rows, ranks);
  const auto more = even == rows || rows < ranks ? Result<Prepared>(prepared)
                                                 : prepare(run, file, with_rows(arrays, rows, even), files);
  // A model whose batch is fixed does not take more rows, and compile_sharded_model() says why.
  const Prepared& given = more.ok() ? more.value() : prepared;
  auto compiled = compile_sharded_model(given.module, session.chip(), shape, sharding);
  if (!compiled.ok()) return compiled.error();
  model = std::move(compiled.value());
  if (even != rows && model.rows_meet)
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("a batch of {} rows over {} chips: rows meet in this network, so each chip has as many",
                             rows, ranks)};
  const auto began = std::chrono::steady_clock::now();
  auto result = run_sharded_model(model, given.inputs, session);
  if (!result.ok()) return result.error();
  result.value().wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  for (size_t i = 0; i < result.value().outputs.size(); i++) {
    auto& output = result.value().outputs[i];
    output = with_type(output, prepared.module.type(prepared.module.outputs[i].value));
  }
  return result;
}

void print_json(const SliceRun& run, const ShardedModel& model, const ShardedModelResult& result,
                const SliceReport& report, double utilization) {
  nlohmann::ordered_json json = {{"what", run.model},
                                 {"slice", run.slice.slice},
                                 {"chips", report.chips},
                                 {"core", run.core},
                                 {"manager", report.compared.manager},
                                 {"sharding", run.slice.sharding},
                                 {"launches", model.programs ? 1 : model.model.launches.size()},
                                 {"parts", model.programs ? 1 : model.model.partition.parts.size()},
                                 {"replicated", model.replicated},
                                 {"device_cycles", result.device_cycles},
                                 {"mxu_utilization", utilization},
                                 {"macs", result.macs},
                                 {"host_seconds", result.host_seconds},
                                 {"wall_seconds", result.wall_seconds}};
  if (const auto& comparison = report.compared.comparison)
    json["elements"] = comparison->elements(), json["differing"] = comparison->differing();
  if (report.one_chip) json["one_chip_cycles"] = *report.one_chip;
  if (report.compared.max_relative_error) json["max_relative_error"] = *report.compared.max_relative_error;
  fmt::print("{}\n", json_text(json));
}

void print(const SliceRun& run, const ShardedModel& model, const ShardedModelResult& result,
           const SliceReport& report) {
  const uint64_t cycles = result.device_cycles;
  const double utilization = cycles == 0
                                 ? 0
                                 : static_cast<double>(result.macs) /
                                       (static_cast<double>(report.peak_macs_per_cycle) * static_cast<double>(cycles));
  if (run.json) return print_json(run, model, result, report, utilization);
  fmt::print("{} on {} ({} chips, {} core), {}\n", run.model, run.slice.slice, report.chips, run.core,
             run.slice.sharding);
  if (!model.programs) {
    fmt::print("  {} parts on each chip, as {}\n{}", model.model.partition.parts.size(), model.refused,
               parts_text(model.model));
    for (const auto& [kind, count] : model.replicated) fmt::print("  each chip computes all of {} {}\n", count, kind);
  }
  fmt::print("  device cycles       {} ({:.1f} us){}{}\n", cycles,
             1e6 * static_cast<double>(cycles) / static_cast<double>(report.clock_hz),
             model.programs ? ", barrier included" : " of one chip",
             report.compared.manager == "native" ? "; the firmware's are charged" : "");
  if (const auto slower = slower_than_one_chip(cycles, report.one_chip); !slower.empty())
    fmt::print("  one chip alone      {}\n", slower);
  fmt::print("  MXU utilization     {:.2f} % of all chips\n", 100 * utilization);
  fmt::print("  MACs                {}\n", result.macs);
  if (model.programs)
    fmt::print("  wall time           {:.3f} s\n", result.wall_seconds);
  else
    fmt::print("  wall time           {:.3f} s, islands {:.3f}\n", result.wall_seconds, result.host_seconds);
  if (const auto& comparison = report.compared.comparison)
    fmt::print("  differing           {} of {} elements from the documented order\n", comparison->differing(),
               comparison->elements());
  if (report.compared.max_relative_error)
    fmt::print("  max relative error  {:.3g} against fp64 of the unrounded inputs\n",
               *report.compared.max_relative_error);
}

/// The end of the session has completed the trace.
Status name_spans(const std::string& path, const ShardedModel& model) {
  std::vector<TagNames> tags;
  if (model.programs)
    for (const auto& chip : model.programs->chips) tags.push_back(chip.kernel.tags);
  else if (const auto& launches = model.model.launches; launches.size() == 1 && launches[0].sequence)
    for (const auto& executable : launches[0].sequence->compiled.executables)
      tags.push_back(compiler::read_tags(executable));
  return tags.empty() ? Ok{} : name_trace(path, tags);
}

Status check_files(const SliceRun& run, const std::map<std::string, std::string>& inputs,
                   const std::map<std::string, std::string>& outputs) {
  for (const auto& [name, path] : outputs)
    if (auto status = check_writable(path); !status.ok()) return status;
  std::vector<std::string> read_files{run.model};
  for (const auto& [name, path] : inputs) read_files.push_back(path);
  if (auto status = check_apart(outputs, read_files); !status.ok()) return status;
  return run.trace.empty() ? Ok{} : check_regular(run.trace);
}

}  // namespace

int run_on_slice(const SliceRun& run) {
  if (auto status = check_manager(run.manager); !status.ok()) return fail(status.error());
  const auto sharding = parse_sharding(run.slice);
  if (!sharding.ok()) return fail(sharding.error());
  const auto input_files = parse_pairs(run.inputs, "--input");
  if (!input_files.ok()) return fail(input_files.error());
  const auto output_files = parse_pairs(run.outputs, "--output");
  if (!output_files.ok()) return fail(output_files.error());
  if (auto status = check_files(run, input_files.value(), output_files.value()); !status.ok())
    return fail(status.error());
  const auto file = read_file(run.model);
  if (!file.ok()) return fail(file.error());
  if (is_executable(file.value()))
    return fail({WEFT_ERROR_UNSUPPORTED,
                 fmt::format("{}: --slice needs the ONNX model: an executable is the part of one chip", run.model)});
  const auto arrays = read_arrays(input_files.value());
  if (!arrays.ok()) return fail(arrays.error());
  const auto at = [&](const Error& e) { return fail({e.code, fmt::format("{}: {}", run.model, e.message)}); };
  const auto prepared = prepare(run, file.value(), arrays.value(), input_files.value());
  if (!prepared.ok()) return fail(prepared.error());
  const Module& module = prepared.value().module;
  std::vector<std::string> names;
  for (const auto& output : module.outputs) names.push_back(output.name);
  if (auto status = check_names("output", output_files.value(), names); !status.ok()) return fail(status.error());

  const std::string trace = run.trace.empty() ? "" : "&trace=" + run.trace;
  const std::string manager = run.manager.empty() ? "" : "&manager=" + run.manager;
  auto session =
      runtime::SliceSession::open(fmt::format("sim:{}?core={}{}{}", run.slice.slice, run.core, manager, trace));
  if (!session.ok()) return fail(session.error());
  const spec::Chip& chip = session.value().chip();
  const auto shape = session.value().shape();
  SliceReport report{
      shape.chips(), chip.clock_hz, chip.peak_macs_per_cycle * shape.chips(), cycles_of_one_chip(chip, module), {}};
  report.compared.manager = manager_of(run.manager);
  ShardedModel model;
  const auto result = run_prepared(run, file.value(), arrays.value(), input_files.value(), prepared.value(),
                                   sharding.value(), session.value(), model);
  if (!result.ok()) return at(result.error());
  if (run.verify)
    if (auto status = verify(prepared.value(), compiler::mesh_ranks(shape, sharding.value().k), model, result.value(),
                             report.compared);
        !status.ok())
      return at(status.error());
  for (size_t i = 0; i < names.size(); i++)
    if (const auto path = output_files.value().find(names[i]); path != output_files.value().end())
      if (auto status = write_file(path->second, format_npy(array_of(*result.value().outputs[i]))); !status.ok())
        return fail(status.error());
  print(run, model, result.value(), report);
  if (!run.trace.empty()) {
    {
      const auto ended = std::move(session.value());
    }
    if (auto status = name_spans(run.trace, model); !status.ok()) return fail(status.error());
  }
  if (!report.compared.comparison) return 0;
  const auto verdict = report.compared.comparison->verdict("the documented order");
  return verdict.ok() ? 0 : fail(verdict.error());
}

}  // namespace weft::tools
