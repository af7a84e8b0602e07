/// DUMP_STATE: all that the firmware and the core know, as a page in host memory (spec/state_page.toml).
#pragma once
#include <stdint.h>

#include "firmware/status.hpp"

namespace weft::fw {

struct Function;
struct State;

/// Bytes of the page that this firmware writes.
uint32_t state_page_bytes();

/// Writes the page for a function: its own queues and commands; of another's launch or copy only that there is one.
/// Tables first, the header's magic last, so that a torn page is not taken for one. Reads registers
/// and HBM only; no command notices, but for the time that it takes (about 30 000 cycles with a launch on the core).
/// INVALID_ARGUMENT {offset in the entry, value}: place or size. DMA_FAULT {address, bytes}.
Status dump_state(State& state, const Function& function, const weft_submission_entry& entry);

}  // namespace weft::fw
