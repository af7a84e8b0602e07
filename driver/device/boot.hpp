// Bringing a device to READY, and resetting it.
#pragma once
#include <chrono>

#include "driver/memory/host_memory.hpp"
#include "driver/queue/queue.hpp"
#include "driver/transport/transport.hpp"

namespace weft::driver {

/// Host memory that the firmware uses besides rings: parameter page, fault records, log records, state page.
struct ControlMemory {
  static constexpr uint64_t kFaultOffset = sizeof(weft_parameter_page);
  static constexpr uint64_t kLogOffset = kFaultOffset + WEFT_LIMIT_FAULT_ENTRIES * sizeof(weft_fault_record);
  static constexpr uint64_t kStateOffset = kLogOffset + WEFT_LIMIT_LOG_ENTRIES * sizeof(weft_log_record);
  static constexpr uint64_t kResetOffset = kStateOffset + WEFT_LIMIT_STATE_PAGE_BYTES;
  static constexpr uint64_t kBytes = kResetOffset + sizeof(weft_reset_record);
};

/// Wall-clock bounds. A simulator boots in milliseconds; the bounds are for a machine that is overloaded.
struct BootLimits {
  std::chrono::milliseconds stage{10000};  ///< from one boot stage to the next
  std::chrono::milliseconds reset{10000};
};

/// What the registers say of a device that is there.
struct DeviceIdentity {
  uint64_t fingerprint;
  uint64_t clock_hz;
  uint64_t hbm_bytes;
  uint64_t hbm_reserved_bytes;
  uint32_t abi_version;
  uint32_t capabilities;
};

/// Magic and versions. DEVICE_LOST (all ones), UNSUPPORTED (not a Weft device), ABI_MISMATCH (names both).
Result<DeviceIdentity> identify(Transport& transport);

/// True if the device waits for BOOT_CONTROL; a former user may have left it running.
Result<bool> waits_for_boot(Transport& transport);

/// Writes the parameter page into `control` (zeroed, ControlMemory::kBytes), starts the firmware and waits for READY
/// with our nonce. BOOT_FAILED names the stage and why.
Status boot_device(Transport& transport, const HostMemory& control, const Queue& admin, const BootLimits& limits);

/// Resets through RESET_CONTROL and waits until the device can boot. Returns the new generation. Also reads it when the
/// device does not come back: BOOT_FAILED, with its first error if it has failed again before anybody started it.
Result<uint32_t> reset_device(Transport& transport, const BootLimits& limits);

}  // namespace weft::driver
