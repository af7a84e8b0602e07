// Queues, and what is submitted to them.
#include <fmt/format.h>

#include "testbench/lifetime/caller.hpp"

namespace weft::lifetime {

std::shared_ptr<Queue> Caller::make_queue(const Pinned<Device>& device, const weft_queue_options& options,
                                          std::shared_ptr<Queue> ring) {
  auto queue = std::make_shared<Queue>(device.shared());
  const Before before(*device);
  QueueClaim claim(*device);
  auto* handle = no_handle<weft_queue>();
  const weft_status status =
      call(Call::k_queue_create, [&] { return weft_queue_create(device->handle, &options, &handle); });
  Statuses normal{WEFT_ERROR_OK};
  if (claim.may_be_busy()) normal.add(WEFT_ERROR_BUSY);
  // Too few completion entries for one more queue; the other is on another's ring; and it may be gone with a reset.
  if (ring != nullptr) normal.add({WEFT_ERROR_INVALID_ARGUMENT, WEFT_ERROR_INVALID_STATE});
  judge(Call::k_queue_create, status, allowed(before, *device, normal));
  judge_handle(Call::k_queue_create, status, handle);
  if (status != WEFT_ERROR_OK) {
    claim.give_back();
    return nullptr;
  }
  queue->handle = handle;
  queue->entries = options.entries != 0 ? options.entries : 1024;
  queue->ring = std::move(ring);
  queue->born();
  weft_queue_info info = WEFT_INIT(weft_queue_info);
  const Before later(*device);
  const weft_status known = call(Call::k_queue_get_info, [&] { return weft_queue_get_info(handle, &info); });
  judge(Call::k_queue_get_info, known, allowed(later, *queue, WithReset::kGoes, {WEFT_ERROR_OK}));
  queue->id = info.id;
  return queue;
}

void Caller::create_queue() {
  const auto device = world_.devices.pick(draw_);
  if (!device || device->queues_alive + 4 > device->max_queues) return;
  weft_queue_options options = WEFT_INIT(weft_queue_options);
  options.entries = draw_.one_of<uint32_t>({0, 2, 4, 8, 16, 64});
  options.priority = static_cast<uint32_t>(draw_.below(3));
  if (draw_.once_in(8)) options.coalesce_count = 2, options.coalesce_cycles = 1000;
  const auto ring = draw_.once_in(6) ? world_.queues.pick(draw_) : Pinned<Queue>();
  const bool shares = ring && ring->device == device.shared();
  if (shares) {
    options.completions = ring->handle;
    options.coalesce_count = options.coalesce_cycles = 0;
  } else if (options.entries != 0 && draw_.once_in(2)) {
    options.completion_entries = 256;
  }
  if (auto queue = make_queue(device, options, shares ? ring.shared() : nullptr)) world_.queues.add(std::move(queue));
}

void Caller::release_queue(Queue& queue) {
  const Before before(*queue.device);
  const Acting releasing(queue.release);
  const weft_status status = call(
      Call::k_queue_release, [&] { return weft_queue_release(queue.handle); }, 30'000);
  // "After weft_close every call answers INVALID_STATE, but for the release calls."
  Statuses normal{WEFT_ERROR_OK};
  if (!before.closed) {
    // "TIMEOUT_WAIT once the device has nothing to do and a command still waits for a semaphore."
    if (queue.stalls) normal.add(WEFT_ERROR_TIMEOUT_WAIT);
    if (queue.device->close.begun != 0) normal.add({WEFT_ERROR_INVALID_STATE, WEFT_ERROR_CANCELLED});
    if (queue.device->reset.may_act_since(before.reset_mark))
      normal.add({WEFT_ERROR_INVALID_STATE, WEFT_ERROR_ABORTED_BY_RESET});
  }
  judge(Call::k_queue_release, status, normal);
  if (status == WEFT_ERROR_OK) queue.device->queues_alive--;
}

void Caller::release_any_queue() {
  if (world_.queues.size() < 2) return;
  if (const auto queue = world_.queues.take(draw_)) release_queue(*queue);
}

void Caller::cancel_queue() {
  const auto queue = world_.queues.pick(draw_);
  if (!queue) return;
  const Before before(*queue->device);
  const Acting cancelling(queue->cancel);
  const weft_status status = call(Call::k_queue_cancel, [&] { return weft_queue_cancel(queue->handle); });
  judge(Call::k_queue_cancel, status, allowed(before, *queue, WithReset::kGoes, {WEFT_ERROR_OK, WEFT_ERROR_BUSY}));
}

void Caller::reset_queue() {
  const auto queue = world_.queues.pick(draw_);
  if (!queue) return;
  const Pinned<Device> device(queue->device);
  if (!device) return;
  const Before before(*device);
  const uint32_t mark = queue->reset.mark();
  weft_reset_report report = WEFT_INIT(weft_reset_report);
  weft_status status = WEFT_ERROR_OK;
  {
    const Acting resetting(queue->reset);
    status = call(Call::k_reset_queue,
                  [&] { return weft_reset(device->handle, queue->handle, WEFT_RESET_LEVEL_QUEUE, &report); });
  }
  Statuses normal{WEFT_ERROR_OK};
  if (queue->reset.begun > mark + 1) normal.add(WEFT_ERROR_INVALID_STATE);  // another thread resets it too
  judge(Call::k_reset_queue, status, allowed(before, *queue, WithReset::kGoes, normal));
}

/// "queue: its commands end; other queues do not notice": a queue that has none ends none and blames none.
void Caller::reset_idle_queue() {
  const auto device = world_.devices.pick(draw_);
  if (!device || device->queues_alive + 4 > device->max_queues) return;
  weft_queue_options options = WEFT_INIT(weft_queue_options);
  options.entries = 4;
  const auto queue = make_queue(device, options);
  if (queue == nullptr) return;
  const Before before(*device);
  weft_reset_report report = WEFT_INIT(weft_reset_report);
  weft_status status = WEFT_ERROR_OK;
  {
    const Acting resetting(queue->reset);
    status = call(Call::k_reset_queue,
                  [&] { return weft_reset(device->handle, queue->handle, WEFT_RESET_LEVEL_QUEUE, &report); });
  }
  judge(Call::k_reset_queue, status, allowed(before, *queue, WithReset::kGoes, {WEFT_ERROR_OK}));
  if (status == WEFT_ERROR_OK) {
    world_.findings.checked("report of the reset of an idle queue");
    if (report.guilty != 0 || report.innocent != 0)
      world_.fail(fmt::format(
          "the reset of queue {}, which has no commands, reports {} guilty and {} innocent ones "
          "(the first guilty one: {} of queue {})",
          queue->id, report.guilty, report.innocent, weft_status_name(report.guilty_status), report.guilty_queue));
  }
  release_queue(*queue);
}

void Caller::queue_info() {
  const auto queue = world_.queues.pick(draw_);
  if (!queue) return;
  const Before before(*queue->device);
  weft_queue_info info = WEFT_INIT(weft_queue_info);
  const weft_status status = call(Call::k_queue_get_info, [&] { return weft_queue_get_info(queue->handle, &info); });
  judge(Call::k_queue_get_info, status, allowed(before, *queue, WithReset::kGoes, {WEFT_ERROR_OK}));
  if (status == WEFT_ERROR_OK && (info.in_flight > info.entries || info.entries != queue->entries))
    world_.fail(fmt::format("queue_get_info: {} in flight of {} entries", info.in_flight, info.entries));
}

/// A command that ends by itself, at once.
void Caller::submit_one() {
  const auto queue = world_.queues.pick(draw_);
  if (!queue) return;
  const auto buffer = draw_.once_in(4) ? world_.buffers.pick(draw_) : Pinned<Buffer>();
  const bool fills = buffer && buffer->device == queue->device;
  const weft_command_options options = draw_options();
  const Call kind =
      fills ? Call::k_fill : draw_.one_of({Call::k_nop, Call::k_nop, Call::k_nop, Call::k_fence, Call::k_timestamp});
  const auto event =
      draw_.once_in(6)
          ? nullptr
          : new_event(queue.shared(), fmt::format("{} {} of queue {}", name_of(kind), options.tag, queue->id));
  const auto bytes = fills ? buffer->bytes & ~uint64_t{3} : 0;
  if (fills && bytes == 0) return;
  const weft_status status = submit(kind, *queue, 1, event, [&](weft_event** out) {
    if (kind == Call::k_fill) return weft_fill(queue->handle, buffer->handle, 0, bytes, 0x5eed, &options, out);
    if (kind == Call::k_fence) return weft_fence(queue->handle, &options, out);
    if (kind == Call::k_timestamp) return weft_timestamp(queue->handle, &options, out);
    return weft_nop(queue->handle, &options, out);
  });
  if (status != WEFT_ERROR_OK || event == nullptr) return;
  if (draw_.once_in(2)) set_callback(*event);
  world_.events.add(event);
}

/// Several with one doorbell, all with events, as a chain or not.
void Caller::submit_many() {
  const auto queue = world_.queues.pick(draw_);
  if (!queue) return;
  const auto count = static_cast<uint32_t>(draw_.between(1, std::min<uint64_t>(queue->entries, 6)));
  const bool chain = draw_.once_in(3);
  if (chain && count > 1) queue->chained = true;
  std::vector<weft_command_options> options(count);
  std::vector<weft_command> commands(count);
  std::vector<std::shared_ptr<Event>> events;
  std::vector<weft_event*> handles(count, no_handle<weft_event>());
  Device& device = *queue->device;
  for (uint32_t i = 0; i < count; i++) {
    options[i] = draw_options();
    options[i].chain = chain && i + 1 < count ? 1 : 0;
    commands[i] = WEFT_INIT(weft_command);
    commands[i].opcode = draw_.one_of({WEFT_QUEUE_OPCODE_NOP, WEFT_QUEUE_OPCODE_FENCE, WEFT_QUEUE_OPCODE_TIMESTAMP});
    commands[i].options = &options[i];
    commands[i].event = &handles[i];
    events.push_back(
        new_event(queue.shared(), fmt::format("command {} of {} of a submission to queue {}", i, count, queue->id)));
    events[i]->marks = {device.close.mark(), device.reset.mark(), device.engine_reset.mark(), queue->cancel.mark(),
                        queue->reset.mark()};
  }
  const weft_status status = submit(Call::k_submit, *queue, count, nullptr,
                                    [&](weft_event**) { return weft_submit(queue->handle, commands.data(), count); });
  for (uint32_t i = 0; i < count; i++) {
    judge_handle(Call::k_submit, status, handles[i]);
    if (status != WEFT_ERROR_OK) continue;
    events[i]->handle = handles[i];
    events[i]->born();
    {
      const std::lock_guard lock(device.mutex);
      device.events.push_back(events[i]);
    }
    if (draw_.once_in(3)) set_callback(*events[i]);
    world_.events.add(events[i]);
  }
}

/// A command that waits for a signal from the host, which may come before it or after it.
void Caller::submit_waiting() {
  const auto queue = world_.queues.pick(draw_);
  const auto semaphore = world_.semaphores.pick(draw_);
  if (!queue || !semaphore || queue->device != semaphore->device) return;
  queue->stalls = true;
  weft_command_options options = draw_options();
  const Call kind = draw_.one_of({Call::k_wait, Call::k_nop});
  const auto event = new_event(queue.shared(),
                               fmt::format("{} {} of queue {} for a semaphore", name_of(kind), options.tag, queue->id));
  event->wait = semaphore.shared();
  event->wait_value = draw_wait_value(semaphore);
  if (kind == Call::k_wait && draw_.once_in(6)) {
    queue->budgets = true;
    event->budget = true;
    options.budget_kcycles = static_cast<uint32_t>(draw_.between(1, 50));
  }
  if (kind == Call::k_nop) {
    options.wait_semaphore = semaphore->handle;
    options.wait_value = event->wait_value;
  }
  const weft_status status = submit(
      kind, *queue, 1, event,
      [&](weft_event** out) {
        if (kind == Call::k_nop) return weft_nop(queue->handle, &options, out);
        return weft_wait(queue->handle, semaphore->handle, event->wait_value, &options, out);
      },
      semaphore.shared().get());
  if (status != WEFT_ERROR_OK) return;
  if (draw_.once_in(2)) set_callback(*event);
  world_.events.add(event);
}

}  // namespace weft::lifetime
