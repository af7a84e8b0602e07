// weft links: what the links of a standing slice do, while others use its chips.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>

#include "host/tools/commands/command.hpp"
#include "host/tools/commands/failure.hpp"
#include "host/tools/commands/options.hpp"
#include "host/tools/live/chip_snapshot.hpp"
#include "host/tools/live/links_view.hpp"
#include "host/tools/live/management_client.hpp"

namespace weft::tools {
namespace {

struct LinksOptions : WatchOptions {
  std::string folder = kDefaultListenFolder;
  std::optional<uint32_t> replaced_cube;
  bool json = false;
};

Result<LinksSnapshot> look(ManagementClient& client) {
  const auto reply = client.ask(R"({"weft_management":1,"request":"links"})");
  if (!reply.ok()) return reply.error();
  auto links = parse_links_snapshot(reply.value());
  if (!links.ok()) return Error{links.error().code, fmt::format("{}: {}", client.folder(), links.error().message)};
  links.value().place = client.folder();
  return links;
}

int links(const LinksOptions& options) {
  auto client = ManagementClient::connect(options.folder);
  if (!client.ok()) return fail(client.error());
  if (options.replaced_cube) {
    const auto reply = client.value().ask(
        fmt::format(R"({{"weft_management":1,"request":"replace","cube":{}}})", *options.replaced_cube));
    if (!reply.ok()) return fail(reply.error());
  }
  auto before = look(client.value());
  if (!before.ok()) return fail(before.error());
  const bool watching = options.watch_seconds > 0, terminal = isatty(STDOUT_FILENO) != 0;
  double pause = watching ? std::min(options.interval_seconds, options.watch_seconds) : options.interval_seconds;
  for (uint32_t shown = 1;; shown++) {
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
    auto after = look(client.value());
    if (!after.ok()) return fail(after.error());
    if (options.json) {
      fmt::print("{}\n", links_json(before.value(), after.value(), watching ? -1 : 2));
    } else {
      if (watching && terminal) fmt::print("\033[H\033[2J");
      fmt::print("{}{}", links_text(before.value(), after.value()), watching && !terminal ? "\n" : "");
    }
    std::fflush(stdout);
    if (!watching || shown == options.count) return 0;
    before = std::move(after);
    pause = options.watch_seconds;
  }
}

}  // namespace

void register_links(CLI::App& app, Action& action) {
  auto options = std::make_shared<LinksOptions>();
  auto* command = app.add_subcommand(
      "links", "state, use, errors and replays of every link of a standing slice (weft-sim --slice --listen)");
  command->add_option("folder", options->folder, "folder in which weft-sim listens")->capture_default_str();
  add_watch_options(*command, *options, "use");
  command->add_option("--replace-cube", options->replaced_cube,
                      "first: a spare takes the place of this cube of 4x4x4 chips (v4, v5p), with all links up and all "
                      "functions reset");
  command->add_flag("--json", options->json, "print JSON, on one line with --watch");
  command->callback([options, &action] { action = [options] { return links(*options); }; });
}

}  // namespace weft::tools
