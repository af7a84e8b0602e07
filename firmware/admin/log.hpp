/// The log ring in host memory: records of 32 bytes with ids that the host turns into text.
#pragma once
#include <stdint.h>

#include "weft/spec/spec.h"

namespace weft::fw {

struct Function;

enum class LogLevel : uint32_t { kError = 0, kWarning = 1, kInfo = 2, kDebug = 3 };

/// All zero: no log. The ring overwrites its oldest record; `sequence` lets the host see a gap.
struct Log {
  uint64_t iova;   ///< 0: none
  LogLevel level;  ///< records above it are dropped
  uint32_t sequence;
  uint32_t lost;  ///< records that could not be written
  bool off;       ///< a bus error has switched it off
};

/// Writes a record into the function's ring if `level` is wanted. A bus error switches the log off, which is news:
/// logging never ends a command.
void log_event(Function& function, LogLevel level, weft_log_event event, uint64_t arg0 = 0, uint64_t arg1 = 0);

}  // namespace weft::fw
