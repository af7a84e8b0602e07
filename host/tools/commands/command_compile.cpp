// weft compile: an ONNX model becomes a .weft executable.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "host/compiler/import_graph.hpp"
#include "host/compiler/ir/text.hpp"
#include "host/compiler/onnx/importer.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/tools/commands/command.hpp"
#include "host/tools/commands/failure.hpp"
#include "host/tools/commands/options.hpp"
#include "host/tools/commands/slice_options.hpp"
#include "host/tools/cost/explain.hpp"
#include "host/tools/formats/files.hpp"
#include "host/tools/formats/json_text.hpp"
#include "host/tools/run/model_program.hpp"
#include "host/tools/run/run_arrays.hpp"
#include "host/tools/run/run_parts.hpp"
#include "host/tools/run/sharded_model.hpp"

namespace weft::tools {
namespace {

constexpr uint64_t kShownElements = 16;  // of a constant

struct CompileOptions {
  std::string model, output, chip = "v5e-1mxu";
  std::vector<std::string> binds;
  std::string precision = "bf16";
  std::string print_after;
  uint64_t batch = 1;
  std::string loops = "auto";
  bool json = false, explain = false;
  SliceOptions slice;
};

/// digits.weft of chip 3: digits-chip3.weft.
std::string path_of_chip(const std::string& path, size_t number) {
  const std::filesystem::path whole(path);
  auto name = whole.stem();
  name += fmt::format("-chip{}", number);
  name += whole.extension();
  return whole.parent_path() / name;
}

/// The executables of all chips: those of the only launch, or why there are several, or an island.
Result<std::vector<std::vector<std::byte>>> executables_of(const spec::Chip& chip, const ShardedModel& model) {
  std::vector<std::vector<std::byte>> executables;
  if (model.programs) {
    for (const auto& program : model.programs->chips) {
      auto executable = compiler::write_executable(chip, program.kernel);
      if (!executable.ok()) return executable.error();
      executables.push_back(std::move(executable.value()));
    }
    return executables;
  }
  const auto& launches = model.model.launches;
  if (launches.size() == 1 && launches[0].sequence) return launches[0].sequence->compiled.executables;
  return Error{WEFT_ERROR_UNSUPPORTED,
               fmt::format("it is {} launches and islands of the host, and executables are one launch:\n{}",
                           launches.size(), parts_text(model.model))};
}

/// An executable for each chip of the slice.
int compile_for_slice(const CompileOptions& options) {
  const auto slice = parse_slice(options.slice.slice);
  if (!slice.ok()) return fail(slice.error());
  if (options.output.empty()) return fail({WEFT_ERROR_INVALID_ARGUMENT, "--slice needs -o FILE"});
  const auto sharding = parse_sharding(options.slice);
  if (!sharding.ok()) return fail(sharding.error());
  const auto file = read_file(options.model);
  if (!file.ok()) return fail(file.error());
  const auto at = [&](const Error& e) { return fail({e.code, fmt::format("{}: {}", options.model, e.message)}); };
  const auto binding =
      binding_of({}, options.binds, static_cast<int64_t>(options.batch), precision_of(options.precision));
  if (!binding.ok()) return fail(binding.error());
  const auto folder = std::filesystem::path(options.model).parent_path().string();
  const auto imported = compiler::import_simplified(file.value(), folder.empty() ? "." : folder, binding.value());
  if (!imported.ok()) return at(imported.error());
  const auto model =
      compile_sharded_model(imported.value().module, *slice.value().chip, slice.value().shape, sharding.value());
  if (!model.ok()) return at(model.error());
  const auto executables = executables_of(*slice.value().chip, model.value());
  if (!executables.ok()) return at(executables.error());
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (size_t number = 0; number < executables.value().size(); number++) {
    const auto& executable = executables.value()[number];
    const auto path = path_of_chip(options.output, number);
    if (auto status = write_file(path, executable); !status.ok()) return fail(status.error());
    const uint64_t macs = model.value().programs ? model.value().programs->chips[number].kernel.macs
                                                 : model.value().model.launches[0].sequence->compiled.macs;
    files.push_back({{"output", path}, {"bytes", executable.size()}, {"macs", macs}});
    if (!options.json)
      fmt::print("{}: {} bytes for chip {} of {}, {} MACs\n", path, executable.size(), number, options.slice.slice,
                 macs);
  }
  const nlohmann::ordered_json json = {
      {"slice", options.slice.slice}, {"sharding", options.slice.sharding}, {"chips", files}};
  if (options.json) fmt::print("{}\n", json_text(json));
  return 0;
}

/// The model in L1 behind a pass, as text.
int print_after(const CompileOptions& options, const std::vector<std::byte>& file,
                const compiler::frontend::Binding& binding) {
  const auto folder = std::filesystem::path(options.model).parent_path().string();
  auto imported = compiler::frontend::import_model(file, folder.empty() ? "." : folder, binding);
  if (!imported.ok())
    return fail({imported.error().code, fmt::format("{}: {}", options.model, imported.error().message)});
  const auto show = [&](std::string_view pass, const compiler::ir::Module& module) {
    if (pass == options.print_after) fmt::print("{}", compiler::ir::print(module, kShownElements));
  };
  show("import", imported.value().module);
  const auto module = compiler::passes::run_all(std::move(imported.value().module), show);
  return module.ok() ? 0 : fail({module.error().code, fmt::format("{}: {}", options.model, module.error().message)});
}

/// The table of the model's layers.
int explain_model(const CompileOptions& options, const spec::Chip& chip, const ModelProgram& model) {
  const auto explanation = explain(chip, model);
  if (!explanation.ok())
    return fail({explanation.error().code, fmt::format("{}: {}", options.model, explanation.error().message)});
  const auto to_text = options.json ? explain_json : explain_text;
  fmt::print("{}", to_text(chip, options.model, model, explanation.value()));
  return 0;
}

int compile(const CompileOptions& options) {
  if (!options.slice.slice.empty()) return compile_for_slice(options);
  const auto chip = chip_by_name(options.chip);
  if (!chip.ok()) return fail(chip.error());
  if (!options.output.empty()) {
    if (auto status = check_writable(options.output); !status.ok()) return fail(status.error());
    if (auto status = check_apart({{"the executable", options.output}}, {options.model}); !status.ok())
      return fail(status.error());
  }
  auto file = read_file(options.model);
  if (!file.ok()) return fail(file.error());
  const auto binding =
      binding_of({}, options.binds, static_cast<int64_t>(options.batch), precision_of(options.precision));
  if (!binding.ok()) return fail(binding.error());
  if (!options.print_after.empty()) return print_after(options, file.value(), binding.value());
  if (options.output.empty()) {
    const auto model = compile_model(options.model, file.value(), *chip.value(), binding.value(),
                                     compiler::Device::kUsed, loops_of(options.loops));
    if (!model.ok()) return fail(model.error());
    if (options.explain) return explain_model(options, *chip.value(), model.value());
    if (options.json)
      fmt::print("{}", parts_json(model.value(), nullptr));
    else
      fmt::print("{} in {} parts\n{}", options.model, model.value().partition.parts.size(), parts_text(model.value()));
    return 0;
  }
  const auto program = compile_for_device(options.model, std::move(file.value()), *chip.value(), binding.value(),
                                          loops_of(options.loops));
  if (!program.ok()) return fail(program.error());
  const auto& p = program.value().program;
  if (auto status = write_file(options.output, p.executable); !status.ok()) return fail(status.error());
  if (options.json) {
    const nlohmann::ordered_json json = {{"output", options.output},
                                         {"chip", options.chip},
                                         {"bytes", p.executable.size()},
                                         {"macs", p.macs},
                                         {"steps", program.value().graph.nodes.size()},
                                         {"cycle_estimate", p.cycle_estimate}};
    fmt::print("{}\n", json_text(json));
  } else {
    fmt::print("{}: {} bytes for {}, {} steps, {} MACs, at least {} cycles\n", options.output, p.executable.size(),
               options.chip, program.value().graph.nodes.size(), p.macs, p.cycle_estimate);
  }
  return 0;
}

}  // namespace

void register_compile(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("compile", "an ONNX model becomes a .weft executable");
  auto options = std::make_shared<CompileOptions>();
  command->add_option("MODEL", options->model, "ONNX file")->required();
  auto* output = command->add_option(
      "-o,--output", options->output,
      "the .weft file; with --slice one a chip, FILE-chip0.weft and so on; without it: what runs where, and why");
  command->add_option("--chip", options->chip, "chip preset")->capture_default_str();
  command->add_option("--batch", options->batch, "value of a symbolic first dimension")
      ->capture_default_str()
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 31));
  command->add_option("--bind", options->binds,
                      "NAME=SIZE of a symbolic dimension, or INPUT=SIZExSIZE, the shape of an input");
  add_precision_option(*command, options->precision);
  std::vector<std::string> passes{"import"};
  for (const auto& pass : compiler::passes::all()) passes.emplace_back(pass.name);
  auto* print_after = command
                          ->add_option("--print-after", options->print_after,
                                       "print the model's operators as they are behind this pass")
                          ->check(CLI::IsMember(passes));
  command
      ->add_flag("--explain", options->explain,
                 "a table of the layers: operators, where values live, bytes, cycles of each engine, what binds")
      ->excludes(output)
      ->excludes(print_after);
  add_loops_option(*command, options->loops);
  add_slice_options(*command, options->slice, {"--chip", "--explain", "--loops"});
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options, &action] { action = [options] { return compile(*options); }; });
}

}  // namespace weft::tools
