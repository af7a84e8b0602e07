/// Functions of the framework's program, which callbacks of a compiled program name by numbers.
#pragma once
#include <cstdint>
#include <string>

#include "host/compiler/reference/callbacks.hpp"
#include "host/compiler/result.hpp"

extern "C" {
/// What the program's own language gives, with C's calling convention. Any thread.
struct weft_pjrt_callbacks {
  /// Reads the operands and fills the results, whose types it knows from the number; the bytes of both are dense. Not 0:
  /// it has failed, and `message`, of `size` bytes with its end, says why.
  int (*call)(uint64_t number, const void* const* operands, void* const* results, char* message, size_t size);
  /// A program that names the function is there (+1), or no longer (-1). Not 0: there is no such function.
  int (*hold)(uint64_t number, int change);
};
/// `callbacks` is copied; null: no more calls are made, and those under way have ended.
__attribute__((visibility("default"))) void weft_pjrt_set_callbacks(const weft_pjrt_callbacks* callbacks);
}

namespace weft::pjrt {

/// Keeps a function while a program names it.
class HeldCallback {
 public:
  /// INVALID_ARGUMENT: the process has no such function.
  [[nodiscard]] static Result<HeldCallback> hold(int64_t number);
  HeldCallback(HeldCallback&& other) noexcept;
  HeldCallback& operator=(HeldCallback&&) = delete;
  ~HeldCallback();

 private:
  explicit HeldCallback(uint64_t number) : number_(number), held_(true) {}
  uint64_t number_;
  bool held_;
};

/// Calls the functions that are set.
[[nodiscard]] compiler::reference::Callbacks& callbacks();
/// This thread is in one of them.
[[nodiscard]] bool in_callback();

}  // namespace weft::pjrt
