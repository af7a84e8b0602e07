// What the files of the C layer share: the handles, and the guard around every call.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>

#include "driver/abi/last_error.hpp"
#include "driver/device/device.hpp"
#include "driver/device/program.hpp"
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

/// The former, shorter form of a structure that begins with `size`: its size (0: there is none), and how many bytes of it
/// are fields. What follows those is padding, in which the longer form may have its first new field.
struct FormerForm {
  size_t size = 0;
  size_t field_bytes = 0;
};
/// A structure that grows gets a line of its own.
template <typename T>
inline constexpr FormerForm kFormerForm{};
template <>
inline constexpr FormerForm kFormerForm<weft_wait_options>{24, offsetof(weft_wait_options, until_idle)};
template <>
inline constexpr FormerForm kFormerForm<weft_device_entry>{184, offsetof(weft_device_entry, obstacle)};

/// What no structure of any version reaches: a larger size was not set.
inline constexpr size_t kLargestSize = 4096;

template <typename T>
constexpr bool is_size_of(size_t size) {
  static_assert(kFormerForm<T>.size < sizeof(T) && sizeof(T) <= kLargestSize);
  const bool newer = size > sizeof(T) && size <= kLargestSize && size % alignof(T) == 0;
  return size == sizeof(T) || newer || (kFormerForm<T>.size != 0 && size == kFormerForm<T>.size);
}

/// Checks the size field of a structure. Of what stands behind a structure of this version: unknown_byte().
template <typename T>
Status check_size(const T* value, const char* name) {
  if (value == nullptr) return null_argument(name);
  if (is_size_of<T>(value->size)) return {};
  return failure(WEFT_ERROR_INVALID_ARGUMENT, "'{}'.size is {}, not {}: set it with WEFT_INIT", name, value->size,
                 sizeof(T));
}

/// Bytes of a structure of this size that are fields which this version knows. The size is right.
template <typename T>
constexpr size_t common_bytes(size_t size) {
  return size < sizeof(T) ? kFormerForm<T>.field_bytes : sizeof(T);
}

/// The first byte that is set of those that this version does not know; 0: none. The size is right.
template <typename T>
size_t unknown_byte(const T& value) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&value);
  for (size_t at = sizeof(T); at < value.size; at++) {
    if (bytes[at] != 0) return at;
  }
  return 0;
}

/// A caller's structure as this version knows it: with zeros for what an older form does not have.
template <typename T>
Result<T> taken(const T* value, const char* name) {
  if (Status s = check_size(value, name); !s.ok()) return s;
  if (const size_t at = unknown_byte(*value); at != 0)
    return failure(WEFT_ERROR_UNSUPPORTED,
                   "byte {} of '{}' is set, of which this library knows {}: it is older than the program's weft.h", at,
                   name, sizeof(T));
  T known{};
  std::memcpy(static_cast<void*>(&known), value, common_bytes<T>(value->size));
  known.size = sizeof(T);
  return known;
}

/// Fills a caller's structure, of whichever version; its size stays.
template <typename T>
void give(const T& from, T* to) {
  const size_t size = to->size;
  std::memcpy(static_cast<void*>(to), &from, common_bytes<T>(size));
  if (size > sizeof(T)) std::memset(reinterpret_cast<unsigned char*>(to) + sizeof(T), 0, size - sizeof(T));
  to->size = size;
}

/// The caller's options, or defaults (zero) for a null pointer.
template <typename T>
Result<T> options_or_default(const T* options) {
  if (options == nullptr) return T{};
  return taken(options, "options");
}

/// The caller's limits of a wait, or defaults for a null pointer.
inline Result<WaitLimits> wait_limits(const weft_wait_options* options) {
  const auto chosen = options_or_default(options);
  if (!chosen.ok()) return chosen.status();
  WaitLimits limits;
  limits.deadline_cycles = chosen.value().deadline_cycles;
  limits.guard_ms = chosen.value().guard_ms;
  limits.until_idle = chosen.value().until_idle != 0;
  limits.wall_ms = chosen.value().timeout_ms;
  return limits;
}

/// Copies text into a zeroed field of a structure.
template <size_t Count>
void put_text(char (&out)[Count], std::string_view text) {
  const size_t length = std::min(text.size(), Count - 1);
  std::copy_n(text.begin(), length, out);
  out[length] = 0;
}

}  // namespace weft::driver::abi
