// weft run: a model or an executable on arrays.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "host/compiler/executable/debug_section.hpp"
#include "host/compiler/layout.hpp"
#include "host/reference/graph_reference.hpp"
#include "host/tools/commands/command.hpp"
#include "host/tools/commands/failure.hpp"
#include "host/tools/commands/options.hpp"
#include "host/tools/commands/run_slice.hpp"
#include "host/tools/commands/slice_options.hpp"
#include "host/tools/cost/profile_files.hpp"
#include "host/tools/formats/files.hpp"
#include "host/tools/formats/npy.hpp"
#include "host/tools/run/mismatch.hpp"
#include "host/tools/run/model_program.hpp"
#include "host/tools/run/progress.hpp"
#include "host/tools/run/run_arrays.hpp"
#include "host/tools/run/run_parts.hpp"
#include "host/tools/run/run_report.hpp"
#include "host/tools/run/tensor_arrays.hpp"
#include "host/tools/trace/trace_names.hpp"

namespace weft::tools {
namespace {

struct RunOptions {
  std::string loops = "auto";
  std::string model;
  std::vector<std::string> inputs, outputs, binds;
  std::string precision = "bf16";
  std::string device = "chip";
  bool verify = false, json = false;
  std::vector<std::string> profiles;
  runtime::Target target;
  SliceOptions slice;
};

std::vector<std::string> names_of(const std::vector<runtime::ArgumentInfo>& arguments,
                                  weft_argument_direction direction) {
  std::vector<std::string> names;
  for (const auto& a : arguments)
    if (a.direction == direction) names.push_back(a.name);
  return names;
}

/// A model that is not one device program.
int run_shared(const RunOptions& options, const ModelProgram& model, const std::map<std::string, NpyArray>& arrays,
               const std::map<std::string, std::string>& input_files,
               const std::map<std::string, std::string>& output_files, MismatchReport& mismatch,
               const ProfileFiles& profile) {
  std::vector<std::string> input_names, output_names;
  for (const auto input : model.module.inputs) input_names.push_back(model.module.input_name(input));
  for (const auto& output : model.module.outputs) output_names.push_back(output.name);
  if (auto status = check_names("output", output_files, output_names); !status.ok()) return fail(status.error());
  if (auto status = check_names("input", input_files, input_names); !status.ok()) return fail(status.error());
  std::vector<compiler::ir::TensorPtr> inputs;
  for (const auto input : model.module.inputs) {
    const auto& name = model.module.input_name(input);
    const auto array = arrays.find(name);
    if (array == arrays.end()) return fail(missing_input(name, input_names));
    auto tensor = input_tensor(name, input_files.at(name), array->second, model.module.type(input));
    if (!tensor.ok()) return fail(tensor.error());
    inputs.push_back(std::move(tensor.value()));
  }
  const bool device =
      std::ranges::any_of(model.partition.parts, [](const auto& part) { return part.graph.has_value(); });
  if (options.verify && !device)
    return fail({WEFT_ERROR_UNSUPPORTED,
                 fmt::format("{}: --verify compares device programs, and the model has none: the host computes it",
                             options.model)});
  if (profile.wanted() && !device)
    return fail({WEFT_ERROR_UNSUPPORTED,
                 fmt::format("{}: --profile shows device programs, and the model has none: the host computes it",
                             options.model)});
  std::optional<runtime::Session> session;
  const spec::Chip* chip = nullptr;
  if (device) {
    auto opened = runtime::Session::open(mismatch.target());
    if (!opened.ok()) return fail(opened.error());
    session.emplace(std::move(opened.value()));
    chip = &session->chip();  // a preset, which outlives the session
  }
  const bool verify = device && (options.verify || options.target.core == "lockstep");
  const auto result = run_parts(model, inputs, session ? &*session : nullptr, verify ? Verify::kYes : Verify::kNo);
  if (!result.ok())
    return fail(mismatch.explain({result.error().code, fmt::format("{}: {}", options.model, result.error().message)}));
  if (session)
    if (auto status = session->close(); !status.ok()) return fail(status.error());
  if (device)
    if (auto status = profile.write(*chip, model, options.model, result.value()); !status.ok())
      return fail(status.error());
  for (size_t i = 0; i < model.module.outputs.size(); i++)
    if (const auto path = output_files.find(model.module.outputs[i].name); path != output_files.end())
      if (auto status = write_file(path->second, format_npy(array_of(*result.value().outputs[i]))); !status.ok())
        return fail(status.error());
  if (options.json) {
    fmt::print("{}", parts_json(model, &result.value()));
  } else {
    fmt::print("{} in {} parts\n{}", options.model, model.partition.parts.size(), parts_text(model));
    if (device)
      fmt::print("  device cycles       {} on {} ({} core)\n", result.value().device_cycles, options.target.chip,
                 options.target.core);
    fmt::print("  host                {:.3f} s\n", result.value().host_seconds);
    if (verify)
      fmt::print("  differing           {} of {} elements of device programs from the golden model\n",
                 result.value().comparison.differing(), result.value().comparison.elements());
  }
  if (!verify) return 0;
  const auto verdict = result.value().comparison.verdict("the golden model");
  return verdict.ok() ? 0 : fail(verdict.error());
}

int run(const RunOptions& options) {
  if (!options.slice.slice.empty())
    return run_on_slice({options.model, options.inputs, options.outputs, options.slice, options.target.core,
                         options.target.manager, options.target.trace, options.verify, options.json});
  if (auto status = check_target(options.target); !status.ok()) return fail(status.error());
  const auto input_files = parse_pairs(options.inputs, "--input");
  if (!input_files.ok()) return fail(input_files.error());
  const auto output_files = parse_pairs(options.outputs, "--output");
  if (!output_files.ok()) return fail(output_files.error());
  for (const auto& [name, path] : output_files.value())
    if (auto status = check_writable(path); !status.ok()) return fail(status.error());
  std::vector<std::string> read_files{options.model};
  for (const auto& [name, path] : input_files.value()) read_files.push_back(path);
  ProfileFiles profile(options.profiles);
  runtime::Target target = options.target;
  if (auto status = profile.prepare(target); !status.ok()) return fail(status.error());
  auto written_files = output_files.value();
  for (const auto& path : options.profiles) written_files.emplace("--profile " + path, path);
  if (profile.wanted() && !options.target.trace.empty()) written_files.emplace("--trace", options.target.trace);
  if (auto status = check_apart(written_files, read_files); !status.ok()) return fail(status.error());
  const auto file = read_file(options.model);
  if (!file.ok()) return fail(file.error());
  auto read = read_arrays(input_files.value());
  if (!read.ok()) return fail(read.error());
  const auto& arrays = read.value();

  MismatchReport mismatch(target);
  const bool compiled = is_executable(file.value());
  if (compiled && options.verify)
    return fail({WEFT_ERROR_UNSUPPORTED,
                 "--verify needs the ONNX model: an executable does not hold the network that it was made from"});
  if (compiled && profile.wanted())
    return fail({WEFT_ERROR_UNSUPPORTED,
                 "--profile needs the ONNX model: an executable does not hold the network that it was made from"});
  if (compiled && options.precision != "bf16")
    return fail({WEFT_ERROR_UNSUPPORTED, "--precision needs the ONNX model: an executable's products are compiled"});
  // A model is compiled before the device is opened, so that its mistakes are found first; an attached device tells its
  // chip itself.
  auto session = Result<runtime::Session>(Error{});
  if (compiled || options.target.attached()) session = runtime::Session::open(mismatch.target());
  if ((compiled || options.target.attached()) && !session.ok()) return fail(session.error());
  const spec::Chip& chip = session.ok() ? session.value().chip() : *spec::find_chip(options.target.chip);
  ModelProgram program;
  if (!compiled) {
    const auto binding = binding_of(arrays, options.binds, 1, precision_of(options.precision));
    if (!binding.ok()) return fail(binding.error());
    const auto device = options.device == "none" ? compiler::Device::kNone : compiler::Device::kUsed;
    auto made = compile_model(options.model, file.value(), chip, binding.value(), device, loops_of(options.loops));
    if (!made.ok()) return fail(made.error());
    program = std::move(made.value());
    if (program.whole() == nullptr) {
      if (session.ok()) (void)session.value().close();
      return run_shared(options, program, arrays, input_files.value(), output_files.value(), mismatch, profile);
    }
  }
  const compiler::Graph* graph = compiled ? nullptr : program.whole();
  const PartProgram none;
  const PartProgram& part = compiled ? none : program.programs[0];
  if (!session.ok()) session = runtime::Session::open(mismatch.target());
  if (!session.ok()) return fail(session.error());
  if (auto status = session.value().load(compiled ? file.value() : part.executable); !status.ok())
    return fail({status.error().code, fmt::format("{}: {}", options.model, status.error().message)});

  const auto& infos = session.value().arguments();
  const auto input_names = names_of(infos, WEFT_ARGUMENT_DIRECTION_INPUT);
  const auto output_names = names_of(infos, WEFT_ARGUMENT_DIRECTION_OUTPUT);
  if (auto status = check_names("output", output_files.value(), output_names); !status.ok())
    return fail(status.error());
  if (auto status = check_names("input", input_files.value(), input_names); !status.ok()) return fail(status.error());
  std::vector<std::vector<std::byte>> arguments;
  std::vector<std::vector<float>> values;
  for (const auto& info : infos) {
    arguments.emplace_back();
    if (info.direction != WEFT_ARGUMENT_DIRECTION_INPUT) continue;
    const auto found = arrays.find(info.name);
    if (found == arrays.end()) return fail(missing_input(info.name, input_names));
    if (!compiled)
      if (auto status = check_shape(graph->tensors[graph->inputs[values.size()]], input_files.value().at(info.name),
                                    found->second);
          !status.ok())
        return fail(status.error());
    values.emplace_back();
    NpyArray array = found->second;
    if (!compiled) array.shape = {info.rows, info.columns};  // the model has told its shape
    auto packed = pack_input(info, input_files.value().at(info.name), array, values.back());
    if (!packed.ok()) return fail(packed.error());
    arguments.back() = std::move(packed.value());
  }

  RunReport report;
  ProgressLine progress;
  auto results = session.value().run(arguments, report.launch, progress.callback(part.cycle_estimate));
  if (!results.ok()) return fail(mismatch.explain(results.error()));
  const std::vector<runtime::ArgumentInfo> layout = infos;
  if (auto status = session.value().close(); !status.ok()) return fail(status.error());
  if (!options.target.trace.empty()) {
    const TagNames tags = compiler::read_tags(compiled ? file.value() : part.executable);
    if (auto status = name_trace(options.target.trace, {&tags, 1}); !status.ok()) return fail(status.error());
  }

  const PartsResult profiled{.launches = {{0, report.launch.start_cycle, report.launch.end_cycle}}};
  if (auto status = profile.write(chip, program, options.model, profiled); !status.ok()) return fail(status.error());

  report.what = options.model;
  report.chip = chip.name;
  report.core = options.target.attached() ? "attached" : options.target.core;
  report.manager = manager_of(options.target);
  report.macs = compiled ? report.launch.counters[WEFT_COUNTER_MXU_MACS] : part.macs;
  report.peak_macs_per_cycle = chip.peak_macs_per_cycle;
  report.clock_hz = chip.clock_hz;
  const bool verify = !compiled && (options.verify || options.target.core == "lockstep");
  std::vector<std::vector<std::byte>> outputs;  // dense
  for (size_t i = 0; i < layout.size(); i++) {
    if (layout[i].direction != WEFT_ARGUMENT_DIRECTION_OUTPUT) continue;
    const size_t output = outputs.size();
    outputs.push_back(compiler::unpack_rows(results.value()[i], layout[i].rows, layout[i].columns, 4));
    if (const auto path = output_files.value().find(layout[i].name); path != output_files.value().end()) {
      NpyArray array{NpyType::kF32, {layout[i].rows, layout[i].columns}, outputs.back()};
      if (!compiled) {
        const auto& dims = graph->tensors[graph->outputs[output]].dims;
        array.shape.assign(dims.begin(), dims.end());
      }
      if (auto status = write_file(path->second, format_npy(array)); !status.ok()) return fail(status.error());
    }
  }
  if (verify) compare(report, *graph, evaluate_golden(*graph, values), evaluate_fp64(*graph, values), outputs);
  fmt::print("{}", options.json ? report_json(report) : report_text(report));
  if (!report.comparison) return 0;
  const auto verdict = report.comparison->verdict("the golden model");
  return verdict.ok() ? 0 : fail(verdict.error());
}

}  // namespace

void register_run(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("run", "run an ONNX model or a .weft executable on .npy arrays");
  auto options = std::make_shared<RunOptions>();
  command->add_option("MODEL", options->model, "ONNX or .weft file")->required();
  command->add_option("--input", options->inputs, "NAME=FILE.npy; once for each input");
  command->add_option(
      "--bind", options->binds,
      "NAME=SIZE of a symbolic dimension that no array tells, or INPUT=SIZExSIZE, the shape of an input");
  add_precision_option(*command, options->precision);
  command->add_option("--device", options->device, "chip, or none: the host computes all of the model, in float32")
      ->capture_default_str()
      ->check(CLI::IsMember({"chip", "none"}));
  add_loops_option(*command, options->loops);
  command->add_option("--output", options->outputs, "NAME=FILE.npy; once for each output to be written");
  command->add_flag("--verify", options->verify,
                    "compare with the golden model, bit for bit, and with fp64 (ONNX models)");
  command->add_flag("--json", options->json, "print JSON");
  command->add_option(
      "--profile", options->profiles,
      "write where the cycles of each layer went, and its place under the roofline, to this page (.html) "
      "or document (.json)");
  add_target_options(*command, options->target);
  add_slice_options(*command, options->slice,
                    {"--chip", "--socket", "--open", "--wave", "--wave-from", "--wave-to", "--profile", "--precision"});
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace weft::tools
