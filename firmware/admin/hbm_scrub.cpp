// Pieces from the end of what was written down to the start of the share: what is left is always [start, written_end).
#include "firmware/admin/hbm_scrub.hpp"

#include "firmware/hal.hpp"
#include "firmware/queue/scheduler.hpp"
#include "firmware/state.hpp"

namespace weft::fw {
namespace {

constexpr uint32_t kRunning = 0;
constexpr uint32_t kDone = 1;

uint64_t first_byte(const Function& function) { return function.hbm_base + WEFT_MANAGER_HBM_RESERVED_BYTES; }

/// The next function to clear; function_count: none.
uint32_t find_dirty(const State& state) {
  for (uint32_t i = 0; i < state.function_count; i++) {
    const Function& function = state.functions[i];
    if (function.state == FunctionState::kClearing && function.written_end > first_byte(function)) return i;
  }
  return state.function_count;
}

void fail(State& state) {
  state.hbm_scrub.running = false;
  panic(state, state.hbm_scrub.function);
}

void start_piece(State& state, uint32_t index) {
  Function& function = state.functions[index];
  HbmScrub& scrub = state.hbm_scrub;
  const uint64_t left = function.written_end - first_byte(function);
  scrub.bytes = left < kCopyPieceBytes ? left : kCopyPieceBytes;
  scrub.function = index;
  scrub.deadline_cycle = hal::now() + kCopyPieceCycles;
  scrub.next_turn = false;
  scrub.running =
      hal::copy_start(Location{WEFT_ADDRESS_SPACE_NONE, 0, 0}, hbm_at(function.written_end - scrub.bytes), scrub.bytes);
  if (!scrub.running) fail(state);
}

/// False: the piece is still under way.
bool end_piece(State& state) {
  HbmScrub& scrub = state.hbm_scrub;
  if (!scrub.running) return true;
  const uint32_t result = hal::copy_result();
  if (result == kRunning) {
    if (hal::now() >= scrub.deadline_cycle) fail(state);
    return false;
  }
  scrub.running = false;
  if (result != kDone) {
    fail(state);
    return false;
  }
  state.functions[scrub.function].written_end -= scrub.bytes;
  return true;
}

}  // namespace

void note_written(Function& function, uint64_t end) {
  // The larger of the two without a branch: a launch takes the same cycles, whether it is the first to write there or
  // not. Addresses are far below 2^63, so the top bit of the difference is its sign.
  const uint64_t beyond = function.written_end - end;
  function.written_end -= beyond & (0 - (beyond >> 63));
}

bool hbm_scrub_ready(const State& state) {
  return copy_engine_idle(state) && find_dirty(state) != state.function_count &&
         (state.hbm_scrub.next_turn || !copy_waits(state));
}

void hbm_scrub_service(State& state) {
  if (state.function_count == 1 || !end_piece(state)) return;
  const uint32_t dirty = find_dirty(state);
  if (dirty == state.function_count) return;
  state.waypoint = Waypoint::kRelease;
  if (state.copy.active) state.hbm_scrub.next_turn = true;
  if (hbm_scrub_ready(state)) start_piece(state, dirty);
}

uint64_t hbm_scrub_wake_cycle(const State& state) {
  return state.hbm_scrub.running ? state.hbm_scrub.deadline_cycle : UINT64_MAX;
}

void hbm_scrub_cancel(State& state) { state.hbm_scrub.running = false; }

bool hbm_scrubbed(const State& state, const Function& function) {
  const bool running = state.hbm_scrub.running && state.hbm_scrub.function == function.index;
  return !running && function.written_end <= first_byte(function);
}

}  // namespace weft::fw
