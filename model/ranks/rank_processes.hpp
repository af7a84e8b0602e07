/// Processes of which none goes on without the others.
#pragma once
#include <functional>
#include <string>

namespace weft::ranks {

/// How a rank that ended badly did so.
struct RankEnd {
  unsigned rank;
  std::string how;  ///< "rank 1 (process 4711 on host) was ended by signal 9 (Killed)"
  int exit_code;    ///< of the process; -1: a signal
};

/// Forks `ranks` processes that each call `body` with their number and end with what it returns, and waits for them.
/// SIGINT and SIGTERM are passed on to them. When one of them ends badly, `report` hears of it at once, and the others
/// are killed; they are also when this process is. Returns 0 when all have ended with 0, else what `report` has
/// returned.
/// `begun`: called here once all of them run, to let go of what is theirs. Before threads are begun, in one thread.
[[nodiscard]] int run_ranks(unsigned ranks, const std::function<int(unsigned rank)>& body,
                            const std::function<void()>& begun, const std::function<int(const RankEnd&)>& report);

}  // namespace weft::ranks
