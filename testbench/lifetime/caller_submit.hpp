/// The one way to submit, for caller.hpp.
#pragma once
#include "testbench/lifetime/caller.hpp"

namespace weft::lifetime {

/// "Results are written on success, and to a null pointer if the call failed and the result is a handle."
template <typename Object>
void Caller::judge_handle(Call kind, weft_status status, const Object* handle) {
  if ((status == WEFT_ERROR_OK) != (handle != nullptr))
    world_.fail(std::string(name_of(kind)) + " returned " + weft_status_name(status) +
                (handle != nullptr ? " and left a handle" : " and no handle"));
}

/// What a handle's place holds before the call.
template <typename Object>
Object* no_handle() {
  return reinterpret_cast<Object*>(uintptr_t{0x10});
}

template <typename Function>
weft_status Caller::submit(Call kind, Queue& queue, uint32_t commands, const std::shared_ptr<Event>& event,
                           Function&& function, const Child* also) {
  Device& device = *queue.device;
  const Before before(device);
  const uint32_t queue_reset = queue.reset.mark();
  if (event != nullptr)
    event->marks = {device.close.mark(), device.reset.mark(), device.engine_reset.mark(), queue.cancel.mark(),
                    queue_reset};
  queue.submitted += commands;
  auto* handle = no_handle<weft_event>();
  const weft_status status = call(kind, [&] { return function(event != nullptr ? &handle : nullptr); });
  judge(kind, status, allowed_submission(before, queue, queue_reset, also));
  if (event == nullptr) return status;
  judge_handle(kind, status, handle);
  if (status != WEFT_ERROR_OK) return status;
  event->handle = handle;
  event->born();
  const std::lock_guard lock(device.mutex);
  device.events.push_back(event);
  return status;
}

}  // namespace weft::lifetime
