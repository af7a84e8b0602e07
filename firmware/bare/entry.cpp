// main_loop() of the bare build: the state has its place in SRAM, and every call begins with its first part cleared.
#include "firmware/main_loop.hpp"
#include "firmware/panic.hpp"
#include "firmware/state.hpp"

namespace weft::fw {

/// Behind the stack (link.ld), where ports beside the processor look for it.
__attribute__((section(".bss.state"))) State the_state;

void main_loop() {
  __builtin_memset(&the_state, 0, kClearedBytes);
  run(the_state);
}

}  // namespace weft::fw

/// A trap: the panic's value is bit 63, mcause in bits 62:32, and the program counter.
extern "C" void weft_trap(uint32_t cause, uint32_t pc, uint32_t) {
  constexpr uint64_t kTrapped = uint64_t{1} << 63;
  weft::fw::panic(weft::fw::the_state, kTrapped | uint64_t{cause & 0x7fff'ffff} << 32 | pc);
}

/// Called by the start-up code, again and again: each return of the main loop is a device reset.
extern "C" void weft_main() { weft::fw::main_loop(); }
