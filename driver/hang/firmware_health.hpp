// Is the firmware alive? What the BAR registers tell, before and after it was asked for a sign of life.
#pragma once
#include <optional>
#include <string>

#include "driver/transport/transport.hpp"

namespace weft::driver {

/// Registers of one moment; reading them takes no device time and needs no firmware.
struct RegisterSnapshot {
  uint32_t device_state = 0;
  uint32_t boot_stage = 0;
  uint32_t boot_error = 0;
  uint32_t generation = 0;
  uint32_t first_error = 0;
  uint32_t pending_errors = 0;
  uint32_t interrupt_status = 0;
  uint32_t interrupt_mask = 0;
  uint32_t wait_status = 0;
  uint32_t firmware_status = 0;
  uint64_t heartbeat = 0;
  uint64_t progress = 0;
  uint64_t cycle = 0;

  uint32_t waypoint() const { return firmware_status & WEFT_REG_FIRMWARE_STATUS_WAYPOINT; }
  bool asleep() const { return (firmware_status & WEFT_REG_FIRMWARE_STATUS_ASLEEP) != 0; }
  bool core_busy() const { return (firmware_status & WEFT_REG_FIRMWARE_STATUS_CORE_BUSY) != 0; }
  bool core_faulted() const { return (firmware_status & WEFT_REG_FIRMWARE_STATUS_CORE_FAULTED) != 0; }
  bool copy_busy() const { return (firmware_status & WEFT_REG_FIRMWARE_STATUS_COPY_BUSY) != 0; }
  bool halted() const { return (firmware_status & WEFT_REG_FIRMWARE_STATUS_HALTED) != 0; }
};

/// DEVICE_LOST: a read failed, or the device answers with all ones.
Result<RegisterSnapshot> read_registers(Transport& transport);

enum class FirmwareHealth {
  kAnswers,               ///< it has answered
  kNotAsked,              ///< nobody asked: the report was made where nobody can wait
  kBooting,               ///< it has not booted
  kPanicked,              ///< it has stopped itself
  kLoops,                 ///< awake without a heartbeat: it is caught in one step
  kDead,                  ///< asleep, and does not wake
  kBeatsWithoutProgress,  ///< its main loop runs, and it does nothing of what it was asked
};

/// From the registers before the question, after it, and whether it was answered.
FirmwareHealth diagnose(const RegisterSnapshot& before, const RegisterSnapshot& after, bool answered);

/// "loops: awake at waypoint fetch, no heartbeat for 2000000 cycles"
std::string health_text(FirmwareHealth health, const RegisterSnapshot& before, const RegisterSnapshot& after);

/// "loops", for programs.
std::string_view health_name(FirmwareHealth health);

}  // namespace weft::driver
