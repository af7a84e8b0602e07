/// What spec/errors.toml and spec/faults.toml say of a code: who caused it, how far it reaches, whether a retry may
/// help.
#pragma once
#include <stdint.h>

#include "weft/spec/spec.h"

namespace weft::fw {

/// Class field of a completion's status.
weft_error_class error_class(weft_error error);

/// The same call may succeed later.
bool error_retryable(weft_error error);

/// More than one command is lost: the scope is a queue or the device.
bool error_beyond_command(weft_error error);

/// Error of the C ABI for a fault of the core; INTERNAL for a code that is not named.
weft_error fault_error(uint32_t fault);

/// Status word of a completion: phase, class, code, retryable, more information.
uint32_t completion_status(weft_error error, uint32_t phase, bool more_information);

}  // namespace weft::fw
