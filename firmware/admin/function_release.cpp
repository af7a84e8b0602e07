// The order: no new work (queues, programs and logs are gone at once), the launch ends with the core's reset, the copy
// is aborted, then HBM is cleared if the host has gone, then the function is as after power-up.
#include "firmware/admin/function_release.hpp"

#include "firmware/boot.hpp"
#include "firmware/hal.hpp"
#include "firmware/state.hpp"

namespace weft::fw {
namespace {

bool is_set(uint32_t mask, uint32_t bit) { return ((mask >> bit) & 1) != 0; }

void finish_release(Function& function) {
  prepare_function(function);
  hal::function_write(function.index, WEFT_REG_DEVICE_STATE, WEFT_DEVICE_STATE_PRESENT);
}

void release(State& state, Function& function, bool departed) {
  state.waypoint = Waypoint::kRelease;
  if (function.state == FunctionState::kClearing) return;  // nothing of it is left but its bytes
  __builtin_memset(function.queues, 0, sizeof function.queues);
  __builtin_memset(function.rings, 0, sizeof function.rings);
  function.programs = ProgramSlots{};
  __builtin_memset(function.timelines, 0, sizeof function.timelines);
  __builtin_memset(&function.aborts, 0, sizeof function.aborts);
  __builtin_memset(&function.events, 0, sizeof function.events);
  function.pending = 0;
  function.interrupts_held = 0;
  function.log.iova = 0;
  function.faults.iova = 0;
  if (state.launch.active && state.launch.function == function.index) launch_drop(state);
  if (state.copy.active && state.copy.function == function.index) copy_drop(state);
  if (!departed) return finish_release(function);
  core_tenant_left(state, function.index);
  function.state = FunctionState::kClearing;
}

}  // namespace

void take_departed_functions(State& state) {
  uint32_t departed = 0;
  (void)hal::function_requests(&departed);
  if (departed != 0) state.core_tenant.tenant = kTenantGone;
  if (state.function_count == 1) return;  // its departure has cleared HBM with everything else
  for (uint32_t i = 0; i < state.function_count; i++) {
    Function& function = state.functions[i];
    if (hal::function_read(i, WEFT_REG_RESET_GENERATION) != 0) {  // what it wrote before this start is not known
      function.written_end = function.hbm_base + function.hbm_bytes;
      state.core_tenant.tenant = kTenantGone;
    }
    if (!is_set(departed, i)) continue;
    function.state = FunctionState::kClearing;
    hal::function_write(i, WEFT_REG_DEVICE_STATE, WEFT_DEVICE_STATE_RESETTING);
  }
}

void take_release_requests(State& state) {
  if (state.function_count == 1) return;  // the reset of the only function is the device's: it restarts the firmware
  uint32_t departed = 0;
  const uint32_t requests = hal::function_requests(&departed);
  for (uint32_t i = 0; i < state.function_count && requests != 0 && !state.panicked; i++) {
    if (is_set(requests, i)) release(state, state.functions[i], is_set(departed, i));
  }
}

void release_service(State& state) {
  hbm_scrub_service(state);
  for (uint32_t i = 0; i < state.function_count; i++) {
    Function& function = state.functions[i];
    if (function.state == FunctionState::kClearing && hbm_scrubbed(state, function)) finish_release(function);
  }
}

bool release_wants_pass(const State& state) { return state.function_count > 1 && hbm_scrub_ready(state); }

}  // namespace weft::fw
