/// The manager's firmware: its entry point and its main loop.
#pragma once
#include <stddef.h>

namespace weft::fw {

struct State;

/// What a thread needs that runs main_loop() in the simulator: the firmware's state lies on its stack.
inline constexpr size_t kMainLoopStackBytes = 1024 * 1024;

/// Boots and serves the host until hal::running() is false. Keeps nothing between two calls: a device reset ends the
/// call and makes a new one.
void main_loop();

/// The same with the state where the caller has it. The first kClearedBytes of `state` are zero.
void run(State& state);

}  // namespace weft::fw
