// --processes: a slice by several processes of this machine.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "model/ranks/rank_processes.hpp"
#include "model/ranks/shared_ranks.hpp"
#include "model/sim/ending.hpp"
#include "model/sim/serve.hpp"

namespace weft::sim {

int serve_in_ranks(const Arguments& arguments, const Simulated& simulated) {
  const auto chips = static_cast<unsigned>(simulated.kinds.size()), processes = arguments.processes;
  if (processes > chips)
    return complain(kExitUsage, fmt::format("--processes {}: slice '{}' has {} chips, and each process simulates one "
                                            "at least",
                                            processes, arguments.slice, chips));
  std::string error;
  const auto ranks = ranks::SharedRanks::make(processes, error);
  if (ranks == nullptr) return complain(kExitCannotStart, error);
  const auto body = [&](unsigned rank) {
    const auto link = ranks->link(rank);
    return serve_chips(arguments, simulated, link.get());
  };
  const auto report = [&](const ranks::RankEnd& end) {
    const unsigned first = chip::RankShare::first_of(end.rank, processes, chips);
    const unsigned last = chip::RankShare::first_of(end.rank + 1, processes, chips) - 1;
    if (end.exit_code == kExitUsage || end.exit_code == kExitCannotStart) return end.exit_code;  // it has said why
    return complain(
        end.exit_code == kExitModelFailure ? kExitModelFailure : kExitRankLost,
        fmt::format("{}; it simulated chips {} to {} of the slice, which has ended with it", end.how, first, last));
  };
  // A client sees the end of its device only when no process has the other end of its socket open.
  const auto close_sockets = [&] {
    for (const int fd : arguments.fds) ::close(fd);
  };
  return ranks::run_ranks(processes, body, close_sockets, report);
}

}  // namespace weft::sim
