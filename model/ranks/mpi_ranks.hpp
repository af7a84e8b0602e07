/// Ranks that mpirun has started, on one machine or on several.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "model/chip/rank_link.hpp"

namespace weft::ranks {

/// The link of this process. Its end is MPI's (MPI_Finalize), for which all ranks have to come.
class MpiLink : public chip::RankLink {
 public:
  /// Ends this process and all other ranks: for a rank that cannot go on while the others wait for it.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

/// Hears again and again, in a rank that waits for `rank`, that all of them have been asked to end, since `waited`, and
/// that this one has not come: as when it has died. Ends the process if it has.
using RankLost = std::function<void(unsigned rank, std::chrono::steady_clock::duration waited)>;

/// Joins the ranks that mpirun has started with this one; a process that mpirun has not started is the only rank.
/// nullptr and a message in `error`: there is no MPI here. Once in a process, in its only thread, before it handles
/// signals. From then on the process ends with the one that has started it.
///
/// MPI is in a module beside the program (weft-mpi.so), or in the library folder of the prefix that it is installed
/// in: a program that does not ask for MPI neither loads it nor needs it.
[[nodiscard]] std::unique_ptr<MpiLink> join_mpi(RankLost lost, std::string& error);

/// What the module offers under the name kMpiEntry: join_mpi() once it is loaded.
using MpiEntry = MpiLink* (*)(RankLost lost);
inline constexpr const char* kMpiEntry = "weft_mpi_join";

}  // namespace weft::ranks
