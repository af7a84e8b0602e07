// What the files of the C layer share: the handles, and the guard around every call.
#pragma once
#include <pthread.h>

#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>

#include "driver/abi/last_error.hpp"
#include "driver/device/device.hpp"
#include "driver/program/program.hpp"
#include "driver/queue/timeline.hpp"
#include "weft/weft.h"

struct weft_device {
  std::shared_ptr<weft::driver::Device> device;
  bool slice = false;  ///< belongs to one, which closes it
};

struct weft_buffer {
  std::shared_ptr<weft::driver::Device> device;
  std::shared_ptr<weft::driver::Buffer> buffer;
};

struct weft_kernel {
  std::shared_ptr<weft::driver::Device> device;
  std::weak_ptr<const weft::driver::Program> program;
  uint32_t index;
};

struct weft_program {
  std::shared_ptr<weft::driver::Device> device;
  std::shared_ptr<const weft::driver::Program> program;
  std::vector<weft_kernel> kernels;
};

struct weft_queue {
  std::shared_ptr<weft::driver::Device> device;
  std::shared_ptr<weft::driver::Queue> queue;
};

struct weft_semaphore {
  std::shared_ptr<weft::driver::Device> device;
  std::shared_ptr<const weft::driver::Timeline> timeline;
};

struct weft_event {
  std::shared_ptr<weft::driver::Device> device;
  std::shared_ptr<weft::driver::Event> event;
  std::atomic<uint32_t> references{1};  ///< the caller's, and the callback's
};

namespace weft::driver::abi {

/// The number in an enum that a program has handed over: any number, and C++ does not define reading it as one of the
/// enum's names before it is known to be one.
template <typename Enum>
[[nodiscard]] uint32_t number_of(const Enum& value) {
  uint32_t number = 0;
  static_assert(std::is_enum_v<Enum> && sizeof value == sizeof number);
  std::memcpy(&number, &value, sizeof number);
  return number;
}

/// True in a child process of the one that loaded the driver.
bool in_forked_child();

/// Runs a call of the ABI: no exception leaves it, every failure becomes the thread's last error.
template <typename Function>
weft_status guard(Function&& function) noexcept {
  try {
    if (in_forked_child())
      return remember(WEFT_ERROR_INVALID_STATE, "a forked child cannot use the driver of its parent");
    return remember(static_cast<const Status&>(function()));
  } catch (const std::bad_alloc&) {
    return remember(WEFT_ERROR_NO_HOST_MEMORY, "the heap is exhausted");
  } catch (const std::exception& e) {
    return remember(WEFT_ERROR_INTERNAL, e.what());
  } catch (...) {
    return remember(WEFT_ERROR_INTERNAL, "an unknown exception");
  }
}

inline Status null_argument(const char* name) { return failure(WEFT_ERROR_INVALID_ARGUMENT, "'{}' is null", name); }

#define WEFT_REQUIRE(pointer) \
  if ((pointer) == nullptr) return ::weft::driver::abi::null_argument(#pointer)

/// Checks the size field of a structure that the call fills.
template <typename T>
Status check_size(const T* value, const char* name) {
  if (value == nullptr) return null_argument(name);
  if (value->size != sizeof(T))
    return failure(WEFT_ERROR_INVALID_ARGUMENT, "'{}'.size is {}, not {}: set it with WEFT_INIT", name, value->size,
                   sizeof(T));
  return {};
}

/// The caller's options, or defaults (zero) for a null pointer.
template <typename T>
Result<T> options_or_default(const T* options) {
  if (options == nullptr) return T{};
  if (Status s = check_size(options, "options"); !s.ok()) return s;
  return *options;
}

inline WaitLimits wait_limits(const weft_wait_options& options) {
  return {options.deadline_cycles, options.guard_ms != 0 ? options.guard_ms : WaitLimits::kDefaultGuardMs, 0};
}

/// Copies text into a zeroed field of a structure.
template <size_t Count>
void put_text(char (&out)[Count], std::string_view text) {
  const size_t length = std::min(text.size(), Count - 1);
  std::copy_n(text.data(), length, out);
  out[length] = 0;
}

}  // namespace weft::driver::abi
