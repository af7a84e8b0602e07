/// Serves clients until the last one has left or a signal comes.
#pragma once
#include "model/sim/arguments.hpp"

namespace weft::sim {

/// The exit code of the process.
[[nodiscard]] int serve(const Arguments& arguments);

}  // namespace weft::sim
