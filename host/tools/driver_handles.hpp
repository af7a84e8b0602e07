/// Handles of weft.h that release themselves, and the driver's words for an error.
#pragma once
#include <memory>
#include <string>

#include "host/compiler/result.hpp"
#include "host/runtime/driver_error.hpp"
#include "weft/weft.h"

namespace weft::tools {

struct ReleaseHandle {
  void operator()(weft_buffer* buffer) const { weft_buffer_release(buffer); }
  void operator()(weft_event* event) const { weft_event_release(event); }
  void operator()(weft_queue* queue) const { (void)!weft_queue_release(queue); }
  void operator()(weft_semaphore* semaphore) const { weft_semaphore_release(semaphore); }
};
using BufferHandle = std::unique_ptr<weft_buffer, ReleaseHandle>;
using EventHandle = std::unique_ptr<weft_event, ReleaseHandle>;
using QueueHandle = std::unique_ptr<weft_queue, ReleaseHandle>;
using SemaphoreHandle = std::unique_ptr<weft_semaphore, ReleaseHandle>;

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
