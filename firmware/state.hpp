/// Everything that the firmware knows, in one object without pointers into itself. All zero is the state after reset.
#pragma once
#include <stdint.h>

#include "firmware/copy.hpp"
#include "firmware/faults.hpp"
#include "firmware/launch.hpp"
#include "firmware/log.hpp"
#include "firmware/panic.hpp"
#include "firmware/program.hpp"
#include "firmware/queue.hpp"
#include "firmware/streaming.hpp"

namespace weft::fw {

inline constexpr uint32_t kScratchBytes = WEFT_LIMIT_KERNELS_PER_PROGRAM * sizeof(weft_program_kernel);

/// Owner: main_loop(). One thread. Trivial, so that the bare build clears it as memory.
struct State {
  Queue queues[kQueues];  ///< by id; 0: admin
  Program programs[WEFT_LIMIT_PROGRAMS];
  Launch launch;  ///< the one that owns the core
  Stream stream;  ///< its commands on their way into the core's queues
  CopyJob copy;   ///< the one that owns the copy engine
  Log log;
  FaultLog faults;
  uint64_t watchdog_cycles;  ///< limit for the core, SET_TIMEOUT
  uint64_t passes;           ///< HEARTBEAT
  uint64_t completed;        ///< PROGRESS
  uint32_t rotor;            ///< queue that the scheduler visits first
  uint32_t tickets;          ///< given to queues that wait for an engine, since the firmware was idle
  ShownWaypoint waypoint;
  bool panicked;
  alignas(8) uint8_t scratch[kScratchBytes];  ///< a kernel table or an argument list while it is checked
};

}  // namespace weft::fw
