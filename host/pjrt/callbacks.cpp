// From a chip's thread into the framework's program.
#include "host/pjrt/callbacks.hpp"

#include <fmt/format.h>

#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "host/compiler/ir/refusal.hpp"

namespace weft::pjrt {
namespace {

thread_local int depth = 0;  // of callbacks that this thread is in

/// The functions, as long as the program's language is able to run them.
class Functions {
 public:
  /// Behind it none of the old ones runs.
  void set(std::optional<weft_pjrt_callbacks> functions) {
    std::unique_lock lock(mutex_);
    functions_ = functions;
    changed_.wait(lock, [&] { return functions_.has_value() || running_ == 0; });
  }

  /// What `use` returns; nothing: there are no functions. No lock is held meanwhile: the language has its own.
  template <typename Use>
  std::optional<int> with(Use use) {
    std::optional<weft_pjrt_callbacks> functions;
    {
      const std::lock_guard lock(mutex_);
      if (!functions_) return std::nullopt;
      functions = functions_;
      running_++;
    }
    const int result = use(*functions);
    {
      const std::lock_guard lock(mutex_);
      running_--;
    }
    changed_.notify_all();
    return result;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<weft_pjrt_callbacks> functions_;
  size_t running_ = 0;
};

/// Never destroyed: programs may be, behind everything else.
Functions& functions() {
  static auto* all = new Functions;
  return *all;
}

class Calls : public compiler::reference::Callbacks {
 public:
  void call(const compiler::ir::Op& callback, const std::vector<compiler::ir::TensorPtr>& operands,
            const std::vector<std::shared_ptr<compiler::ir::Tensor>>& results) override {
    std::vector<const void*> read;
    std::vector<void*> written;
    for (const auto& operand : operands) read.push_back(operand->data.data());
    for (const auto& result : results) written.push_back(result->data.data());
    std::array<char, 4096> message{};
    depth++;
    const auto done = functions().with([&](const weft_pjrt_callbacks& all) {
      return all.call(static_cast<uint64_t>(callback.integer("number")), read.data(), written.data(), message.data(),
                      message.size());
    });
    depth--;
    const std::string place = callback.origin.node.empty() ? "" : fmt::format(" ({})", callback.origin.node);
    if (!done) ir_failed(WEFT_ERROR_CANCELLED, fmt::format("callback{}: the program ends", place));
    message.back() = 0;
    if (*done != 0) ir_failed(WEFT_ERROR_INTERNAL, fmt::format("callback{}: {}", place, message.data()));
  }

 private:
  [[noreturn]] static void ir_failed(weft_error code, std::string message) {
    throw compiler::ir::Refusal{{code, std::move(message)}};
  }
};

}  // namespace

compiler::reference::Callbacks& callbacks() {
  static Calls calls;
  return calls;
}

bool in_callback() { return depth != 0; }

Result<HeldCallback> HeldCallback::hold(int64_t number) {
  const auto done =
      functions().with([&](const weft_pjrt_callbacks& all) { return all.hold(static_cast<uint64_t>(number), 1); });
  if (!done || *done != 0)
    return weft::Error{WEFT_ERROR_INVALID_ARGUMENT,
                       fmt::format("the program calls function {} of another process; compile it again", number)};
  return HeldCallback(static_cast<uint64_t>(number));
}

HeldCallback::HeldCallback(HeldCallback&& other) noexcept
    : number_(other.number_), held_(std::exchange(other.held_, false)) {}

HeldCallback::~HeldCallback() {
  if (held_) (void)functions().with([&](const weft_pjrt_callbacks& all) { return all.hold(number_, -1); });
}

}  // namespace weft::pjrt

void weft_pjrt_set_callbacks(const weft_pjrt_callbacks* callbacks) {
  weft::pjrt::functions().set(callbacks == nullptr ? std::nullopt : std::optional(*callbacks));
}
