// Codes of errors, and completions.
#include "host/pjrt/error.hpp"

#include <utility>

namespace weft::pjrt {

ErrorCode code_of(weft_error code) {
  switch (code) {
    case WEFT_ERROR_INVALID_ARGUMENT:
    case WEFT_ERROR_BAD_DESCRIPTOR:
    case WEFT_ERROR_EXECUTABLE_INVALID:
      return ErrorCode::kInvalidArgument;
    case WEFT_ERROR_INVALID_STATE:
    case WEFT_ERROR_ABI_MISMATCH:
    case WEFT_ERROR_DEPENDENCY_FAILED:
      return ErrorCode::kFailedPrecondition;
    case WEFT_ERROR_UNSUPPORTED:
      return ErrorCode::kUnimplemented;
    case WEFT_ERROR_NO_HOST_MEMORY:
    case WEFT_ERROR_NO_DEVICE_MEMORY:
    case WEFT_ERROR_QUEUE_FULL:
      return ErrorCode::kResourceExhausted;
    case WEFT_ERROR_BUSY:
    case WEFT_ERROR_DEVICE_LOST:
    case WEFT_ERROR_BOOT_FAILED:
    case WEFT_ERROR_ICI_FAULT:
      return ErrorCode::kUnavailable;
    case WEFT_ERROR_TIMEOUT_WAIT:
    case WEFT_ERROR_BUDGET_EXCEEDED:
    case WEFT_ERROR_DEVICE_HUNG:
      return ErrorCode::kDeadlineExceeded;
    case WEFT_ERROR_CANCELLED:
      return ErrorCode::kCancelled;
    case WEFT_ERROR_ABORTED_BY_RESET:
      return ErrorCode::kAborted;
    case WEFT_ERROR_GOLDEN_MISMATCH:
      return ErrorCode::kDataLoss;
    case WEFT_ERROR_OK:
    case WEFT_ERROR_BAD_DOORBELL:
    case WEFT_ERROR_DMA_FAULT:
    case WEFT_ERROR_COMPUTE_FAULT:
    case WEFT_ERROR_SEMAPHORE_FAULT:
    case WEFT_ERROR_FIRMWARE_PANIC:
    case WEFT_ERROR_INTERNAL:
      break;
  }
  return ErrorCode::kInternal;
}

Error* made(ErrorCode code, std::string message) { return new Error{code, std::move(message)}; }
Error* made(const weft::Error& error) { return made(code_of(error.code), error.message); }

void Completion::finish(std::optional<weft::Error> error) {
  std::vector<std::function<void(const std::optional<weft::Error>&)>> callbacks;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
    error_ = std::move(error);
    callbacks = std::exchange(callbacks_, {});
  }
  changed_.notify_all();
  for (const auto& callback : callbacks) callback(error_);  // nothing changes error_ any more
}

bool Completion::done() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

std::optional<weft::Error> Completion::wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done_; });
  return error_;
}

void Completion::when_done(std::function<void(const std::optional<weft::Error>&)> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (!done_) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback(error_);
}

Event* ready_event() {
  auto completion = std::make_shared<Completion>();
  completion->finish();
  return new Event{std::move(completion)};
}

}  // namespace weft::pjrt
