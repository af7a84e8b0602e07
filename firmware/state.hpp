/// Everything that the firmware knows, in one object without pointers into itself. All zero is the state after reset.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "firmware/admin/function.hpp"
#include "firmware/admin/hbm_scrub.hpp"
#include "firmware/core/control.hpp"
#include "firmware/core/copy.hpp"
#include "firmware/core/core_scrub.hpp"
#include "firmware/core/launch.hpp"
#include "firmware/panic.hpp"

namespace weft::fw {

inline constexpr uint32_t kScratchBytes = WEFT_LIMIT_KERNELS_PER_PROGRAM * sizeof(weft_program_kernel);

/// Entries of submission rings that the chip holds between their fetch and their turn: one for each queue that there
/// can be. A chip with fewer functions has more for each of its queues.
inline constexpr uint32_t kFetchedEntries = WEFT_LIMIT_FUNCTIONS * kQueues;
/// Programs whose records lie here, in equal parts by function; those of the rest lie in HBM.
inline constexpr uint32_t kProgramRecords = 128;

/// A queue of a function.
struct Rotor {
  uint8_t function, queue;
};

/// Owner: main_loop(). One thread. Trivial, so that the bare build clears it as memory: the first kClearedBytes of it.
/// What comes behind is written before it is read.
struct State {
  uint32_t function_count;
  Launch launch;  ///< the one that owns the core
  CopyJob copy;   ///< the one that owns the copy engine
  CoreTenant core_tenant;
  HbmScrub hbm_scrub;
  uint64_t passes;   ///< HEARTBEAT
  Rotor rotor;       ///< queue that the scheduler visits first
  uint32_t tickets;  ///< given to queues that wait for an engine, since the firmware was idle
  ShownWaypoint waypoint;
  uint32_t turns;          ///< of functions on an engine, since the firmware was idle
  uint32_t core_function;  ///< whose host memory the core reaches
  bool core_ready;         ///< reset and probed since the firmware started
  bool panicked;
  uint8_t batch_entries;                     ///< of `fetched`, a queue: those of one read
  uint8_t program_records;                   ///< of `programs`, a function
  Function functions[WEFT_LIMIT_FUNCTIONS];  ///< prepare_functions() clears those that the chip has
  Program programs[kProgramRecords];
  weft_submission_entry fetched[kFetchedEntries];
  alignas(8) uint8_t scratch[kScratchBytes];  ///< a kernel table or an argument list while it is checked
  Control control;                            ///< of the launch that runs, if launch.control
};
inline constexpr uint32_t kClearedBytes = offsetof(State, functions);

/// The function that a queue belongs to.
inline Function& owner(State& state, const Queue& queue) { return state.functions[queue.function]; }

/// The queue's place among the fetched entries: room for `batch_entries` of them.
inline weft_submission_entry* batch_of(State& state, const Queue& queue) {
  return state.fetched + (queue.function * kQueues + queue.id) * uint32_t{state.batch_entries};
}
inline const weft_submission_entry* batch_of(const State& state, const Queue& queue) {
  return batch_of(const_cast<State&>(state), queue);
}

/// Entry batch_next of the queue, which has one.
inline const weft_submission_entry& next_entry(const State& state, const Queue& queue) {
  return batch_of(state, queue)[queue.batch_next];
}

}  // namespace weft::fw
