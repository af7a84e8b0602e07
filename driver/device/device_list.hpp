// The devices that a program could open: functions of simulators that run, and simulators that it could start.
#pragma once
#include <string>
#include <vector>

#include "driver/status.hpp"
#include "weft/weft.h"

namespace weft::driver {

struct ListedDevice {
  std::string name;  ///< for weft_open
  std::string preset;
  weft_core_kind core = WEFT_CORE_KIND_UNKNOWN;  ///< of a simulator that runs
  bool busy = false;
  uint32_t owner_pid = 0;
};

/// Where a simulator is looked for whose folder is not named.
inline constexpr const char* kListenFolder = "/tmp/weft";

/// First the functions of the simulator that listens in `folder`, chip by chip; then a simulator of each preset, if
/// weft-sim is found. Null: kListenFolder, where none needs to listen. DEVICE_LOST: nothing listens in the folder that
/// is named, or it does not answer.
Result<std::vector<ListedDevice>> list_devices(const char* folder);

}  // namespace weft::driver
