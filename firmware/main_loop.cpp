// Bounded passes: look at what happened, serve the core first, then copies, then the queues; sleep when nothing is
// left.
#include "firmware/main_loop.hpp"

#include "firmware/boot.hpp"
#include "firmware/hal.hpp"
#include "firmware/scheduler.hpp"
#include "firmware/state.hpp"
#include "firmware/submission.hpp"

namespace weft::fw {
namespace {

void accept_doorbells(State& state) {
  uint32_t pending = hal::doorbell_pending();
  for (uint32_t id = 0; id < kQueues && pending != 0; id++, pending >>= 1) {
    if ((pending & 1) != 0) accept_doorbell(state, state.queues[id]);
  }
}

/// One pass. True: another pass may find work at once.
bool pass(State& state) {
  hal::charge(WEFT_MANAGER_MAIN_LOOP);
  state.passes++;
  hal::function_write(WEFT_REG_HEARTBEAT, state.passes);
  launch_service(state);
  copy_service(state);
  accept_doorbells(state);
  return schedule(state);
}

void sleep(State& state) {
  if (scheduler_idle(state)) {
    state.rotor = 0;  // the next command finds the firmware as it was after boot
    state.tickets = 0;
    state.waypoint = Waypoint::kIdle;
  }
  const uint64_t launch_cycle = launch_wake_cycle(state);
  const uint64_t copy_cycle = copy_wake_cycle(state);
  const uint64_t deadline = launch_cycle < copy_cycle ? launch_cycle : copy_cycle;
  if (deadline != 0) hal::wait_for_event(deadline);
}

/// A failed device stays up until its reset, so that the host can read what happened.
void park() {
  while (hal::running()) hal::wait_for_event(UINT64_MAX);
}

}  // namespace

void run(State& state) {
  if (!boot(state)) return park();
  while (hal::running() && !state.panicked) {
    const bool again = pass(state);
    if (!again && !state.panicked) sleep(state);
  }
  if (state.panicked) park();
}

}  // namespace weft::fw
