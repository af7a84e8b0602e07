/// How the bare HAL reaches registers and sleeps. On RISC-V it does; compiled for another processor, a program brings
/// these functions along that lets the same HAL run beside the image (testbench/lockstep).
#pragma once
#include <stdint.h>

namespace weft::fw::bare {

#ifdef __riscv
inline uint32_t load(uintptr_t address) { return *reinterpret_cast<volatile uint32_t*>(address); }
inline void store(uintptr_t address, uint32_t value) { *reinterpret_cast<volatile uint32_t*>(address) = value; }
/// Stores the address of memory in SRAM.
inline void store_pointer(uintptr_t address, const void* memory) {
  store(address, static_cast<uint32_t>(reinterpret_cast<uintptr_t>(memory)));
}
inline void wait_for_interrupt() { __asm__ volatile("wfi" ::: "memory"); }
#else
uint32_t load(uintptr_t address);
void store(uintptr_t address, uint32_t value);
void store_pointer(uintptr_t address, const void* memory);
void wait_for_interrupt();
#endif

}  // namespace weft::fw::bare
