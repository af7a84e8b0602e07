// main_loop() of the simulator: the state lies on the calling thread's stack, so several chips may run in one process.
#include "firmware/main_loop.hpp"
#include "firmware/state.hpp"

namespace weft::fw {

static_assert(sizeof(State) + 64 * 1024 <= kMainLoopStackBytes);

void main_loop() {
  State state{};
  run(state);
}

}  // namespace weft::fw
