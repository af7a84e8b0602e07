// The devices that a program could open: functions of simulators that run, PCI functions of the machine, and simulators
// that it could start.
#pragma once
#include <string>
#include <vector>

#include "driver/status.hpp"
#include "driver/transport/vfio_kernel.hpp"
#include "weft/weft.h"

namespace weft::driver {

struct ListedDevice {
  std::string name;                              ///< for weft_open
  std::string preset;                            ///< empty: not known
  weft_core_kind core = WEFT_CORE_KIND_UNKNOWN;  ///< of a simulator that runs
  bool busy = false;
  uint32_t owner_pid = 0;
  std::string obstacle;  ///< why it cannot be opened, and what to do; empty: nothing is known to be in the way
};

/// Where a simulator is looked for whose folder is not named.
inline constexpr const char* kListenFolder = "/tmp/weft";

/// First the functions of the simulator that listens in `folder`, chip by chip; then the PCI functions that `kernel`
/// shows; then a simulator of each preset, if weft-sim is found. Null: kListenFolder, where none needs to listen. DEVICE_LOST: nothing listens in the folder that
/// is named, or it does not answer.
Result<std::vector<ListedDevice>> list_devices(const char* folder, const VfioKernel& kernel = machine_kernel());

}  // namespace weft::driver
