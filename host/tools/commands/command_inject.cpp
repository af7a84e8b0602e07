// weft inject: a workload under injected faults, and what its caller sees.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "host/tools/commands/command.hpp"
#include "host/tools/commands/failure.hpp"
#include "host/tools/formats/json_text.hpp"
#include "host/tools/inject/fault_trial.hpp"
#include "host/tools/inject/link_injection.hpp"
#include "weft/spec/names.hpp"

namespace weft::tools {
namespace {

struct InjectOptions {
  std::string schedule;
  std::string chip = "nano";
  std::string core = "fast";
  std::string device;  // not empty: this one, in the place of a simulator of its own
  uint64_t seed = 1;
  uint32_t count = 0;
  std::string listen;  // arm there, instead of trying
  uint32_t on_chip = 0;
  bool fatal = false;
  bool list = false;
  bool json = false;
};

constexpr int kInvariantBroken = 6;

const char* recovery_name(Recovery recovery) {
  switch (recovery) {
    case Recovery::kNone:
      return "none";
    case Recovery::kReset:
      return "reset";
    case Recovery::kReopened:
      return "opened anew";
  }
  return "";
}

nlohmann::ordered_json to_json(const std::string& faults, const TrialResult& result) {
  nlohmann::ordered_json out = {{"faults", faults},
                                {"acted", result.acted},
                                {"status", weft_status_name(result.first_error)},
                                {"message", result.message},
                                {"recovery", recovery_name(result.recovery)},
                                {"broken", result.broken}};
  for (const auto& command : result.commands)
    out["commands"].push_back({{"name", command.name},
                               {"status", weft_status_name(command.status)},
                               {"waited_out", command.waited_out},
                               {"completions", command.completions}});
  return out;
}

int list_kinds() {
  for (const auto& kind : spec::kInjectedFaultNames) fmt::print("{:<20} {}\n", kind.name, kind.doc);
  return 0;
}

Result<runtime::FaultSchedule> read_schedule(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("{}: cannot be read", path)};
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return runtime::read_fault_schedule(text, path);
}

/// Arms a schedule on a chip of a standing slice, and leaves it to those who use it.
int arm(const InjectOptions& options) {
  const auto schedule = read_schedule(options.schedule);
  if (!schedule.ok()) return fail(schedule.error());
  auto client = ManagementClient::connect(options.listen);
  if (!client.ok()) return fail(client.error());
  if (auto status = arm_link_faults(client.value(), options.on_chip, schedule.value()); !status.ok())
    return fail(status.error());
  for (const auto& fault : schedule.value())
    fmt::print("armed on chip {}: {}\n", options.on_chip, runtime::describe_fault(fault));
  return 0;
}

/// The schedules to try, each with its line for people.
Result<std::vector<runtime::FaultSchedule>> schedules_of(const InjectOptions& options, const FaultTrial& trial) {
  std::vector<runtime::FaultSchedule> schedules;
  if (!options.schedule.empty()) {
    auto read = read_schedule(options.schedule);
    if (!read.ok()) return read.error();
    schedules.push_back(std::move(read.value()));
  }
  runtime::FaultTargets targets = trial.targets();
  targets.fatal = options.fatal;
  for (uint32_t i = 0; i < options.count; i++)
    schedules.push_back({runtime::draw_fault(options.seed + i, trial.chip(), targets)});
  return schedules;
}

int inject(const InjectOptions& options) {
  if (options.list) return list_kinds();
  if (options.schedule.empty() && (options.count == 0 || !options.listen.empty()))
    return fail(Error{WEFT_ERROR_INVALID_ARGUMENT,
                      "nothing to inject: name a schedule, or give --count and --seed (weft inject --help)"});
  if (!options.listen.empty()) return arm(options);
  auto trial = FaultTrial::open(options.device.empty() ? fmt::format("sim:{}?core={}", options.chip, options.core)
                                                       : options.device);
  if (!trial.ok()) return fail(trial.error());
  const auto schedules = schedules_of(options, trial.value());
  if (!schedules.ok()) return fail(schedules.error());
  auto document = nlohmann::ordered_json::array();
  size_t broken = 0;
  for (const auto& schedule : schedules.value()) {
    std::string line;
    for (const auto& fault : schedule) line += (line.empty() ? "" : "; ") + runtime::describe_fault(fault);
    const auto result = trial.value().run(schedule);
    if (!result.ok()) return fail(result.error());
    const TrialResult& r = result.value();
    broken += r.broken.empty() ? 0 : 1;
    if (options.json) {
      document.push_back(to_json(line, r));
      continue;
    }
    fmt::print("{}\n  acted {}, {}, recovery: {}\n", line, r.acted,
               r.message.empty() ? std::string("every command OK") : r.message, recovery_name(r.recovery));
    for (const auto& command : r.commands)
      if (command.status != WEFT_ERROR_OK || command.waited_out)
        fmt::print("    {:<16} {}{}\n", command.name, weft_status_name(command.status),
                   command.waited_out ? ", the wait timed out first" : "");
    for (const auto& sentence : r.broken) fmt::print("  BROKEN: {}\n", sentence);
  }
  if (options.json)
    fmt::print("{}\n", json_text(document));
  else
    fmt::print("{} schedules, {} with a broken invariant\n", schedules.value().size(), broken);
  return broken == 0 ? 0 : kInvariantBroken;
}

}  // namespace

void register_inject(CLI::App& app, Action& action) {
  auto options = std::make_shared<InjectOptions>();
  auto* command = app.add_subcommand(
      "inject",
      "run a workload under injected faults and tell what its caller sees; exit code 6: an invariant is broken");
  command->add_option("schedule", options->schedule, "TOML file of [[fault]] tables, armed together");
  command->add_option("--count", options->count, "also try so many faults drawn from the seed, one at a time");
  command->add_option("--seed", options->seed, "of the first drawn fault; each next one has the next seed")
      ->capture_default_str();
  command->add_option("--chip", options->chip, "preset")->capture_default_str();
  command->add_option("--core", options->core, "rtl, fast or lockstep")->capture_default_str();
  command->add_option("--open", options->device,
                      "try them on this device, as weft list names it, whatever --chip and --core say");
  auto* listen =
      command->add_option("--listen", options->listen,
                          "arm the schedule (faults of links) on a chip of the weft-sim --slice that listens "
                          "in this folder, whoever uses it, instead of running a workload");
  command->add_option("--on-chip", options->on_chip, "chip of that slice")->capture_default_str()->needs(listen);
  command->add_flag("--fatal", options->fatal, "draw faults too that end the device for good");
  command->add_flag("--list", options->list, "print the kinds of faults and end");
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options, &action] { action = [options] { return inject(*options); }; });
}

}  // namespace weft::tools
