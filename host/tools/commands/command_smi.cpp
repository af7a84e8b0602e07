// weft smi: what the chips of a standing weft-sim do, while others use them.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "host/tools/commands/command.hpp"
#include "host/tools/commands/failure.hpp"
#include "host/tools/commands/options.hpp"
#include "host/tools/live/management_client.hpp"
#include "host/tools/live/smi_view.hpp"

namespace weft::tools {
namespace {

struct SmiOptions : WatchOptions {
  std::vector<std::string> folders{kDefaultListenFolder};
  bool json = false;
};

/// More than any weft-sim simulates: what a reply claims is not believed beyond it.
constexpr uint32_t kMostChips = 1024;

/// A chip that is looked at again and again; each time is compared with the one before.
class Watched {
 public:
  Watched(std::shared_ptr<ManagementClient> client, uint32_t chip) : client_(std::move(client)), chip_(chip) {}

  [[nodiscard]] Status look() {
    auto reply = client_->ask(management_request("state", chip_));
    if (!reply.ok()) return reply.error();
    auto chip = parse_chip_snapshot(reply.value());
    if (!chip.ok()) return Error{chip.error().code, fmt::format("{}: {}", client_->folder(), chip.error().message)};
    before_ = std::move(now_);
    now_ = std::move(chip.value());
    now_.folder = client_->folder();
    return Ok{};
  }
  [[nodiscard]] uint32_t chips() const { return now_.chips; }
  [[nodiscard]] std::string text() const { return smi_text(before_, now_); }
  [[nodiscard]] std::string json(int indent) const { return smi_json(before_, now_, indent); }

 private:
  std::shared_ptr<ManagementClient> client_;  // of all chips of a folder
  uint32_t chip_;
  ChipSnapshot before_, now_;
};

/// All chips of the folders, each looked at once.
Result<std::vector<Watched>> find_chips(const std::vector<std::string>& folders) {
  std::vector<Watched> chips;
  for (const std::string& folder : folders) {
    auto client = ManagementClient::connect(folder);
    if (!client.ok()) return client.error();
    const auto shared = std::make_shared<ManagementClient>(std::move(client.value()));
    for (uint32_t chip = 0, count = 1; chip < count; chip++) {
      chips.emplace_back(shared, chip);
      if (auto status = chips.back().look(); !status.ok()) return status.error();
      count = std::min(chips.back().chips(), kMostChips);
    }
  }
  return chips;
}

Status look_at_all(std::vector<Watched>& chips) {
  for (Watched& chip : chips) {
    if (auto status = chip.look(); !status.ok()) return status;
  }
  return Ok{};
}

/// All chips: an array of objects, on one line when they are watched.
void print_json(const std::vector<Watched>& chips, bool watching) {
  std::string out;
  for (const Watched& chip : chips) out += (out.empty() ? "" : ",\n") + chip.json(watching ? -1 : 2);
  fmt::print("[{}]\n", out);
}

void print_text(const std::vector<Watched>& chips, bool watching) {
  static const bool terminal = isatty(STDOUT_FILENO) != 0;
  if (watching && terminal) fmt::print("\033[H\033[2J");
  for (size_t i = 0; i < chips.size(); i++) fmt::print("{}{}", i == 0 ? "" : "\n", chips[i].text());
  if (watching && !terminal) fmt::print("\n");
}

int smi(const SmiOptions& options) {
  auto found = find_chips(options.folders);
  if (!found.ok()) return fail(found.error());
  std::vector<Watched>& chips = found.value();
  const bool watching = options.watch_seconds > 0;
  const std::chrono::duration<double> first(watching ? std::min(options.interval_seconds, options.watch_seconds)
                                                     : options.interval_seconds);
  std::this_thread::sleep_for(first);
  for (uint32_t shown = 1;; shown++) {
    if (auto status = look_at_all(chips); !status.ok()) return fail(status.error());
    options.json ? print_json(chips, watching) : print_text(chips, watching);
    std::fflush(stdout);
    if (!watching || shown == options.count) return 0;
    std::this_thread::sleep_for(std::chrono::duration<double>(options.watch_seconds));
  }
}

}  // namespace

void register_smi(CLI::App& app, Action& action) {
  auto options = std::make_shared<SmiOptions>();
  auto* command = app.add_subcommand(
      "smi", "state, owners, queues, memory and utilisation of the chips of standing simulators (weft-sim --listen)");
  command->add_option("folder", options->folders, "folder in which weft-sim listens")->capture_default_str();
  add_watch_options(*command, *options, "utilisation");
  command->add_flag("--json", options->json, "print JSON: a list with an object a chip, on one line with --watch");
  command->callback([options, &action] { action = [options] { return smi(*options); }; });
}

}  // namespace weft::tools
