/// What the device itself remembers of a function's errors: GET_LOG tells it whatever became of the rings in host
/// memory.
#pragma once
#include <stdint.h>

#include "firmware/status.hpp"
#include "weft/spec/spec.h"

namespace weft::fw {

struct Function;

/// All zero: no errors.
struct ErrorLog {
  weft_error_log_entry entries[WEFT_LIMIT_ERROR_LOG_ENTRIES];  ///< by error code
  uint64_t failed;                                             ///< commands
  uint32_t halted;                                             ///< times that a queue was halted
  uint32_t unknown;                                            ///< errors of a code beyond the entries
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

/// GET_LOG: an error_log and its entries.
Status get_log(const Function& function, const weft_submission_entry& e);

}  // namespace weft::fw
