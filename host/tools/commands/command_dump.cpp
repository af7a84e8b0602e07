// weft dump: rings, records, logs and state of a live chip's function, or what a hang report or a state page holds.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "host/tools/commands/command.hpp"
#include "host/tools/commands/failure.hpp"
#include "host/tools/live/dump_view.hpp"
#include "host/tools/live/management_client.hpp"

namespace weft::tools {
namespace {

struct DumpOptions {
  std::string source = kDefaultListenFolder;
  uint32_t chip = 0, function = 0;
  uint32_t entries = 16;
  DumpSelection selection;
  bool json = false;
};

int show(const Result<std::string>& text) {
  if (!text.ok()) return fail(text.error());
  std::fwrite(text.value().data(), 1, text.value().size(), stdout);
  return 0;
}

Result<std::string> dump_live(const DumpOptions& options) {
  auto client = ManagementClient::connect(options.source);
  if (!client.ok()) return client.error();
  const auto reply = client.value().ask(management_request(
      "function", options.chip, fmt::format(R"(,"function":{},"entries":{})", options.function, options.entries)));
  if (!reply.ok()) return reply.error();
  auto dump = parse_function_dump(reply.value());
  if (!dump.ok()) return Error{dump.error().code, fmt::format("{}: {}", options.source, dump.error().message)};
  dump.value().folder = options.source;
  return options.json ? dump_json(dump.value(), options.selection) : dump_text(dump.value(), options.selection);
}

int dump(const DumpOptions& options) {
  std::error_code error;
  if (std::filesystem::is_regular_file(options.source, error)) return show(dump_file(options.source, options.json));
  return show(dump_live(options));
}

}  // namespace

void register_dump(CLI::App& app, Action& action) {
  auto options = std::make_shared<DumpOptions>();
  auto* command = app.add_subcommand(
      "dump",
      "decode a function's rings, fault records, log and state: of a live chip, or of a hang report or state page");
  command
      ->add_option("source", options->source,
                   "folder in which weft-sim listens, or a file: hang report (JSON), state page")
      ->capture_default_str();
  command->add_option("--chip", options->chip, "chip of a live slice")->capture_default_str();
  command->add_option("--function", options->function, "PCIe function of the live chip")->capture_default_str();
  command->add_option("--queue", options->selection.queue, "rings of this queue only (0: admin)");
  command->add_option("--entries", options->entries, "entries of each ring, the newest ones")
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  command->add_flag("--log", options->selection.log_only, "the firmware's log and nothing else");
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options, &action] { action = [options] { return dump(*options); }; });
}

}  // namespace weft::tools
