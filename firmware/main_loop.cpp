// Bounded passes: serve the core first, then copies, then the queues; sleep when nothing is
// left.
#include "firmware/main_loop.hpp"

#include "firmware/admin/async_event.hpp"
#include "firmware/admin/function_release.hpp"
#include "firmware/boot.hpp"
#include "firmware/hal.hpp"
#include "firmware/queue/scheduler.hpp"
#include "firmware/queue/submission.hpp"
#include "firmware/state.hpp"

namespace weft::fw {
namespace {

/// Interrupts of some ring are held back.
bool interrupts_held(const State& state) {
  for (uint32_t i = 0; i < state.function_count; i++) {
    if (state.functions[i].interrupts_held != 0) return true;
  }
  return false;
}

/// Some function has a listener for news.
bool listened_to(const State& state) {
  for (uint32_t i = 0; i < state.function_count; i++) {
    if (state.functions[i].events.listener_count != 0) return true;
  }
  return false;
}

/// Some queue may have entries.
bool pending(const State& state) {
  for (uint32_t i = 0; i < state.function_count; i++) {
    if (state.functions[i].pending != 0) return true;
  }
  return false;
}

void accept_doorbells(State& state, Function& function) {
  uint32_t pending = hal::doorbell_pending(function.index);
  for (uint32_t id = 0; id < kQueues && pending != 0; id++, pending >>= 1) {
    if ((pending & 1) != 0) accept_doorbell(state, function.queues[id]);
  }
}

/// Boot requests and doorbells of `functions`, a bit each. True: a function has booted.
bool serve_functions(State& state, uint32_t functions) {
  bool booted = false;
  for (uint32_t i = 0; functions != 0 && !state.panicked; i++, functions >>= 1) {
    if ((functions & 1) == 0) continue;
    Function& function = state.functions[i];
    if (function.state == FunctionState::kReady) {
      accept_doorbells(state, function);
    } else {
      booted |= serve_boot(state, function);
    }
  }
  return booted;
}

/// One pass. True: another pass may find work at once.
bool pass(State& state) {
  hal::charge(WEFT_MANAGER_MAIN_LOOP);
  state.passes++;
  hal::function_write(hal::kAllFunctions, WEFT_REG_HEARTBEAT, state.passes);
  // Each of the services would look itself whether it has anything to do: here it costs no call.
  if (state.launch.active) launch_service(state);
  if (state.core_tenant.scrubbing) core_scrub_service(state);
  if (state.copy.active) copy_service(state);
  if (interrupts_held(state)) coalesce_service(state);
  const uint32_t causes = hal::wake_causes();
  if ((causes & WEFT_MANAGER_WAKE_REQUESTS) != 0) take_release_requests(state);
  if (state.function_count > 1) {
    release_service(state);
    launch_limit_hold(state);
  }
  const bool booted = serve_functions(state, causes & WEFT_MANAGER_WAKE_FUNCTIONS);
  const bool scheduled = pending(state) && schedule(state);
  if (listened_to(state)) async_event_service(state);
  return scheduled || booted || release_wants_pass(state);
}

void sleep(State& state) {
  if (scheduler_idle(state)) {
    scheduler_forget(state);
    state.waypoint = Waypoint::kIdle;
  }
  uint64_t deadline = launch_wake_cycle(state);
  const uint64_t others[] = {copy_wake_cycle(state), core_scrub_wake_cycle(state), hbm_scrub_wake_cycle(state),
                             timeline_wake_cycle(state), coalesce_wake_cycle(state)};
  for (const uint64_t cycle : others) {
    if (cycle < deadline) deadline = cycle;
  }
  if (deadline != 0) hal::wait_for_event(deadline);
}

/// A failed device stays up until its reset, so that the host can read what happened.
void park() {
  while (hal::running()) hal::wait_for_event(UINT64_MAX);
}

}  // namespace

void run(State& state) {
  prepare_functions(state);
  take_departed_functions(state);
  while (hal::running() && !state.panicked) {
    const bool again = pass(state);
    if (!again && !state.panicked) sleep(state);
  }
  if (state.panicked) park();
}

}  // namespace weft::fw
