/// What the C calls above the driver share: errors of Results as weft_error_info, and no exception across the boundary.
#pragma once
#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "host/compiler/result.hpp"
#include "weft/weft.h"

namespace weft::runtime {

/// Tells the caller, and returns the code. What the driver knows of its last error goes along, if it is this one.
inline weft_status tell(const Error& error, weft_error_info* out) noexcept {
  if (out == nullptr) return error.code;
  weft_error_info info = WEFT_INIT(weft_error_info);
  const bool known = weft_last_error(&info) == WEFT_ERROR_OK && info.code == error.code && info.message[0] != 0 &&
                     error.message.find(info.message) != std::string::npos;
  if (!known) info = WEFT_INIT(weft_error_info);
  info.code = error.code;
  if (!known) info.origin = WEFT_ERROR_CLASS_HOST;
  const size_t length = std::min(error.message.size(), sizeof info.message - 1);
  std::memcpy(info.message, error.message.data(), length);
  info.message[length] = 0;
  *out = info;
  return error.code;
}

/// Runs a call that throws or answers with a Status.
template <typename Call>
weft_status guarded(weft_error_info* error, Call&& call) noexcept {
  if (error != nullptr && error->size != sizeof *error) return WEFT_ERROR_INVALID_ARGUMENT;
  try {
    const Status status = std::forward<Call>(call)();
    return status.ok() ? WEFT_ERROR_OK : tell(status.error(), error);
  } catch (const std::bad_alloc&) {
    return WEFT_ERROR_NO_HOST_MEMORY;
  } catch (...) {
    return WEFT_ERROR_INTERNAL;
  }
}

}  // namespace weft::runtime
