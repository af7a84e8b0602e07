/// The result of a host operation: a value, or an error with a code of the C ABI and a message for a person.
#pragma once
#include <string>
#include <utility>
#include <variant>

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
  Result(T value) : state_(std::move(value)) {}      // NOLINT: a value is a result
  Result(Error error) : state_(std::move(error)) {}  // NOLINT: an error is a result
  [[nodiscard]] bool ok() const { return std::holds_alternative<T>(state_); }
  [[nodiscard]] T& value() { return std::get<T>(state_); }
  [[nodiscard]] const T& value() const { return std::get<T>(state_); }
  [[nodiscard]] const Error& error() const { return std::get<Error>(state_); }

 private:
  std::variant<T, Error> state_;
};

struct Ok {};
using Status = Result<Ok>;

}  // namespace weft
