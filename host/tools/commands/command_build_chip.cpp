// weft build-chip: the RTL core of a preset that is not in this build, as a module that weft-sim loads.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "host/tools/commands/command.hpp"
#include "host/tools/commands/failure.hpp"
#include "host/tools/commands/options.hpp"
#include "host/tools/cores/core_build.hpp"

namespace weft::tools {
namespace {

struct BuildChipOptions {
  CoreBuild build;
  std::string array = "fast";
};

int build_chip(BuildChipOptions options) {
  if (const auto chip = chip_by_name(options.build.chip); !chip.ok()) return fail(chip.error());
  options.build.structural = options.array == "structural";
  const auto built = build_core(options.build);
  if (!built.ok()) return fail(built.error());
  if (built.value().was_there)
    fmt::print("{} is there\n", built.value().module.string());
  else
    fmt::print("{} built in {:.0f} s\n", built.value().module.string(), built.value().seconds);
  return 0;
}

}  // namespace

void register_build_chip(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "build-chip", "build the RTL core of a preset that this build does not have, for --core rtl and lockstep");
  auto options = std::make_shared<BuildChipOptions>();
  command->add_option("preset", options->build.chip, "chip preset")->required();
  command->add_option("--array", options->array, "the MXU's array: fast or structural, as weft-sim --array")
      ->check(CLI::IsMember({"fast", "structural"}))
      ->capture_default_str();
  command->add_option("--source", options->build.source,
                      "folder of the sources; default: where they were installed or built");
  command->add_option("--jobs", options->build.jobs, "processes that compile")
      ->check(CLI::Range(1u, 64u))
      ->capture_default_str();
  command->callback([options, &action] { action = [options] { return build_chip(*options); }; });
}

}  // namespace weft::tools
