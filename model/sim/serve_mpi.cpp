// --mpi: a slice by the ranks that mpirun has started.
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/crc32c.hpp"
#include "model/ranks/mpi_ranks.hpp"
#include "model/ranks/rank_start.hpp"
#include "model/sim/ending.hpp"
#include "model/sim/serve.hpp"

namespace weft::sim {
namespace {

/// What all ranks must have in common.
std::string common_options(const Arguments& arguments) {
  if (arguments.image == nullptr) return arguments.said;
  const auto& rom = arguments.image->image().rom;
  return arguments.said + fmt::format("# the image has {} bytes with CRC {:08x}\n", rom.size(), crc32c(rom));
}

/// Processes that another MPI's mpirun has started, for the environment; 0: it says nothing of that.
unsigned long foreign_ranks() {
  const char* size = std::getenv("PMI_SIZE");
  return size == nullptr ? 0 : std::strtoul(size, nullptr, 10);
}

std::string chips_of(unsigned rank, unsigned ranks, unsigned chips) {
  return fmt::format("chips {} to {}", chip::RankShare::first_of(rank, ranks, chips),
                     chip::RankShare::first_of(rank + 1, ranks, chips) - 1);
}

/// Why these ranks cannot simulate the slice; empty: they can. The same in all of them.
std::string refusal(const std::vector<ranks::RankStart>& all, const Arguments& arguments, unsigned chips) {
  if (all.size() == 1 && foreign_ranks() > 1)
    return fmt::format(
        "--mpi: {} processes were started by an mpirun of another MPI than the one that this program was built with",
        foreign_ranks());
  if (all.size() > chips)
    return fmt::format("--mpi: {} ranks for the {} chips of slice '{}': each rank simulates one at least", all.size(),
                       chips, arguments.slice);
  const std::string difference = ranks::find_difference(all);
  return difference.empty() ? difference : "--mpi: " + difference;
}

}  // namespace

int serve_in_mpi(const Arguments& arguments, const Simulated& simulated) {
  const auto chips = static_cast<unsigned>(simulated.kinds.size());
  std::string error;
  std::vector<ranks::RankStart> all;
  unsigned own_rank = 0;
  const auto lost = [&](unsigned rank, std::chrono::steady_clock::duration waited) {
    if (ranks::is_gone(all[rank], all[own_rank], waited)) {
      if (own_rank == (rank == 0 ? 1 : 0))
        complain(kExitRankLost,
                 fmt::format("rank {} ({}) has died or does not answer; it simulated {} of the slice, "
                             "which has ended with it",
                             rank, all[rank].where(), chips_of(rank, static_cast<unsigned>(all.size()), chips)));
      std::_Exit(kExitRankLost);
    }
  };
  const auto link = ranks::join_mpi(lost, error);
  if (link == nullptr) return complain(kExitCannotStart, "--mpi: " + error);
  own_rank = link->rank();
  all.resize(link->ranks());  // should one die before it has said where it is
  all = ranks::tell_starts(*link, ranks::rank_start(common_options(arguments)));
  if (const std::string why = refusal(all, arguments, chips); !why.empty())
    return own_rank == 0 ? complain(kExitUsage, why) : kExitUsage;
  const int exit_code = serve_chips(arguments, simulated, link->ranks() > 1 ? link.get() : nullptr);
  if (exit_code != 0) link->abort(exit_code);  // it has said why; the others wait for it
  return 0;
}

}  // namespace weft::sim
