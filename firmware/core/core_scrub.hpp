/// Clears what a function left in the core before another one runs there: VMEM, ACC, the weights in the MXU.
/// Semaphores, queues and segments are cleared for every launch.
#pragma once
#include <stdint.h>

#include "weft/spec/spec.h"

namespace weft::fw {

struct State;

/// Whose data VMEM and ACC may hold.
struct CoreTenant {
  bool scrubbing;           ///< the core clears itself
  uint32_t tenant;          ///< function + 1; kTenantNone, kTenantGone
  uint64_t deadline_cycle;  ///< by which the core has cleared itself
};

inline constexpr uint32_t kTenantNone = 0;           ///< nobody's: all zero
inline constexpr uint32_t kTenantGone = UINT32_MAX;  ///< of a process that is no longer there

/// True if `function` may run on the core now. False: the core is being cleared for it; ask again when it is done.
bool core_clean_for(State& state, uint32_t function);

/// The function's process has gone: its data are nobody's, and cleared before the next launch.
void core_tenant_left(State& state, uint32_t function);

/// The core was reset while it cleared itself, if it did: it begins anew before the next launch.
void core_scrub_cancel(State& state);

/// Looks whether the core has cleared itself. One that has not by its deadline, or faults meanwhile, is a panic.
void core_scrub_service(State& state);

/// Device cycle at which core_scrub_service() wants to run without an interrupt; UINT64_MAX: nothing is being cleared.
uint64_t core_scrub_wake_cycle(const State& state);

}  // namespace weft::fw
