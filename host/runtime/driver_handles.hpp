/// Handles of weft.h that release themselves.
#pragma once
#include <memory>

#include "weft/weft.h"

namespace weft::runtime {

struct ReleaseHandle {
  void operator()(weft_buffer* buffer) const { weft_buffer_release(buffer); }
  void operator()(weft_program* program) const { weft_program_release(program); }
  void operator()(weft_event* event) const { weft_event_release(event); }
  void operator()(weft_queue* queue) const { (void)!weft_queue_release(queue); }
  void operator()(weft_semaphore* semaphore) const { weft_semaphore_release(semaphore); }
};
using BufferHandle = std::unique_ptr<weft_buffer, ReleaseHandle>;
using ProgramHandle = std::unique_ptr<weft_program, ReleaseHandle>;
using EventHandle = std::unique_ptr<weft_event, ReleaseHandle>;
using QueueHandle = std::unique_ptr<weft_queue, ReleaseHandle>;
using SemaphoreHandle = std::unique_ptr<weft_semaphore, ReleaseHandle>;

}  // namespace weft::runtime
