/// What control.cpp and control_run.cpp share.
#pragma once
#include <stddef.h>

#include "firmware/core/control.hpp"
#include "firmware/hal.hpp"
#include "firmware/memory_map.hpp"
#include "firmware/state.hpp"

namespace weft::fw::control {

/// Bytes of the list at `offset` into SRAM. DMA_FAULT {address as the host counts it, bytes}.
inline Status read_list(const Function& function, const Control& control, uint32_t offset, void* sram, uint32_t bytes) {
  if (hal::dma_read(hbm_at(control.list_address + offset), sram, bytes)) return kOk;
  return Status{WEFT_ERROR_DMA_FAULT, control.list_address + offset - function.hbm_base, bytes};
}

/// Element `index` of what was read into state.scratch.
template <typename T>
T from_scratch(const State& state, uint32_t index) {
  T value;
  __builtin_memcpy(&value, __builtin_assume_aligned(state.scratch + index * sizeof(T), alignof(T)), sizeof value);
  hal::charge(WEFT_MANAGER_SRAM_WORD * sizeof value / 4);
  return value;
}

inline weft_launch_argument argument(const Control& control, uint32_t index) {
  using A = weft_launch_argument;
  A a;
  __builtin_memcpy(&a, __builtin_assume_aligned(control.arguments + list_bytes(index), alignof(A)), sizeof a);
  return a;
}

/// Where the argument of a binding lies.
inline Room room_of(const Function& function, const Control& control, const weft_control_binding& w) {
  if (w.argument == WEFT_EXECUTABLE_CONTROL_CONSTANTS)
    return {hbm_at(control.constants_address), control.constants_bytes};
  const bool scratch = w.argument == WEFT_EXECUTABLE_CONTROL_SCRATCH;
  const weft_launch_argument a = argument(control, scratch ? control.shape.arguments : w.argument);
  return {locate(function, static_cast<weft_address_space>(a.space), a.address), a.size_bytes};
}

inline constexpr uint32_t kBindingsRead = kScratchBytes / sizeof(weft_control_binding);
static_assert(kBindingsRead >= WEFT_SEGMENTS - 1, "the bindings of a BIND are read at once");

}  // namespace weft::fw::control
