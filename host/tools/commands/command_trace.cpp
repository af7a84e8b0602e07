// weft trace: another subcommand with its --trace, and the heat map of a trace's links.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "host/tools/commands/command.hpp"
#include "host/tools/commands/command_line.hpp"
#include "host/tools/commands/failure.hpp"
#include "host/tools/formats/files.hpp"
#include "host/tools/trace/heat_map.hpp"

namespace weft::tools {
namespace {

constexpr const char* kOption = "--trace";

struct TraceOptions {
  std::string output = "trace.json", from, page;
  HeatMapOptions heat_map;
  std::vector<std::string> command;
};

/// Names of the subcommands that can be traced.
std::vector<std::string> traceable(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (command->get_option_no_throw(kOption) != nullptr) names.push_back(command->get_name());
  return names;
}

Status check_command(const CLI::App& app, const std::vector<std::string>& command) {
  const auto wrong = [](std::string text) { return Error{WEFT_ERROR_INVALID_ARGUMENT, std::move(text)}; };
  const auto names = traceable(app);
  if (std::ranges::find(names, command.front()) == names.end())
    return wrong(fmt::format("'{}' cannot be traced; commands that can: {}", command.front(), fmt::join(names, ", ")));
  const bool twice = std::ranges::any_of(
      command, [](const std::string& word) { return word == kOption || word.starts_with(std::string(kOption) + "="); });
  if (twice) return wrong(fmt::format("{} is in the command already: name the file with -o", kOption));
  return Ok{};
}

/// As the user would have typed it.
std::vector<std::string> with_trace(std::vector<std::string> command, const std::string& file) {
  command.insert(command.begin() + 1, {kOption, file});
  return command;
}

int trace(const CLI::App& app, const TraceOptions& options) {
  if (!options.page.empty())
    if (auto status = check_writable(options.page); !status.ok()) return fail(status.error());
  if (options.from.empty()) {
    if (auto status = check_command(app, options.command); !status.ok()) return fail(status.error());
    if (const int code = run_command_line(with_trace(options.command, options.output)); code != 0) return code;
  }
  if (options.page.empty()) return 0;
  const auto page = heat_map_page(options.from.empty() ? options.output : options.from, options.heat_map);
  if (!page.ok()) return fail(page.error());
  const auto* first = reinterpret_cast<const std::byte*>(page.value().data());
  if (auto status = write_file(options.page, {first, first + page.value().size()}); !status.ok())
    return fail(status.error());
  return 0;
}

}  // namespace

void register_trace(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "trace", "run another command with a Chrome trace (opens in Perfetto), and make a heat map of a slice's links");
  auto options = std::make_shared<TraceOptions>();
  auto* output =
      command->add_option("-o,--output", options->output, "write the trace to this JSON file")->capture_default_str();
  auto* page = command->add_option("--heat-map", options->page,
                                   "write the use of a slice's links over time to this HTML page, which needs no other "
                                   "file and no network");
  command->add_option("--steps", options->heat_map.steps, "parts into which the page cuts time")
      ->check(CLI::Range(1u, kMaxHeatMapSteps))
      ->capture_default_str()
      ->needs(page);
  command->add_option("--title", options->heat_map.title, "of the page; default: the command")->needs(page);
  auto* from = command->add_option("--from", options->from, "make the page of this trace and run nothing")
                   ->needs(page)
                   ->excludes(output);
  auto* words =
      command->add_option("COMMAND", options->command, "a command that has --trace, and its options, behind --");
  command->footer("weft trace -o t.json --heat-map t.html -- collective all-reduce --slice nano-4x4 --bytes 65536");
  command->callback([=, &app, &action] {
    if (from->count() + (words->count() != 0 ? 1 : 0) != 1)
      throw CLI::ValidationError("trace", "a command behind --, or --from with a trace, is needed");
    if (options->heat_map.title.empty())
      options->heat_map.title =
          from->count() != 0 ? options->from : fmt::format("{}", fmt::join(options->command, " "));
    action = [options, &app] { return trace(app, *options); };
  });
}

}  // namespace weft::tools
