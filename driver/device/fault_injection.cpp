// Fault injection by the INJECT registers of a simulator.
#include <utility>

#include "driver/device/device.hpp"
#include "driver/transport/registers.hpp"
#include "weft/spec/names.hpp"

namespace weft::driver {
namespace {

constexpr uint32_t kCoreKindMask = 0xf0000;

}  // namespace

Status Device::check_injection() const {
  if ((identity_.capabilities & kCoreKindMask) != 0) return {};
  return failure(WEFT_ERROR_UNSUPPORTED,
                 "faults can be injected into a simulator only; this device names no core kind");
}

Status Device::inject(const Injection& fault) {
  if (Status s = check_injection(); !s.ok()) return s;
  const std::lock_guard lifecycle(lifecycle_mutex_);  // a reset clears the registers
  const std::lock_guard lock(injection_mutex_);
  const std::pair<uint64_t, uint32_t> words[] = {
      {WEFT_REG_INJECT_KIND, fault.kind},
      {WEFT_REG_INJECT_TARGET, fault.target},
      {WEFT_REG_INJECT_NTH, fault.nth},
      {WEFT_REG_INJECT_COUNT, fault.count},
  };
  for (const auto& [offset, value] : words)
    if (Status s = write32(*transport_, offset, value); !s.ok()) return s;
  for (size_t i = 0; i < fault.value.size(); i++)
    if (Status s = write64(*transport_, WEFT_REG_INJECT_VALUE0 + sizeof(uint64_t) * i, fault.value[i]); !s.ok())
      return s;
  const Status armed = write32(*transport_, WEFT_REG_INJECT_CONTROL, WEFT_INJECT_CONTROL_ARM);
  if (armed.code() == WEFT_ERROR_UNSUPPORTED)
    return failure(armed.code(),
                   "the simulator takes no faults from a client while others use it, unless it was started with "
                   "--allow-inject ({})",
                   armed.message());
  if (!armed.ok()) return armed;
  const auto status = read64(*transport_, WEFT_REG_INJECT_STATUS);
  if (!status.ok()) return status.status();
  if ((status.value() & WEFT_REG_INJECT_STATUS_REFUSED) == 0) return {};
  return failure(
      WEFT_ERROR_INVALID_ARGUMENT,
      "the device refused fault {} ({}), target {}, value {:#x}: {} faults are armed (16 at most), or the kind "
      "does not exist, or a field is outside of its range (docs/reference/host_interface.md, injected_fault)",
      fault.kind, spec::injected_fault_name(fault.kind), fault.target, fault.value[0],
      status.value() & WEFT_REG_INJECT_STATUS_ARMED);
}

Status Device::disarm_faults() {
  if (Status s = check_injection(); !s.ok()) return s;
  const std::lock_guard lock(injection_mutex_);
  return write32(*transport_, WEFT_REG_INJECT_CONTROL, WEFT_INJECT_CONTROL_DISARM);
}

Result<Device::InjectedFaults> Device::injected_faults() {
  if (Status s = check_injection(); !s.ok()) return s;
  const auto status = read64(*transport_, WEFT_REG_INJECT_STATUS);
  if (!status.ok()) return status.status();
  if (status.value() == kAllOnes64) return failure(WEFT_ERROR_DEVICE_LOST, "all registers read as ones");
  return InjectedFaults{static_cast<uint32_t>(status.value() & WEFT_REG_INJECT_STATUS_ARMED),
                        static_cast<uint32_t>(WEFT_FIELD(WEFT_REG_INJECT_STATUS_ACTED, status.value()))};
}

}  // namespace weft::driver
