// Which lines of the log are wanted: a level for each module, from "driver.queue=debug,firmware=info".
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/spec/spec.h"

namespace weft::driver {

/// As the firmware's records have it; off: not even errors.
enum class LogLevel : int8_t { kOff = -1, kError = 0, kWarning = 1, kInfo = 2, kDebug = 3 };

/// Folders of the driver, and parts of the firmware.
enum class LogModule : uint8_t {
  kDriverDevice,
  kDriverQueue,
  kDriverMemory,
  kDriverProgram,
  kDriverReport,
  kFirmwareBoot,
  kFirmwareQueue,
  kFirmwareProgram,
  kFirmwareCore,
  kFirmwareDevice,
};
inline constexpr size_t kLogModules = 10;

/// "driver.queue"
std::string_view log_module_name(LogModule module);
/// "debug"
std::string_view log_level_name(LogLevel level);
/// The part of the firmware that an event is of. Any number is safe.
LogModule log_module_of(uint16_t event);

/// Plain data. All off by default.
struct LogLevels {
  std::array<LogLevel, kLogModules> level = all(LogLevel::kOff);

  bool wants(LogModule module, LogLevel wanted) const { return wanted <= level[static_cast<size_t>(module)]; }
  /// The most that any part of the firmware is to tell.
  LogLevel firmware() const;
  /// Something is wanted.
  bool any() const;

  static constexpr std::array<LogLevel, kLogModules> all(LogLevel value) {
    std::array<LogLevel, kLogModules> levels{};
    levels.fill(value);
    return levels;
  }
};

/// `text`: parts with commas between them, each "module=level", or a level alone, which is for all modules. A module's
/// name up to a dot stands for all below it ("driver", "firmware"); later parts replace earlier ones. Levels: off,
/// error, warning, info, debug. Parts that are wrong are left out and each adds a sentence to `complaint`, the last of
/// which names the good form.
LogLevels parse_log_levels(std::string_view text, std::string& complaint);

}  // namespace weft::driver
