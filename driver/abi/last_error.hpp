// The last error of each thread, as weft_last_error gives it out.
#pragma once
#include "driver/status.hpp"
#include "weft/weft.h"

namespace weft::driver {

/// Remembers a failure for the calling thread and returns its code; OK leaves the last error as it is.
weft_status remember(const Status& status);

/// The same for a failure that has no Status, with static text; does not allocate.
weft_status remember(weft_error code, const char* message);

/// What a status tells, in the form of the C ABI. `info.size` stays.
void describe(const Status& status, weft_error_info& info);

/// Copies the calling thread's last error. `info.size` stays.
void copy_last_error(weft_error_info& info);

}  // namespace weft::driver
