// main_loop() of the bare build: the state has its place in SRAM, and every call begins with it cleared.
#include "firmware/main_loop.hpp"
#include "firmware/state.hpp"

namespace weft::fw {
namespace {

__attribute__((section(".bss.state"))) State the_state;

}  // namespace

void main_loop() {
  __builtin_memset(&the_state, 0, sizeof the_state);
  run(the_state);
}

}  // namespace weft::fw

/// Called by the start-up code, again and again: each return of the main loop is a device reset.
extern "C" void weft_main() { weft::fw::main_loop(); }
