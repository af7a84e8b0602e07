// Names of modules and levels, and the list of them that WEFT_LOG holds.
#include "driver/log/log_levels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace weft::driver {
namespace {

constexpr std::array<std::string_view, kLogModules> kModules{
    "driver.device", "driver.queue",   "driver.memory",    "driver.program", "driver.report",
    "firmware.boot", "firmware.queue", "firmware.program", "firmware.core",  "firmware.device"};
constexpr std::array<std::string_view, 5> kLevels{"off", "error", "warning", "info", "debug"};
constexpr std::string_view kGoodForm =
    "the form is MODULE=LEVEL[,MODULE=LEVEL...], for example driver.queue=debug,firmware=info; modules: driver "
    "(.device .queue .memory .program .report), firmware (.boot .queue .program .core .device); levels: off, error, "
    "warning, info, debug";

std::optional<LogLevel> level_named(std::string_view name) {
  const auto* found = std::find(kLevels.begin(), kLevels.end(), name);
  if (found == kLevels.end()) return std::nullopt;
  return static_cast<LogLevel>(found - kLevels.begin() - 1);
}

/// "driver.queue" names itself, "driver" all that begin with "driver.".
bool named_by(std::string_view module, std::string_view name) {
  return module == name || (module.size() > name.size() && module.starts_with(name) && module[name.size()] == '.');
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// One part; empty, or what is wrong with it.
std::string apply(std::string_view part, LogLevels& levels) {
  const size_t equals = part.find('=');
  const std::string_view level_text = trimmed(equals == std::string_view::npos ? part : part.substr(equals + 1));
  const auto level = level_named(level_text);
  if (!level) return fmt::format("'{}': there is no level '{}'", part, level_text);
  if (equals == std::string_view::npos) {
    levels.level = LogLevels::all(*level);
    return {};
  }
  const std::string_view name = trimmed(part.substr(0, equals));
  bool found = false;
  for (size_t i = 0; i < kLogModules; i++) {
    if (!named_by(kModules[i], name)) continue;
    levels.level[i] = *level;
    found = true;
  }
  return found ? std::string() : fmt::format("'{}': there is no module '{}'", part, name);
}

}  // namespace

std::string_view log_module_name(LogModule module) { return kModules[static_cast<size_t>(module)]; }

std::string_view log_level_name(LogLevel level) {
  const int place = static_cast<int>(level) + 1;  // the first is -1: off
  return kLevels[static_cast<size_t>(place)];
}

LogModule log_module_of(uint16_t event) {
  switch (static_cast<weft_log_event>(event)) {
    case WEFT_LOG_EVENT_BOOT_STAGE:
      return LogModule::kFirmwareBoot;
    case WEFT_LOG_EVENT_QUEUE_CREATED:
    case WEFT_LOG_EVENT_QUEUE_DELETED:
    case WEFT_LOG_EVENT_ENTRY_REFUSED:
    case WEFT_LOG_EVENT_BAD_DOORBELL:
    case WEFT_LOG_EVENT_QUEUE_RESET:
      return LogModule::kFirmwareQueue;
    case WEFT_LOG_EVENT_PROGRAM_LOADED:
    case WEFT_LOG_EVENT_PROGRAM_UNLOADED:
      return LogModule::kFirmwareProgram;
    case WEFT_LOG_EVENT_LAUNCH_STARTED:
    case WEFT_LOG_EVENT_LAUNCH_ENDED:
    case WEFT_LOG_EVENT_CORE_FAULT:
    case WEFT_LOG_EVENT_ENGINE_RESET:
      return LogModule::kFirmwareCore;
    case WEFT_LOG_EVENT_NONE:
    case WEFT_LOG_EVENT_PANIC:
      break;
  }
  return LogModule::kFirmwareDevice;
}

LogLevel LogLevels::firmware() const {
  LogLevel most = LogLevel::kOff;
  for (size_t i = 0; i < kLogModules; i++) {
    if (kModules[i].starts_with("firmware")) most = std::max(most, level[i]);
  }
  return most;
}

bool LogLevels::any() const {
  return std::any_of(level.begin(), level.end(), [](LogLevel l) { return l != LogLevel::kOff; });
}

LogLevels parse_log_levels(std::string_view text, std::string& complaint) {
  LogLevels levels;
  complaint.clear();
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = trimmed(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (part.empty()) continue;
    if (const std::string wrong = apply(part, levels); !wrong.empty()) complaint += wrong + "; ";
  }
  if (!complaint.empty()) complaint += kGoodForm;
  return levels;
}

}  // namespace weft::driver
