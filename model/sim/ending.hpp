/// How weft-sim ends: exit codes, and what it says before.
#pragma once
#include <functional>
#include <string>

#include "model/record/record_format.hpp"

namespace weft::sim {

/// kExitUsage: what was asked for cannot be. kExitCannotStart: the machine does not let it. kExitRankLost: a process
/// of several that simulate a slice has died. The driver tells its caller
/// the complaint of either as the reason why a device does not open.
inline constexpr int kExitUsage = 2, kExitCannotStart = 3, kExitModelFailure = 4, kExitDiffers = 6, kExitRankLost = 7;

/// Says `what` on stderr and returns `code`.
int complain(int code, const std::string& what);

/// From now on a failed assertion of the RTL ends the process with kExitModelFailure. `finish`: ends a recording first;
/// empty if nothing is recorded.
void end_on_model_failure(std::function<void(record::Ending)> finish);

}  // namespace weft::sim
