// weft smi: what the chips of a standing weft-sim do, while others use them.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "host/tools/command.hpp"
#include "host/tools/failure.hpp"
#include "host/tools/management_client.hpp"
#include "host/tools/smi_view.hpp"

namespace weft::tools {
namespace {

struct SmiOptions {
  std::vector<std::string> folders{kDefaultListenFolder};
  double interval_seconds = 0.2;
  double watch_seconds = 0;
  uint32_t count = 0;
  bool json = false;
};

constexpr const char* kRequest = R"({"weft_management":1,"request":"state"})";

/// A chip that is looked at again and again; each time is compared with the one before.
class Watched {
 public:
  explicit Watched(ManagementClient client) : client_(std::move(client)) {}

  [[nodiscard]] Status look() {
    auto reply = client_.ask(kRequest);
    if (!reply.ok()) return reply.error();
    auto chip = parse_chip_snapshot(reply.value());
    if (!chip.ok()) return Error{chip.error().code, fmt::format("{}: {}", client_.folder(), chip.error().message)};
    before_ = std::move(now_);
    now_ = std::move(chip.value());
    now_.folder = client_.folder();
    return Ok{};
  }
  [[nodiscard]] std::string text() const { return smi_text(before_, now_); }
  [[nodiscard]] std::string json(int indent) const { return smi_json(before_, now_, indent); }

 private:
  ManagementClient client_;
  ChipSnapshot before_, now_;
};

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
  std::vector<Watched> chips;
  for (const std::string& folder : options.folders) {
    auto client = ManagementClient::connect(folder);
    if (!client.ok()) return fail(client.error());
    chips.emplace_back(std::move(client.value()));
  }
  const bool watching = options.watch_seconds > 0;
  const std::chrono::duration<double> first(watching ? std::min(options.interval_seconds, options.watch_seconds)
                                                     : options.interval_seconds);
  if (auto status = look_at_all(chips); !status.ok()) return fail(status.error());
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
  command->add_option("--interval", options->interval_seconds, "seconds between the two samples of the utilisation")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
  auto* watch = command->add_option("--watch", options->watch_seconds, "show it again every so many seconds")
                    ->check(CLI::Range(0.05, 3600.0));
  command->add_option("--count", options->count, "with --watch: end after so many times; 0: never")
      ->needs(watch)
      ->capture_default_str();
  command->add_flag("--json", options->json, "print JSON: a list with an object a chip, on one line with --watch");
  command->callback([options, &action] { action = [options] { return smi(*options); }; });
}

}  // namespace weft::tools
