/// Serves clients until the last one has left or a signal comes.
#pragma once
#include "model/chip/rank_link.hpp"
#include "model/sim/arguments.hpp"
#include "model/sim/simulated.hpp"

namespace weft::sim {

/// The exit code of the process.
[[nodiscard]] int serve(const Arguments& arguments);

/// The same by --processes: forks them, and waits for them.
[[nodiscard]] int serve_in_ranks(const Arguments& arguments, const Simulated& simulated);

/// The same by --mpi: joins the other ranks.
[[nodiscard]] int serve_in_mpi(const Arguments& arguments, const Simulated& simulated);

/// Serves the clients of the chips that are simulated here: of all, or of a rank.
[[nodiscard]] int serve_chips(const Arguments& arguments, const Simulated& simulated, chip::RankLink* link);

}  // namespace weft::sim
