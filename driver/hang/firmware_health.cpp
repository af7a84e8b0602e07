// One look at each register, and the verdict.
#include "driver/hang/firmware_health.hpp"

#include "driver/transport/registers.hpp"
#include "weft/spec/names.hpp"

namespace weft::driver {
namespace {

std::string waypoint_text(const RegisterSnapshot& r) {
  const std::string_view name = spec::waypoint_name(r.waypoint());
  return name.empty() ? std::to_string(r.waypoint()) : std::string(name);
}

}  // namespace

Result<RegisterSnapshot> read_registers(Transport& transport) {
  RegisterSnapshot out;
  const std::pair<uint64_t, uint32_t*> words[] = {{WEFT_REG_DEVICE_STATE, &out.device_state},
                                                  {WEFT_REG_BOOT_STAGE, &out.boot_stage},
                                                  {WEFT_REG_BOOT_ERROR, &out.boot_error},
                                                  {WEFT_REG_RESET_GENERATION, &out.generation},
                                                  {WEFT_REG_FIRST_ERROR, &out.first_error},
                                                  {WEFT_REG_PENDING_ERRORS, &out.pending_errors},
                                                  {WEFT_REG_INTERRUPT_STATUS, &out.interrupt_status},
                                                  {WEFT_REG_INTERRUPT_MASK, &out.interrupt_mask},
                                                  {WEFT_REG_WAIT_STATUS, &out.wait_status},
                                                  {WEFT_REG_FIRMWARE_STATUS, &out.firmware_status}};
  for (const auto& [offset, value] : words) {
    const auto read = read32(transport, offset);
    if (!read.ok()) return read.status();
    *value = read.value();
  }
  const std::pair<uint64_t, uint64_t*> wides[] = {
      {WEFT_REG_HEARTBEAT, &out.heartbeat}, {WEFT_REG_PROGRESS, &out.progress}, {WEFT_REG_CYCLES, &out.cycle}};
  for (const auto& [offset, value] : wides) {
    const auto read = read64(transport, offset);
    if (!read.ok()) return read.status();
    *value = read.value();
  }
  if (out.device_state == kAllOnes && out.cycle == kAllOnes64)
    return failure(WEFT_ERROR_DEVICE_LOST, "the device answers with all ones");
  return out;
}

FirmwareHealth diagnose(const RegisterSnapshot& before, const RegisterSnapshot& after, bool answered) {
  if (answered) return FirmwareHealth::kAnswers;
  if (after.device_state == WEFT_DEVICE_STATE_PRESENT || after.device_state == WEFT_DEVICE_STATE_BOOTING ||
      after.device_state == WEFT_DEVICE_STATE_RESETTING)
    return FirmwareHealth::kBooting;
  if (after.halted()) return FirmwareHealth::kLoops;
  if (after.device_state == WEFT_DEVICE_STATE_FAILED) return FirmwareHealth::kPanicked;
  if (after.heartbeat != before.heartbeat) return FirmwareHealth::kBeatsWithoutProgress;
  return after.asleep() ? FirmwareHealth::kDead : FirmwareHealth::kLoops;
}

std::string_view health_name(FirmwareHealth health) {
  switch (health) {
    case FirmwareHealth::kAnswers:
      return "answers";
    case FirmwareHealth::kNotAsked:
      return "not_asked";
    case FirmwareHealth::kBooting:
      return "booting";
    case FirmwareHealth::kPanicked:
      return "panicked";
    case FirmwareHealth::kLoops:
      return "loops";
    case FirmwareHealth::kDead:
      return "dead";
    case FirmwareHealth::kBeatsWithoutProgress:
      return "beats_without_progress";
  }
  return "unknown";
}

std::string health_text(FirmwareHealth health, const RegisterSnapshot& before, const RegisterSnapshot& after) {
  const std::string waypoint = waypoint_text(after);
  const uint64_t cycles = after.cycle - before.cycle;
  switch (health) {
    case FirmwareHealth::kAnswers:
      return "answers";
    case FirmwareHealth::kNotAsked:
      return fmt::format("was not asked; its last waypoint is {}", waypoint);
    case FirmwareHealth::kBooting:
      return fmt::format("has not booted: stage {}", spec::boot_stage_name(after.boot_stage));
    case FirmwareHealth::kPanicked:
      return fmt::format("has stopped itself at waypoint {}", waypoint);
    case FirmwareHealth::kLoops:
      if (after.halted()) return fmt::format("loops: its watchdog has halted it at waypoint {}", waypoint);
      return fmt::format("loops: awake at waypoint {}, no heartbeat for {} cycles", waypoint, cycles);
    case FirmwareHealth::kDead:
      return fmt::format("is dead: asleep at waypoint {}, a doorbell does not wake it", waypoint);
    case FirmwareHealth::kBeatsWithoutProgress:
      return fmt::format("beats without progress: {} passes of its main loop in {} cycles, and no answer",
                         after.heartbeat - before.heartbeat, cycles);
  }
  return "?";
}

}  // namespace weft::driver
