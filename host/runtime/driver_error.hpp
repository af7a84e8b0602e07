/// The driver's last error as ours: message, and the hint behind it.
#pragma once
#include <fmt/format.h>

#include <string>

#include "host/compiler/result.hpp"
#include "weft/weft.h"

namespace weft::runtime {

[[nodiscard]] inline Error driver_error(weft_status status) {
  weft_error_info info = WEFT_INIT(weft_error_info);
  std::string message = weft_status_name(status);
  if (weft_last_error(&info) == WEFT_ERROR_OK && info.code == status) {
    message += ": ";
    message += info.message;
    if (info.hint[0] != 0) message += fmt::format(" ({})", info.hint);
  }
  return {status, message};
}

}  // namespace weft::runtime
