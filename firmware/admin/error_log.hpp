/// What the device itself remembers of a function's errors: GET_LOG tells it whatever became of the rings in host
/// memory.
#pragma once
#include <stdint.h>

#include "firmware/status.hpp"
#include "weft/spec/spec.h"

namespace weft::fw {

struct Function;

struct State;

inline constexpr uint32_t kErrorCodes = WEFT_ERROR_INTERNAL + 1;
static_assert(kErrorCodes <= WEFT_LIMIT_ERROR_LOG_ENTRIES);

/// All zero: no errors. Of each code: how often it came, and the newest.
struct ErrorLog {
  uint64_t cycle[kErrorCodes];
  uint32_t count[kErrorCodes];
  uint32_t tag[kErrorCodes];
  uint16_t command_id[kErrorCodes];
  uint8_t queue_id[kErrorCodes];
  uint32_t halted;   ///< times that a queue was halted
  uint32_t unknown;  ///< errors of a code that has no name
  uint64_t failed;   ///< commands
};

/// Of a command that ended with an error. A queue that was halted has command id and tag 0.
struct ErrorPlace {
  uint64_t cycle;
  uint32_t tag;
  uint16_t command_id;
  uint16_t queue_id;
};

/// Counts by code. `failed` and `halted` are the caller's.
void count_error(ErrorLog& log, weft_error error, const ErrorPlace& place);

/// What the log knows of a code below kErrorCodes, as GET_LOG tells it.
inline weft_error_log_entry error_log_entry(const ErrorLog& log, uint32_t error) {
  weft_error_log_entry entry{};
  entry.count = log.count[error];
  entry.cycle = log.cycle[error];
  entry.tag = log.tag[error];
  entry.command_id = log.command_id[error];
  entry.queue_id = log.queue_id[error];
  return entry;
}

/// GET_LOG: an error_log and its entries. Uses state.scratch.
Status get_log(State& state, const Function& function, const weft_submission_entry& e);

}  // namespace weft::fw
