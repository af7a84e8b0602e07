// The firmware's own end: everything that can still be told is told, then nothing more is done.
#include "firmware/panic.hpp"

#include "firmware/admin/faults.hpp"
#include "firmware/core/core.hpp"
#include "firmware/hal.hpp"
#include "firmware/state.hpp"

namespace weft::fw {

void panic(State& state, uint64_t value) {
  if (state.panicked) return;
  state.panicked = true;
  const uint64_t waypoint = static_cast<uint64_t>(static_cast<Waypoint>(state.waypoint));
  (void)hal::copy_abort();  // an engine that does not stop is held by the device's reset, before which nothing is used
  (void)core::reset();
  weft_fault_record record{};
  record.error = WEFT_ERROR_FIRMWARE_PANIC;
  record.fault_cycle = hal::now();
  record.detail0 = waypoint;
  record.detail1 = value;
  hal::function_write(hal::kAllFunctions, WEFT_REG_DEVICE_STATE, WEFT_DEVICE_STATE_FAILED);
  for (uint32_t i = 0; i < state.function_count; i++) {
    Function& function = state.functions[i];
    write_fault_record(function, record);
    count_error(function.errors, WEFT_ERROR_FIRMWARE_PANIC, {record.fault_cycle, 0, 0, 0});
    log_event(function, LogLevel::kError, WEFT_LOG_EVENT_PANIC, waypoint, value);
    note_error(function, WEFT_ERROR_FIRMWARE_PANIC);
    hal::raise_interrupt(i, completion_vector(kAdminQueue));
  }
}

}  // namespace weft::fw
