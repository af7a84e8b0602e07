/// Result of a check or a step: an error of the C ABI and the two details that its fault record carries.
#pragma once
#include <stdint.h>

#include "weft/spec/spec.h"

namespace weft::fw {

/// `detail0`, `detail1`: for a refused field its byte offset and the value found; otherwise as the error says.
struct [[nodiscard]] Status {
  weft_error error;
  uint64_t detail0;
  uint64_t detail1;

  constexpr bool ok() const { return error == WEFT_ERROR_OK; }
};

inline constexpr Status kOk{WEFT_ERROR_OK, 0, 0};

constexpr Status refused(weft_error error, uint64_t offset, uint64_t value) { return Status{error, offset, value}; }

}  // namespace weft::fw
