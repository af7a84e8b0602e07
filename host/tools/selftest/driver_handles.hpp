/// Buffers and copies of tools, and the driver's words for an error.
#pragma once
#include <string>

#include "host/compiler/result.hpp"
#include "host/runtime/driver_error.hpp"
#include "host/runtime/driver_handles.hpp"
#include "weft/weft.h"

namespace weft::tools {

using runtime::BufferHandle;
using runtime::EventHandle;
using runtime::QueueHandle;
using runtime::SemaphoreHandle;

/// The calling thread's last error of the driver: name, message, hint.
[[nodiscard]] inline std::string driver_words(weft_status status) { return runtime::driver_error(status).message; }

[[nodiscard]] inline Result<BufferHandle> make_buffer(weft_device* device, weft_memory memory, uint64_t bytes) {
  weft_buffer* buffer = nullptr;
  if (const weft_status status = weft_buffer_create(device, memory, bytes, &buffer); status != WEFT_ERROR_OK)
    return Error{status, driver_words(status)};
  return BufferHandle(buffer);
}

/// Where a host buffer lies; null for one in HBM.
[[nodiscard]] inline std::byte* bytes_of(const BufferHandle& buffer) {
  void* pointer = nullptr;
  return weft_buffer_map(buffer.get(), &pointer) == WEFT_ERROR_OK ? static_cast<std::byte*>(pointer) : nullptr;
}

/// Copies and waits.
[[nodiscard]] inline Status copy(weft_queue* queue, const BufferHandle& to, uint64_t to_offset,
                                 const BufferHandle& from, uint64_t from_offset, uint64_t bytes) {
  weft_event* event = nullptr;
  weft_status status = weft_copy(queue, to.get(), to_offset, from.get(), from_offset, bytes, nullptr, &event);
  const EventHandle handle(event);
  if (status == WEFT_ERROR_OK) status = weft_event_wait(event, nullptr);
  if (status != WEFT_ERROR_OK) return Error{status, driver_words(status)};
  return Ok{};
}

}  // namespace weft::tools
