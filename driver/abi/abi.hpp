// What the files of the C layer share: the handles, and the guard around every call.
#pragma once
#include <atomic>
#include <cstddef>
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
  /// Cycles that weft_device_set_watchdog() sets for 0, if not the firmware's own: of a slice whose chips are shared.
  uint64_t watchdog_default = 0;
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
  weft::driver::TimelineHandle timeline;
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

/// The handle belongs to a process that this one is a forked child of. Anything else that is not null is no handle.
inline bool inherited(...) { return false; }
template <typename Handle>
bool inherited_handle(const Handle* handle) {
  return handle != nullptr && handle->device != nullptr && handle->device->inherited();
}
/// SET_TIMEOUT of the device, 0: its default.
Status set_watchdog(weft_device& device, uint64_t cycles);

inline bool inherited(const weft_device* handle) { return inherited_handle(handle); }
inline bool inherited(const weft_buffer* handle) { return inherited_handle(handle); }
inline bool inherited(const weft_kernel* handle) { return inherited_handle(handle); }
inline bool inherited(const weft_program* handle) { return inherited_handle(handle); }
inline bool inherited(const weft_queue* handle) { return inherited_handle(handle); }
inline bool inherited(const weft_semaphore* handle) { return inherited_handle(handle); }
inline bool inherited(const weft_event* handle) { return inherited_handle(handle); }

/// For calls that give a handle back: an inherited one is put aside. False: it is this process's own.
inline bool put_aside(const void* handle, bool is_inherited) noexcept {
  if (is_inherited) best_effort([&] { abandon(handle); });
  return is_inherited;
}

/// Runs a call of the ABI: no exception leaves it, every failure becomes the thread's last error.
template <typename Function>
weft_status guard(Function&& function) noexcept {
  try {
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

inline Status inherited_argument(const char* name) {
  return failure(WEFT_ERROR_INVALID_STATE, "'{}' is of the process that forked this one, which cannot use it", name);
}

/// The pointer is not null, and if it is a handle, this process's own.
#define WEFT_REQUIRE(pointer)                                                    \
  if ((pointer) == nullptr) return ::weft::driver::abi::null_argument(#pointer); \
  if (::weft::driver::abi::inherited(pointer)) return ::weft::driver::abi::inherited_argument(#pointer)

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

/// The caller's options of a wait, or defaults for a null pointer. weft_wait_options has grown: its first form, which
/// ended behind guard_ms, is the same with zeros in what came later.
inline Result<WaitLimits> wait_limits(const weft_wait_options* options) {
  WaitLimits limits;
  if (options == nullptr) return limits;
  struct FirstForm {
    size_t size;
    uint64_t deadline_cycles;
    uint32_t guard_ms;
  };
  static_assert(sizeof(FirstForm) < sizeof(weft_wait_options) &&
                offsetof(FirstForm, guard_ms) == offsetof(weft_wait_options, guard_ms));
  const bool first_form = options->size == sizeof(FirstForm);
  if (!first_form) {
    if (Status s = check_size(options, "options"); !s.ok()) return s;
    limits.until_idle = options->until_idle != 0;
    limits.wall_ms = options->timeout_ms;
  }
  limits.deadline_cycles = options->deadline_cycles;
  limits.guard_ms = options->guard_ms;
  return limits;
}

/// Copies text into a zeroed field of a structure.
template <size_t Count>
void put_text(char (&out)[Count], std::string_view text) {
  const size_t length = std::min(text.size(), Count - 1);
  std::copy_n(text.data(), length, out);
  out[length] = 0;
}

}  // namespace weft::driver::abi
