/// The result of a host operation: a value, or an error with a code of the C ABI and a message for a person.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "weft/spec/spec.h"

namespace weft {

/// What went wrong, where, with which values, and what to do about it.
struct Error {
  weft_error code = WEFT_ERROR_INTERNAL;
  std::string message;
};

/// A value or an Error. Must be used; value() without ok() is a defect of the caller.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT: a value is a result
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: an error is a result
  [[nodiscard]] bool ok() const { return value_.has_value(); }
  [[nodiscard]] T& value() { return value_.value(); }
  [[nodiscard]] const T& value() const { return value_.value(); }
  [[nodiscard]] const Error& error() const { return error_.value(); }

 private:
  std::optional<T> value_;
  std::optional<Error> error_;
};

struct Ok {};
using Status = Result<Ok>;

}  // namespace weft
