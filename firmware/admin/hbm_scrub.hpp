/// Clears the HBM that a departed function has written, with the copy engine, piece by piece: what a process leaves
/// reads zero for the next one.
#pragma once
#include <stdint.h>

namespace weft::fw {

struct Function;
struct State;

/// The piece that is being cleared.
struct HbmScrub {
  bool running;
  bool next_turn;     ///< a copy had the engine since the last piece
  uint32_t function;  ///< whose
  uint64_t bytes;
  uint64_t deadline_cycle;
};

/// The function may write up to `end`: the clearing goes so far.
void note_written(Function& function, uint64_t end);

/// Takes the engine's result, and starts the next piece if the engine is free and no copy waits for it; after a copy
/// the clearing has precedence, so neither starves. A piece that does not end in time is a panic: the engine may still
/// write.
void hbm_scrub_service(State& state);

/// The copy engine was reset under the piece that it clears, if it does: the piece begins anew.
void hbm_scrub_cancel(State& state);

/// All that the function has written is cleared.
bool hbm_scrubbed(const State& state, const Function& function);

/// A piece is to start now.
bool hbm_scrub_ready(const State& state);

/// Device cycle at which hbm_scrub_service() wants to run without an event; UINT64_MAX: no piece is under way.
uint64_t hbm_scrub_wake_cycle(const State& state);

}  // namespace weft::fw
