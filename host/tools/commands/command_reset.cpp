// weft reset: a queue, the core, or everything of a function.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "host/tools/commands/command.hpp"
#include "host/tools/commands/failure.hpp"
#include "host/tools/commands/options.hpp"
#include "host/tools/formats/json_fields.hpp"
#include "host/tools/live/function_dump.hpp"
#include "host/tools/live/management_client.hpp"
#include "host/tools/live/reset_text.hpp"
#include "host/tools/selftest/driver_handles.hpp"

namespace weft::tools {
namespace {

struct ResetOptions {
  std::string folder = kDefaultListenFolder;
  std::string level = "device";
  uint32_t chip = 0, function = 0;
  bool force = false;
  bool json = false;
};

constexpr std::chrono::seconds kPatience{10};
const std::map<std::string, weft_reset_level> kLevels{
    {"queue", WEFT_RESET_LEVEL_QUEUE}, {"engine", WEFT_RESET_LEVEL_ENGINE}, {"device", WEFT_RESET_LEVEL_DEVICE}};

struct CloseDevice {
  void operator()(weft_device* device) const { (void)!weft_close(device, nullptr); }
};

Result<FunctionDump> look(ManagementClient& client, const ResetOptions& options) {
  const auto reply = client.ask(
      management_request("function", options.chip, fmt::format(R"(,"function":{},"entries":0)", options.function)));
  if (!reply.ok()) return reply.error();
  return parse_function_dump(reply.value());
}

/// As its owner for a moment: opens the free function, resets, closes.
Result<weft_reset_report> reset_free(const ResetOptions& options, weft_reset_level level, bool of_slice) {
  weft_device* handle = nullptr;
  const std::string chip = of_slice ? fmt::format("chip{}-", options.chip) : "";
  const std::string name = fmt::format("vfio-user:{}/{}function{}.sock", options.folder, chip, options.function);
  if (const auto status = weft_open(name.c_str(), &handle); status != WEFT_ERROR_OK)
    return Error{status, driver_words(status)};
  const std::unique_ptr<weft_device, CloseDevice> device(handle);
  weft_queue* queue = nullptr;
  if (level == WEFT_RESET_LEVEL_QUEUE) {
    if (const auto status = weft_queue_create(handle, nullptr, &queue); status != WEFT_ERROR_OK)
      return Error{status, driver_words(status)};
  }
  const QueueHandle queue_handle(queue);
  weft_reset_report report = WEFT_INIT(weft_reset_report);
  if (const auto status = weft_reset(handle, queue, level, &report); status != WEFT_ERROR_OK)
    return Error{status, driver_words(status)};
  return report;
}

/// From beside its owner, whose commands end with it. Waits until the function can boot again.
int reset_owned(const ResetOptions& options, ManagementClient& client, const FunctionDump& before) {
  const auto reply = client.ask(
      management_request("reset", options.chip, fmt::format(R"(,"function":{},"force":true)", options.function)));
  if (!reply.ok()) return fail(reply.error());
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    const auto now = look(client, options);
    if (!now.ok()) return fail(now.error());
    const FunctionSnapshot& f = now.value().function;
    if (f.reset_generation > before.function.reset_generation && f.state != "resetting") {
      const uint64_t cycles = now.value().cycle - before.cycle;
      if (options.json)
        fmt::print("{}\n", nlohmann::ordered_json{{"level", "device"},
                                                  {"function", options.function},
                                                  {"forced", true},
                                                  {"owner", f.owner_pid},
                                                  {"generation", f.reset_generation},
                                                  {"cycles", cycles}}
                               .dump(2));
      else
        fmt::print("function {} reset against its owner, process {} ({}): generation {}, {} after {} cycles\n",
                   options.function, before.function.owner_pid, before.function.owner_process, f.reset_generation,
                   f.state, cycles);
      return 0;
    }
    if (std::chrono::steady_clock::now() > end)
      return fail({WEFT_ERROR_DEVICE_HUNG, fmt::format("{}: function {} is still {} after {} s", options.folder,
                                                       options.function, f.state, kPatience.count())});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

int reset(const ResetOptions& options) {
  const auto level = value_of_word("level", options.level, kLevels);
  if (!level.ok()) return fail(level.error());
  auto client = ManagementClient::connect(options.folder);
  if (!client.ok()) return fail(client.error());
  const auto before = look(client.value(), options);
  if (!before.ok()) return fail(before.error());
  const FunctionSnapshot& function = before.value().function;
  if (function.owner_pid == 0) {
    const auto report = reset_free(options, level.value(), before.value().chips > 1);
    if (!report.ok()) return fail(report.error());
    fmt::print("{}", options.json ? reset_json(report.value()) : reset_text(report.value()));
    return 0;
  }
  const std::string owner = fmt::format("function {} belongs to process {} ({})", options.function, function.owner_pid,
                                        function.owner_process);
  if (level.value() != WEFT_RESET_LEVEL_DEVICE)
    return fail({WEFT_ERROR_BUSY, fmt::format("{}: only that process can reset its queues and what it has on an engine "
                                              "(weft_reset); --level device --force resets the function against it",
                                              owner)});
  if (!options.force)
    return fail({WEFT_ERROR_BUSY, fmt::format("{}, whose commands would end; --force resets it all the same", owner)});
  return reset_owned(options, client.value(), before.value());
}

}  // namespace

void register_reset(CLI::App& app, Action& action) {
  auto options = std::make_shared<ResetOptions>();
  auto* command = app.add_subcommand(
      "reset", "reset a function of a standing simulator (weft-sim --listen), and tell each step with its bound");
  command->add_option("folder", options->folder, "folder in which weft-sim listens")->capture_default_str();
  command->add_option("--chip", options->chip, "chip of a slice")->capture_default_str();
  command->add_option("--function", options->function, "PCIe function")->capture_default_str();
  command->add_option("--level", options->level, "queue, engine or device; a fresh queue for level queue")
      ->capture_default_str();
  command->add_flag("--force", options->force, "also if a process owns the function");
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options, &action] { action = [options] { return reset(*options); }; });
}

}  // namespace weft::tools
