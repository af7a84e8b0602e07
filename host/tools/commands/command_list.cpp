// weft list: which devices there are.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "host/tools/commands/command.hpp"
#include "host/tools/commands/failure.hpp"
#include "host/tools/formats/json_text.hpp"
#include "host/tools/formats/text_table.hpp"
#include "host/tools/selftest/driver_handles.hpp"
#include "weft/weft.h"

namespace weft::tools {
namespace {

struct ListOptions {
  std::string folder;
  bool json = false;
};

Result<std::vector<weft_device_entry>> entries(const std::string& folder) {
  const char* const named = folder.empty() ? nullptr : folder.c_str();
  std::vector<weft_device_entry> list;
  for (uint32_t count = 0;;) {  // until none has come meanwhile
    list.assign(count, WEFT_INIT(weft_device_entry));
    const auto capacity = count;
    if (const auto status = weft_enumerate(named, list.data(), capacity, &count); status != WEFT_ERROR_OK)
      return Error{status, driver_words(status)};
    if (count > capacity) continue;
    list.resize(count);
    return list;
  }
}

const char* core_name(weft_core_kind core) {
  switch (core) {
    case WEFT_CORE_KIND_UNKNOWN:
      return "";
    case WEFT_CORE_KIND_RTL:
      return "rtl";
    case WEFT_CORE_KIND_FAST:
      return "fast";
    case WEFT_CORE_KIND_LOCKSTEP:
      return "lockstep";
  }
  return "";
}

std::string state_of(const weft_device_entry& entry) {
  if (entry.busy != 0) return entry.owner != 0 ? fmt::format("busy, process {}", entry.owner) : "busy";
  return entry.obstacle[0] != 0 ? "cannot be opened" : "free";
}

int list(const ListOptions& options) {
  const auto found = entries(options.folder);
  if (!found.ok()) return fail(found.error());
  if (options.json) {
    auto document = nlohmann::ordered_json::array();
    for (const auto& entry : found.value())
      document.push_back({{"name", entry.name},
                          {"preset", entry.preset},
                          {"core", core_name(entry.core)},
                          {"busy", entry.busy != 0},
                          {"owner", entry.owner},
                          {"obstacle", entry.obstacle}});
    fmt::print("{}\n", json_text(document));
    return 0;
  }
  TextTable table({{"device", TextTable::Align::kLeft},
                   {"chip", TextTable::Align::kLeft},
                   {"core", TextTable::Align::kLeft},
                   {"state", TextTable::Align::kLeft}});
  std::string obstacles;
  for (const auto& entry : found.value()) {
    table.add({entry.name, entry.preset, core_name(entry.core), state_of(entry)});
    if (entry.obstacle[0] != 0) obstacles += fmt::format("\n{}: {}\n", entry.name, entry.obstacle);
  }
  fmt::print("{}{}", table.text(""), obstacles);
  return 0;
}

}  // namespace

void register_list(CLI::App& app, Action& action) {
  auto options = std::make_shared<ListOptions>();
  auto* command = app.add_subcommand(
      "list",
      "devices that can be opened: functions of a simulator that listens, PCI functions, simulators to start; each "
      "name is one for --open and for weft_open");
  command->add_option("--listen", options->folder, "folder of the simulator; default: /tmp/weft, if one listens there");
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options, &action] { action = [options] { return list(*options); }; });
}

}  // namespace weft::tools
