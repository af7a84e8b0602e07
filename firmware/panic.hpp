/// Waypoints (where the firmware is) and the panic: the firmware stops itself and says where and why.
#pragma once
#include <stdint.h>

#include "firmware/hal.hpp"

namespace weft::fw {

struct State;

/// The step that the firmware entered last; a panic record and a hang report name it.
enum class Waypoint : uint32_t {
  kReset = 0,
  kBoot = 1,
  kIdle = 2,
  kDoorbell = 3,
  kFetch = 4,
  kCheck = 5,
  kAdmin = 6,
  kLaunchPrepare = 7,
  kLaunchRun = 8,
  kLaunchEnd = 9,
  kCoreReset = 10,
  kCopy = 11,
  kCompletion = 12,
  kStateDump = 13,
  kQueueReset = 14,
  kCoreScrub = 15,
  kRelease = 16,
};
static_assert(static_cast<uint32_t>(Waypoint::kIdle) == WEFT_WAYPOINT_IDLE &&
              static_cast<uint32_t>(Waypoint::kRelease) == WEFT_WAYPOINT_RELEASE);

/// A waypoint that the host can read in FIRMWARE_STATUS as long as the chip answers at all: assigning shows it there.
class ShownWaypoint {
 public:
  void operator=(Waypoint value) {
    value_ = value;
    hal::show_waypoint(static_cast<uint32_t>(value));
  }
  operator Waypoint() const { return value_; }

 private:
  Waypoint value_;
};

/// Stops the engines, as far as they can be stopped; then device state FAILED, FIRST_ERROR = FIRMWARE_PANIC, a fault
/// record {waypoint, value}, a log record, vector 0, on every function. The main loop then takes no more commands until
/// reset.
void panic(State& state, uint64_t value);

}  // namespace weft::fw
