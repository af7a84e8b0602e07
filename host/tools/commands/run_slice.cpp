// Import, shard, run, compare.
#include "host/tools/commands/run_slice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "host/compiler/layout.hpp"
#include "host/reference/graph_reference.hpp"
#include "host/runtime/sharded_network.hpp"
#include "host/tools/commands/failure.hpp"
#include "host/tools/commands/options.hpp"
#include "host/tools/commands/run_sharded_model.hpp"
#include "host/tools/formats/files.hpp"
#include "host/tools/formats/json_text.hpp"
#include "host/tools/run/model_program.hpp"
#include "host/tools/run/one_chip.hpp"
#include "host/tools/run/run_arrays.hpp"
#include "host/tools/trace/trace_names.hpp"

namespace weft::tools {
namespace {

using compiler::Graph;

std::vector<std::string> names_of(const Graph& graph, const std::vector<size_t>& tensors) {
  std::vector<std::string> names;
  for (const size_t t : tensors) names.push_back(graph.tensors[t].name);
  return names;
}

uint64_t macs_of(const Graph& graph) {
  uint64_t macs = 0;
  for (const auto& node : graph.nodes)
    if (const auto* dense = std::get_if<compiler::DenseNode>(&node))
      macs += graph.tensors[dense->x].rows * dense->k * dense->n;
  return macs;
}

Result<std::vector<std::vector<float>>> values_of(const Graph& graph, const std::map<std::string, std::string>& files,
                                                  const std::map<std::string, NpyArray>& arrays) {
  std::vector<std::vector<float>> values;
  const auto names = names_of(graph, graph.inputs);
  if (auto status = check_names("input", files, names); !status.ok()) return status.error();
  for (const size_t t : graph.inputs) {
    const auto& tensor = graph.tensors[t];
    const auto found = arrays.find(tensor.name);
    if (found == arrays.end()) return missing_input(tensor.name, names);
    if (auto status = check_shape(tensor, files.at(tensor.name), found->second); !status.ok()) return status.error();
    const runtime::ArgumentInfo whole{.name = tensor.name,
                                      .dtype = WEFT_ARGUMENT_DTYPE_BF16,
                                      .layout = WEFT_ARGUMENT_LAYOUT_ROWS,
                                      .direction = WEFT_ARGUMENT_DIRECTION_INPUT,
                                      .rows = tensor.rows,
                                      .columns = tensor.columns,
                                      .pitch_bytes = compiler::row_pitch_bytes(tensor.columns, 2),
                                      .size_bytes = tensor.rows * compiler::row_pitch_bytes(tensor.columns, 2)};
    const auto packed = pack_input(whole, files.at(tensor.name), found->second, values.emplace_back());
    if (!packed.ok()) return packed.error();
  }
  return values;
}

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Status write_outputs(const Graph& graph, const runtime::ShardedResult& result,
                     const std::map<std::string, std::string>& files) {
  for (size_t i = 0; i < graph.outputs.size(); i++) {
    const auto& tensor = graph.tensors[graph.outputs[i]];
    const auto path = files.find(tensor.name);
    if (path == files.end()) continue;
    const NpyArray array{NpyType::kF32, {tensor.dims.begin(), tensor.dims.end()}, bytes_of(result.outputs[i])};
    if (auto status = write_file(path->second, format_npy(array)); !status.ok()) return status;
  }
  return Ok{};
}

void print(const SliceRun& run, const runtime::SliceSession& session, const RunReport& report,
           std::optional<uint64_t> one_chip) {
  const uint64_t cycles = report.launch.end_cycle - report.launch.start_cycle;
  const auto seconds = static_cast<double>(cycles) / static_cast<double>(report.clock_hz);
  const double utilization = static_cast<double>(report.macs) /
                             (static_cast<double>(report.peak_macs_per_cycle) * static_cast<double>(cycles));
  if (run.json) {
    nlohmann::ordered_json json = {{"what", report.what},
                                   {"slice", run.slice.slice},
                                   {"chips", session.shape().chips()},
                                   {"core", report.core},
                                   {"manager", report.manager},
                                   {"sharding", run.slice.sharding},
                                   {"overlap", !run.slice.no_overlap},
                                   {"device_cycles", cycles},
                                   {"mxu_utilization", utilization},
                                   {"macs", report.macs},
                                   {"wall_seconds", report.launch.wall_seconds}};
    if (report.comparison)
      json["elements"] = report.comparison->elements(), json["differing"] = report.comparison->differing();
    if (one_chip) json["one_chip_cycles"] = *one_chip;
    if (report.max_relative_error) json["max_relative_error"] = *report.max_relative_error;
    fmt::print("{}\n", json_text(json));
    return;
  }
  fmt::print("{} on {} ({} chips, {} core), {}{}\n", report.what, run.slice.slice, session.shape().chips(), report.core,
             run.slice.sharding, run.slice.no_overlap ? ", without overlap" : "");
  fmt::print("  device cycles       {} ({:.1f} us), barrier included{}\n", cycles, 1e6 * seconds,
             report.manager == "native" ? "; the firmware's are charged" : "");
  if (const auto slower = slower_than_one_chip(cycles, one_chip); !slower.empty())
    fmt::print("  one chip alone      {}\n", slower);
  fmt::print("  MXU utilization     {:.2f} % of all chips\n", 100 * utilization);
  fmt::print("  MACs                {}\n", report.macs);
  fmt::print("  wall time           {:.3f} s\n", report.launch.wall_seconds);
  if (report.comparison)
    fmt::print("  differing           {} of {} elements from the documented order\n", report.comparison->differing(),
               report.comparison->elements());
  if (report.max_relative_error)
    fmt::print("  max relative error  {:.3g} against fp64 of the unrounded inputs\n", *report.max_relative_error);
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
  for (const auto& [name, path] : output_files.value())
    if (auto status = check_writable(path); !status.ok()) return fail(status.error());
  std::vector<std::string> read_files{run.model};
  for (const auto& [name, path] : input_files.value()) read_files.push_back(path);
  if (auto status = check_apart(output_files.value(), read_files); !status.ok()) return fail(status.error());
  if (!run.trace.empty())
    if (auto status = check_regular(run.trace); !status.ok()) return fail(status.error());
  const auto file = read_file(run.model);
  if (!file.ok()) return fail(file.error());
  if (is_executable(file.value()))
    return fail({WEFT_ERROR_UNSUPPORTED,
                 fmt::format("{}: --slice needs the ONNX model: an executable is the part of one chip", run.model)});
  const auto arrays = read_arrays(input_files.value());
  if (!arrays.ok()) return fail(arrays.error());
  const auto binding = binding_of(arrays.value(), {}, 1);
  if (!binding.ok()) return fail(binding.error());
  const auto graph = import_graph(run.model, file.value(), binding.value());
  const auto any = [&] {
    return run_sharded(run, file.value(), sharding.value(), binding.value(), arrays.value(), input_files.value(),
                       output_files.value());
  };
  if (!graph.ok() && graph.error().code != WEFT_ERROR_UNSUPPORTED) return fail(graph.error());
  if (!graph.ok() || !compiler::is_dense(graph.value(), sharding.value())) return any();
  const auto values = values_of(graph.value(), input_files.value(), arrays.value());
  if (!values.ok()) return fail(values.error());
  if (auto status = check_names("output", output_files.value(), names_of(graph.value(), graph.value().outputs));
      !status.ok())
    return fail(status.error());

  const std::string trace = run.trace.empty() ? "" : "&trace=" + run.trace;
  const std::string manager = run.manager.empty() ? "" : "&manager=" + run.manager;
  auto session =
      runtime::SliceSession::open(fmt::format("sim:{}?core={}{}{}", run.slice.slice, run.core, manager, trace));
  if (!session.ok()) return fail(session.error());
  const spec::Chip& chip = session.value().chip();
  const auto& shape = session.value().shape();
  const auto kernels = compiler::compile_sharded(chip, graph.value(), shape, sharding.value());
  if (!kernels.ok()) return fail({kernels.error().code, fmt::format("{}: {}", run.model, kernels.error().message)});
  const auto began = std::chrono::steady_clock::now();
  const auto result = runtime::run_sharded(session.value(), graph.value(), kernels.value(), values.value());
  if (!result.ok()) return fail(result.error());

  RunReport report;
  report.what = run.model;
  report.core = run.core;
  report.manager = manager_of(run.manager);
  report.macs = macs_of(graph.value());
  report.peak_macs_per_cycle = chip.peak_macs_per_cycle * shape.chips();
  report.clock_hz = chip.clock_hz;
  report.launch.start_cycle = *std::ranges::min_element(result.value().start_cycle);
  report.launch.end_cycle = *std::ranges::max_element(result.value().end_cycle);
  report.launch.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (run.verify) {
    const auto golden = evaluate_golden_in_parts(graph.value(), values.value(),
                                                 compiler::mesh_ranks(shape, sharding.value().k), chip.n);
    const auto exact = evaluate_fp64(graph.value(), values.value());
    std::vector<std::vector<std::byte>> outputs;
    for (const auto& output : result.value().outputs) outputs.push_back(bytes_of(output));
    compare(report, graph.value(), golden, exact, outputs);
  }
  if (auto status = write_outputs(graph.value(), result.value(), output_files.value()); !status.ok())
    return fail(status.error());
  const auto one_chip = cycles_of_one_chip(chip, graph.value());
  print(run, session.value(), report, one_chip);
  if (!run.trace.empty()) {
    {  // the end of the session completes the trace
      const auto ended = std::move(session.value());
    }
    std::vector<TagNames> tags;
    for (const auto& chip_kernel : kernels.value()) tags.push_back(chip_kernel.kernel.tags);
    if (auto status = name_trace(run.trace, tags); !status.ok()) return fail(status.error());
  }
  if (!report.comparison) return 0;
  const auto verdict = report.comparison->verdict("the documented order");
  return verdict.ok() ? 0 : fail(verdict.error());
}

}  // namespace weft::tools
