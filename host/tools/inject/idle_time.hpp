/// How long nothing has happened here, whatever else the machine does.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>

namespace weft::tools {

/// Wall-clock time in which no thread of this process or of its children (simulators that the driver has started) ran
/// or waited for a processor. On a busy machine work takes longer, but does not stand still; a wait for something that
/// never comes does. Where the kernel does not tell (schedstat), all time is idle time.
///
/// Work of a thread that has ended since the last look is not seen: its time counts as idle.
class IdleTime {
 public:
  IdleTime() { (void)working(); }
  /// Since construction. To be asked at least once a minute or so.
  [[nodiscard]] std::chrono::nanoseconds elapsed();

 private:
  /// Nanoseconds of work since the last call, of all threads.
  uint64_t working();

  std::map<uint64_t, uint64_t> threads_;  // id -> nanoseconds that it has run or waited
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::chrono::nanoseconds idle_{0};
};

}  // namespace weft::tools
