/// Errors and events as the framework holds them, and what stands behind an event.
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "host/compiler/result.hpp"
#include "host/pjrt/c_api.hpp"

namespace weft::pjrt {

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

/// The framework's code for an error of ours.
[[nodiscard]] ErrorCode code_of(weft_error code);
/// The framework owns it.
[[nodiscard]] Error* made(ErrorCode code, std::string message);
[[nodiscard]] Error* made(const weft::Error& error);

/// Work that ends once, with or without an error. Any thread; wait() blocks.
class Completion {
 public:
  /// An error: the work has failed.
  void finish(std::optional<weft::Error> error = std::nullopt);
  [[nodiscard]] bool done() const;
  /// The error with which it ended.
  [[nodiscard]] std::optional<weft::Error> wait() const;
  /// Calls it when the work has ended: at once in this thread, or later in the one that finishes it.
  void when_done(std::function<void(const std::optional<weft::Error>&)> callback);

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool done_ = false;
  std::optional<weft::Error> error_;
  std::vector<std::function<void(const std::optional<weft::Error>&)>> callbacks_;
};
using CompletionPtr = std::shared_ptr<Completion>;

struct Event {
  CompletionPtr completion;
};
/// Of work that has ended.
[[nodiscard]] Event* ready_event();

}  // namespace weft::pjrt
