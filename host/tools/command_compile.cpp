// weft compile: an ONNX model becomes a .weft executable.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "host/tools/command.hpp"
#include "host/tools/failure.hpp"
#include "host/tools/files.hpp"
#include "host/tools/json_text.hpp"
#include "host/tools/model_program.hpp"
#include "host/tools/options.hpp"

namespace weft::tools {
namespace {

struct CompileOptions {
  std::string model, output, chip = "v5e-1mxu";
  uint64_t batch = 1;
  bool json = false;
};

int compile(const CompileOptions& options) {
  const auto chip = chip_by_name(options.chip);
  if (!chip.ok()) return fail(chip.error());
  if (auto status = check_writable(options.output); !status.ok()) return fail(status.error());
  const auto file = read_file(options.model);
  if (!file.ok()) return fail(file.error());
  const auto program = compile_model(options.model, file.value(), *chip.value(), options.batch);
  if (!program.ok()) return fail(program.error());
  if (auto status = write_file(options.output, program.value().executable); !status.ok()) return fail(status.error());
  const auto& p = program.value();
  if (options.json) {
    const nlohmann::ordered_json json = {{"output", options.output},      {"chip", options.chip},
                                         {"bytes", p.executable.size()},  {"macs", p.macs},
                                         {"steps", p.graph.nodes.size()}, {"cycle_estimate", p.cycle_estimate}};
    fmt::print("{}\n", json_text(json));
  } else {
    fmt::print("{}: {} bytes for {}, {} steps, {} MACs, at least {} cycles\n", options.output, p.executable.size(),
               options.chip, p.graph.nodes.size(), p.macs, p.cycle_estimate);
  }
  return 0;
}

}  // namespace

void register_compile(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("compile", "an ONNX model becomes a .weft executable");
  auto options = std::make_shared<CompileOptions>();
  command->add_option("MODEL", options->model, "ONNX file")->required();
  command->add_option("-o,--output", options->output, "the .weft file")->required();
  command->add_option("--chip", options->chip, "chip preset")->capture_default_str();
  command->add_option("--batch", options->batch, "value of a symbolic first dimension")
      ->capture_default_str()
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 31));
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options, &action] { action = [options] { return compile(*options); }; });
}

}  // namespace weft::tools
