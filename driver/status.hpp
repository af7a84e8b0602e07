// Status and Result: how every function of the driver says that it failed, and with what details.
#pragma once
#include <fmt/format.h>

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "weft/spec/spec.h"

namespace weft::driver {

/// What is known about a failure besides its code. Fields that do not apply are zero.
struct Detail {
  std::string message;
  uint32_t queue = 0;       ///< queue id
  uint32_t command_id = 0;  ///< of the submission entry
  uint32_t tag = 0;         ///< the caller's
  uint64_t cycle = 0;       ///< device cycle
  uint32_t fault = 0;       ///< weft_fault
  uint32_t fault_unit = 0;
  uint32_t fault_queue = 0;
  uint32_t fault_tag = 0;
  uint64_t fault_address = 0;
  std::string report_path;  ///< hang report; empty: none
};

/// An error code with details, or OK. Copies share the details, which never change: any thread may read them.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(weft_error code, std::string message) : code_(code), detail_(make(std::move(message))) {}
  Status(weft_error code, Detail detail) : code_(code), detail_(std::make_shared<const Detail>(std::move(detail))) {}

  /// An error whose words there is no memory for. Allocates nothing.
  static Status without_words(weft_error code) noexcept {
    Status status;
    status.code_ = code;
    status.detail_ = no_words_;
    return status;
  }

  bool ok() const { return code_ == WEFT_ERROR_OK; }
  weft_error code() const { return code_; }
  /// Never called on an OK status.
  const Detail& detail() const { return *detail_; }
  const std::string& message() const { return detail_->message; }

 private:
  static std::shared_ptr<const Detail> make(std::string message) {
    Detail detail;
    detail.message = std::move(message);
    return std::make_shared<const Detail>(std::move(detail));
  }

  static const std::shared_ptr<const Detail> no_words_;  ///< made when the driver is loaded
  weft_error code_ = WEFT_ERROR_OK;
  std::shared_ptr<const Detail> detail_;
};

inline const std::shared_ptr<const Detail> Status::no_words_ = Status::make("the heap is exhausted");

/// Does what nobody may miss (a line of a log, a report): without memory for it, it is left out.
template <typename Function>
void best_effort(Function&& function) noexcept {
  try {
    function();
  } catch (const std::bad_alloc&) {
  }
}

/// Status with formatted text.
template <typename... Args>
Status failure(weft_error code, fmt::format_string<Args...> text, Args&&... args) {
  return Status(code, fmt::format(text, std::forward<Args>(args)...));
}

/// A value, or why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {}

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() { return *value_; }
  const T& value() const { return *value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace weft::driver
