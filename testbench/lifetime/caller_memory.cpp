// Buffers, and what is copied through them.
#include <fmt/format.h>

#include <algorithm>

#include "testbench/lifetime/transfer.hpp"

namespace weft::lifetime {

std::shared_ptr<Buffer> Caller::make_buffer(const Pinned<Device>& device, weft_memory memory, uint64_t bytes) {
  auto buffer = std::make_shared<Buffer>(device.shared());
  const Before before(*device);
  auto* handle = no_handle<weft_buffer>();
  const weft_status status =
      call(Call::k_buffer_create, [&] { return weft_buffer_create(device->handle, memory, bytes, &handle); });
  judge(Call::k_buffer_create, status, allowed(before, *device, {WEFT_ERROR_OK}));
  judge_handle(Call::k_buffer_create, status, handle);
  if (status != WEFT_ERROR_OK) return nullptr;
  buffer->handle = handle;
  buffer->memory = memory;
  buffer->bytes = bytes;
  buffer->born();
  return buffer;
}

void Caller::release_buffer(Buffer& buffer) {
  call_void(Call::k_buffer_release, [&] { weft_buffer_release(buffer.handle); });
}

void* Caller::map(Buffer& buffer) {
  const Before before(*buffer.device);
  void* pointer = nullptr;
  const weft_status status = call(Call::k_buffer_map, [&] { return weft_buffer_map(buffer.handle, &pointer); });
  Statuses normal{WEFT_ERROR_OK};
  if (buffer.memory == WEFT_MEMORY_HBM) normal = {WEFT_ERROR_INVALID_ARGUMENT};
  judge(Call::k_buffer_map, status, allowed(before, buffer, WithReset::kStays, normal));
  return status == WEFT_ERROR_OK ? pointer : nullptr;
}

void Caller::create_buffer() {
  const auto device = world_.devices.pick(draw_);
  if (!device || world_.buffers.size() > 24) return;
  const auto memory = draw_.one_of({WEFT_MEMORY_HBM, WEFT_MEMORY_HOST});
  if (draw_.once_in(12)) {
    auto* handle = no_handle<weft_buffer>();
    const Before before(*device);
    const weft_status status =
        call(Call::k_buffer_create, [&] { return weft_buffer_create(device->handle, memory, 0, &handle); });
    judge(Call::k_buffer_create, status, allowed(before, *device, {WEFT_ERROR_INVALID_ARGUMENT}), "size 0");
    judge_handle(Call::k_buffer_create, status, handle);
    return;
  }
  if (auto buffer = make_buffer(device, memory, draw_.size(64, 16'384))) world_.buffers.add(std::move(buffer));
}

void Caller::look_at_buffer() {
  const auto buffer = world_.buffers.pick(draw_);
  if (!buffer) return;
  if (draw_.once_in(2)) {
    (void)map(*buffer);
    return;
  }
  const Before before(*buffer->device);
  weft_buffer_info info = WEFT_INIT(weft_buffer_info);
  const weft_status status = call(Call::k_buffer_get_info, [&] { return weft_buffer_get_info(buffer->handle, &info); });
  judge(Call::k_buffer_get_info, status, allowed(before, *buffer, WithReset::kStays, {WEFT_ERROR_OK}));
  if (status == WEFT_ERROR_OK && (info.bytes != buffer->bytes || info.memory != buffer->memory))
    world_.fail(fmt::format("buffer_get_info: {} bytes, not {}", info.bytes, buffer->bytes));
}

void Caller::release_any_buffer() {
  if (const auto buffer = world_.buffers.take(draw_)) release_buffer(*buffer);
}

/// Begins a transfer, or takes one a step further.
void Caller::transfer() {
  if (!transfers_.empty() && (transfers_.size() >= 3 || draw_.once_in(2))) {
    Transfer& t = *transfers_[draw_.below(transfers_.size())];
    advance(t);
    std::erase_if(transfers_, [](const auto& other) { return other->over; });
    return;
  }
  const auto queue = world_.queues.pick(draw_);
  if (!queue) return;
  const Pinned<Device> device(queue->device);
  if (!device) return;
  auto t = std::make_unique<Transfer>();
  t->device = device.shared();
  t->queue = queue.shared();
  t->pattern = static_cast<uint32_t>(draw_.bits()) | 1;
  t->reset_mark = device->reset.mark();
  const uint64_t bytes = 4 * draw_.between(1, draw_.once_in(4) ? 16'384 : 512);
  t->source = make_buffer(device, WEFT_MEMORY_HOST, bytes);
  t->hbm = make_buffer(device, WEFT_MEMORY_HBM, bytes);
  t->target = make_buffer(device, WEFT_MEMORY_HOST, bytes);
  auto* words = t->source != nullptr ? static_cast<uint32_t*>(map(*t->source)) : nullptr;
  if (words != nullptr)
    for (uint64_t i = 0; i < bytes / 4; i++) words[i] = t->pattern + static_cast<uint32_t>(i);
  if (words != nullptr && t->hbm != nullptr && t->target != nullptr) {
    const weft_command_options options = draw_options();
    t->in = new_event(queue.shared(), fmt::format("copy {} to HBM on queue {}", options.tag, queue->id));
    if (submit(Call::k_copy, *queue, 1, t->in, [&](weft_event** out) {
          return weft_copy(queue->handle, t->hbm->handle, 0, t->source->handle, 0, bytes, &options, out);
        }) != WEFT_ERROR_OK)
      t->in = nullptr;
  }
  transfers_.push_back(std::move(t));
}

void Caller::advance(Transfer& t) {
  if (t.in != nullptr && t.out == nullptr &&
      !t.last) {  // "one copy or launch of a queue ends before the next entry starts"
    const Pinned<Queue> queue(t.queue);
    if (queue) {
      const weft_command_options options = draw_options();
      t.out = new_event(queue.shared(), fmt::format("copy {} from HBM on queue {}", options.tag, queue->id));
      const weft_status status = submit(Call::k_copy, *queue, 1, t.out, [&](weft_event** out) {
        return weft_copy(queue->handle, t.target->handle, 0, t.hbm->handle, 0, t.hbm->bytes, &options, out);
      });
      if (status == WEFT_ERROR_OK) {
        if (draw_.once_in(3)) set_callback(*t.out);
        return;
      }
      t.out = nullptr;
      if (status == WEFT_ERROR_QUEUE_FULL) return;
    }
  }
  t.over = true;
  if (t.in != nullptr && t.out != nullptr && await_end(*t.in) && await_end(*t.out) && t.in->seen == WEFT_ERROR_OK &&
      t.out->seen == WEFT_ERROR_OK && !t.device->reset.may_act_since(t.reset_mark)) {
    if (const auto* words = static_cast<const uint32_t*>(map(*t.target))) {
      world_.findings.checked("transfer");
      const uint64_t count = t.target->bytes / 4;
      for (uint64_t i = 0; i < count; i++) {
        if (words[i] == t.pattern + static_cast<uint32_t>(i)) continue;
        world_.fail(fmt::format("{} ended with OK, and word {} of {} is {:#x}, not {:#x}{}", t.out->what, i, count,
                                words[i], t.pattern + static_cast<uint32_t>(i),
                                words[i] == 0x0dd0dd01 ? ": what a launch that has ended wrote" : ""));
        break;
      }
    }
  }
  for (const auto& event : {t.in, t.out}) {
    if (event == nullptr) continue;
    event->claim_soon();
    release_event(*event);
  }
  for (const auto& buffer : {t.source, t.hbm, t.target})
    if (buffer != nullptr) release_buffer(*buffer);
}

void Caller::end_transfers() {
  for (int step = 0; step < 3; step++)
    for (const auto& t : transfers_)
      if (!t->over) advance(*t);
  for (const auto& t : transfers_) {
    if (t->over) continue;
    t->last = true;
    advance(*t);
  }
  transfers_.clear();
}

/// All events have ended and all handles are given back, so all of HBM is free, and in one piece as before.
void Caller::check_memory(Device& device) {
  const int64_t last_us = now_us() + world_.slack_ms() * 1000;
  for (;;) {
    weft_device_info info = WEFT_INIT(weft_device_info);
    const weft_status status =
        call(Call::k_device_get_info, [&] { return weft_device_get_info(device.handle, &info); });
    if (!judge(Call::k_device_get_info, status, {WEFT_ERROR_OK})) return;
    if (info.hbm_free_bytes == device.hbm_free_bytes) break;
    if (now_us() > last_us) {
      world_.fail(fmt::format("every handle is given back and every command has ended, and {} bytes of HBM are in use",
                              static_cast<int64_t>(device.hbm_free_bytes - info.hbm_free_bytes)));
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  world_.findings.checked("free memory at the end");
}

}  // namespace weft::lifetime
