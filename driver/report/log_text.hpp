// Firmware log records in words.
#pragma once
#include <string>

#include "weft/spec/spec.h"

namespace weft::driver {

/// "cycle 1234 info: queue 3 created with 64 entries". Any record is safe.
std::string log_text(const weft_log_record& record);

/// "queue 3 created with 64 entries"
std::string log_event_text(const weft_log_record& record);

}  // namespace weft::driver
