/// What ranks tell each other when they meet.
#pragma once
#include <algorithm>
#include <cstdint>

namespace weft::chip {

/// Of one rank, or of all of them together.
struct RankState {
  // Simulated time
  uint64_t next_fs = UINT64_MAX;  ///< the next thing that happens; UINT64_MAX: nothing is going to happen
  uint64_t time_fs = 0;           ///< where time stands
  uint64_t alarm = 0;             ///< cycle of the first armed wait; 0: none is armed
  bool awake = false;             ///< firmware works
  bool holds = false;             ///< a host holds time
  bool asks_to_hold = false;      ///< a host waits for its hold
  bool leaving = false;           ///< what a former client left is still to be cleared away
  uint64_t work_ns = 0;           ///< processor time that the last window took, in all ranks
  uint64_t longest_ns = 0;        ///< in the rank where it took most
  // The program
  bool enough = false;       ///< the wall clock says that sockets are to be looked at
  bool stops = false;        ///< the program has been asked to end
  bool observes = false;     ///< an observer has asked something
  bool deserted = false;     ///< all clients that the program was started for have left
  uint32_t tenants = 0;      ///< 0, 1, or 2 for several: processes that are clients
  uint32_t tenant = 0;       ///< the process, if there is one
  uint32_t tenant_user = 0;  ///< and its user

  [[nodiscard]] bool held() const { return holds && !leaving; }
  [[nodiscard]] bool runs() const { return next_fs != UINT64_MAX && !held(); }

  /// Adds another rank's.
  void join(const RankState& other) {
    next_fs = std::min(next_fs, other.next_fs);
    time_fs = std::max(time_fs, other.time_fs);
    alarm = alarm == 0 || other.alarm == 0 ? std::max(alarm, other.alarm) : std::min(alarm, other.alarm);
    awake |= other.awake;
    holds |= other.holds;
    asks_to_hold |= other.asks_to_hold;
    leaving |= other.leaving;
    work_ns += other.work_ns;
    longest_ns = std::max(longest_ns, other.longest_ns);
    enough |= other.enough;
    stops |= other.stops;
    observes |= other.observes;
    deserted &= other.deserted;
    const bool same = other.tenant == tenant && other.tenant_user == tenant_user;
    if (tenants == 0) {
      tenants = other.tenants;
      tenant = other.tenant;
      tenant_user = other.tenant_user;
    } else if (other.tenants > 1 || (other.tenants == 1 && !same)) {
      tenants = 2;
    }
  }
  friend bool operator==(const RankState&, const RankState&) = default;
};

/// How time was spent in windows. With an exchange that costs nothing they would take `longest_ns`.
struct RankMeter {
  uint64_t windows = 0;
  uint64_t work_ns = 0;     ///< of processors, in all ranks
  uint64_t longest_ns = 0;  ///< in each window in the rank where it took most
  uint64_t wall_ns =
      0;  ///< from the beginning of the first window between two looks at the sockets to the end of the last
};

}  // namespace weft::chip
