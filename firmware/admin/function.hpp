/// What the firmware knows of one PCIe function: its rings, programs, logs and its share of HBM. A function is a
/// context: nothing that one of them names reaches another.
#pragma once
#include <stdint.h>

#include "firmware/admin/async_event.hpp"
#include "firmware/admin/error_log.hpp"
#include "firmware/admin/faults.hpp"
#include "firmware/admin/log.hpp"
#include "firmware/core/program.hpp"
#include "firmware/queue/abort.hpp"
#include "firmware/queue/completion_ring.hpp"
#include "firmware/queue/queue.hpp"
#include "firmware/queue/timeline.hpp"

namespace weft::fw {

enum class FunctionState : uint8_t {
  kPresent = 0,  ///< waits for its parameter page
  kReady,
  kFailed,    ///< boot failed; until reset
  kClearing,  ///< its host is gone: its HBM is cleared
};

/// All zero but `index` and the share of HBM: as after power-up.
struct Function {
  FunctionState state;
  uint32_t index;
  uint64_t hbm_base;         ///< share of HBM: where it begins
  uint64_t hbm_bytes;        ///< and its size, reserved bytes included
  uint64_t written_end;      ///< HBM below this may have been written since it was last cleared
  uint64_t watchdog_cycles;  ///< limit for the core, SET_TIMEOUT
  uint64_t completed;        ///< PROGRESS
  uint32_t turn[2];          ///< when the function last got the copy engine [0] and the core [1], in order of turns
  uint32_t pending;          ///< bit q: queue q may have entries that were not taken
  uint32_t interrupts_held;  ///< rings whose interrupt is held back
  uint32_t share_clock[2];   ///< share of the queue that got the engine last, when it got it
  Log log;
  FaultLog faults;
  ErrorLog errors;
  AsyncEvents events;
  AbortMarks aborts;
  Timeline timelines[WEFT_LIMIT_TIMELINES];  ///< of id 1 first
  Queue queues[kQueues];                     ///< by id; 0: admin
  CompletionRing rings[kQueues];             ///< by id
  ProgramSlots programs;

  /// `id` from 1 to WEFT_LIMIT_TIMELINES.
  constexpr const Timeline& timeline(uint64_t id) const { return timelines[static_cast<uint32_t>(id) - 1]; }
  constexpr Timeline& timeline(uint64_t id) { return timelines[static_cast<uint32_t>(id) - 1]; }
};

}  // namespace weft::fw
