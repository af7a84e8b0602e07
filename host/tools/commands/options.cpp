// Shared options and their checks.
#include "host/tools/commands/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "host/tools/formats/files.hpp"

namespace weft::tools {
namespace {

constexpr const char* kDefaultManager = WEFT_DEFAULT_MANAGER;  // of weft-sim, too

const std::map<std::string, compiler::tiles::Loops> kLoops{{"auto", compiler::tiles::Loops::kAuto},
                                                           {"never", compiler::tiles::Loops::kNever},
                                                           {"always", compiler::tiles::Loops::kAlways}};

}  // namespace

void add_precision_option(CLI::App& app, std::string& precision) {
  app.add_option("--precision", precision,
                 "of products of f32 in a model: bf16, bf16x3 or bf16x6, as sums of 1, 3 or 6 products of bf16 parts")
      ->check(CLI::IsMember({"bf16", "bf16x3", "bf16x6"}))
      ->capture_default_str();
}
compiler::frontend::Precision precision_of(const std::string& word) {
  return compiler::frontend::precision_of(word).value();
}

void add_loops_option(CLI::App& app, std::string& loops) {
  app.add_option(
         "--loops", loops,
         "equal layers become a loop that the firmware runs: always, never, or auto, where that makes the program "
         "much smaller")
      ->check(CLI::IsMember({"auto", "never", "always"}))
      ->capture_default_str();
}
compiler::tiles::Loops loops_of(const std::string& word) { return kLoops.at(word); }

void add_target_options(CLI::App& app, runtime::Target& target) {
  app.add_option("--chip", target.chip, "chip preset")->capture_default_str();
  app.add_option("--core", target.core, "rtl, fast or lockstep")->capture_default_str();
  app.add_option(
      "--manager", target.manager,
      fmt::format("what runs the firmware: native (this build's own code, its cycles charged by the call), rv32 (its "
                  "image, with the cycles of its instructions) or ibex (the image on Ibex's RTL); default: {}",
                  kDefaultManager));
  app.add_option("--socket", target.socket,
                 "attach to a weft-sim that listens here, whatever --chip, --core and --manager say");
  app.add_option(
         "--open", target.device,
         "open this device, as weft list names it (pci:0000:00:05.0), whatever --chip, --core and --manager say")
      ->excludes("--socket");
  app.add_option("--wave", target.wave, "write waves of the RTL to this FST file");
  app.add_option("--wave-from", target.wave_from, "first device cycle in the waves")->capture_default_str();
  app.add_option("--wave-to", target.wave_to, "last device cycle in the waves")->default_str("the end");
  app.add_option("--trace", target.trace, "write a Chrome trace (opens in Perfetto) to this JSON file");
}

std::string manager_of(const std::string& wanted) {
  const char* variable = std::getenv("WEFT_MANAGER");  // stronger than a device's name
  if (variable != nullptr && *variable != 0) return variable;
  return wanted.empty() ? kDefaultManager : wanted;
}

std::string manager_of(const runtime::Target& target) {
  return target.attached() ? "attached" : manager_of(target.manager);
}

Error no_such_word(std::string_view what, std::string_view word, const std::vector<std::string>& words) {
  return {WEFT_ERROR_INVALID_ARGUMENT,
          fmt::format("there is no {} '{}'; possible: {}", what, word, fmt::join(words, ", "))};
}

Result<const spec::Chip*> chip_by_name(const std::string& name) {
  if (const auto* chip = spec::find_chip(name)) return chip;
  std::vector<std::string_view> names;
  for (const auto& chip : spec::kChips) names.push_back(chip.name);
  return Error{WEFT_ERROR_INVALID_ARGUMENT,
               fmt::format("there is no chip '{}'; presets: {}", name, fmt::join(names, ", "))};
}

void add_watch_options(CLI::App& app, WatchOptions& options, std::string_view sampled) {
  app.add_option("--interval", options.interval_seconds,
                 "seconds between the two samples of the " + std::string(sampled))
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
  auto* watch = app.add_option("--watch", options.watch_seconds, "show it again every so many seconds")
                    ->check(CLI::Range(0.05, 3600.0));
  app.add_option("--count", options.count, "with --watch: end after so many times; 0: never")
      ->needs(watch)
      ->capture_default_str();
}

Status check_manager(const std::string& manager) {
  if (manager.empty() || manager == "native" || manager == "rv32" || manager == "ibex") return Ok{};
  return Error{WEFT_ERROR_INVALID_ARGUMENT,
               fmt::format("there is no manager '{}'; managers: native, rv32, ibex", manager)};
}

Status check_target(const runtime::Target& target) {
  if (const auto chip = chip_by_name(target.chip); !chip.ok()) return chip.error();
  if (target.core != "rtl" && target.core != "fast" && target.core != "lockstep")
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("there is no core '{}'; cores: rtl, fast, lockstep", target.core)};
  if (auto status = check_manager(target.manager); !status.ok()) return status;
  if (target.device.starts_with("sim:"))
    return Error{WEFT_ERROR_INVALID_ARGUMENT, "--open sim:...: --chip and --core say which simulator is started"};
  if (!target.wave.empty() && target.core == "fast")
    return Error{WEFT_ERROR_INVALID_ARGUMENT, "--wave needs --core rtl or lockstep: the fast core has no signals"};
  if (target.wave_from > target.wave_to)
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("--wave-from {} is after --wave-to {}", target.wave_from, target.wave_to)};
  for (const auto& path : {target.wave, target.trace})
    if (!path.empty())
      if (auto status = check_regular(path); !status.ok()) return status;
  return Ok{};
}

}  // namespace weft::tools
