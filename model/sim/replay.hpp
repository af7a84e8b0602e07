/// Runs a recording again in place of serving, and compares.
#pragma once
#include "model/sim/arguments.hpp"

namespace weft::sim {

/// The exit code of the process: kExitDiffers if bits or, on the same core, cycles are others than recorded.
[[nodiscard]] int replay(Arguments arguments);

}  // namespace weft::sim
