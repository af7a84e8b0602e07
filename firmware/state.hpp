/// Everything that the firmware knows, in one object without pointers into itself. All zero is the state after reset.
#pragma once
#include <stdint.h>

#include "firmware/admin/function.hpp"
#include "firmware/admin/hbm_scrub.hpp"
#include "firmware/core/copy.hpp"
#include "firmware/core/core_scrub.hpp"
#include "firmware/core/launch.hpp"
#include "firmware/core/streaming.hpp"
#include "firmware/panic.hpp"

namespace weft::fw {

inline constexpr uint32_t kScratchBytes = WEFT_LIMIT_KERNELS_PER_PROGRAM * sizeof(weft_program_kernel);

/// Owner: main_loop(). One thread. Trivial, so that the bare build clears it as memory.
struct State {
  Function functions[WEFT_LIMIT_FUNCTIONS];
  uint32_t function_count;
  Launch launch;  ///< the one that owns the core
  Stream stream;  ///< its commands on their way into the core's queues
  CopyJob copy;   ///< the one that owns the copy engine
  CoreTenant core_tenant;
  HbmScrub hbm_scrub;
  uint64_t passes;   ///< HEARTBEAT
  uint32_t rotor;    ///< queue that the scheduler visits first: function * kQueues + id
  uint32_t tickets;  ///< given to queues that wait for an engine, since the firmware was idle
  ShownWaypoint waypoint;
  uint32_t turns;          ///< of functions on an engine, since the firmware was idle
  uint32_t core_function;  ///< whose host memory the core reaches
  bool core_ready;         ///< reset and probed since the firmware started
  bool panicked;
  alignas(8) uint8_t scratch[kScratchBytes];  ///< a kernel table or an argument list while it is checked
};

/// The function that a queue belongs to.
inline Function& owner(State& state, const Queue& queue) { return state.functions[queue.function]; }

}  // namespace weft::fw
