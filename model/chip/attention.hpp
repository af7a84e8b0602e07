/// What the loop of simulated time would otherwise have to ask every chip of a slice after each step.
#pragma once
#include <cstdint>

namespace weft::chip {

/// Kept up to date by functions and managers, read by the Simulation that owns it. One thread.
struct Attention {
  uint64_t claims = 0;          ///< counts changes of any host's hold on time or armed wait, and departures of clients
  uint32_t awake_managers = 0;  ///< whose firmware is not in wait_for_event()
};

}  // namespace weft::chip
