// Semaphores between host and queues and between queues; and recordings, which are replayed.
#include <fmt/format.h>

#include "testbench/lifetime/caller.hpp"

namespace weft::lifetime {

std::shared_ptr<Semaphore> Caller::make_semaphore(const Pinned<Device>& device, uint64_t value) {
  auto semaphore = std::make_shared<Semaphore>(device.shared());
  const uint32_t made = ++device->semaphores_made;
  const Before before(*device);
  auto* handle = no_handle<weft_semaphore>();
  const weft_status status =
      call(Call::k_semaphore_create, [&] { return weft_semaphore_create(device->handle, value, &handle); });
  Statuses normal{WEFT_ERROR_OK};
  if (made > WEFT_LIMIT_TIMELINES) normal.add(WEFT_ERROR_BUSY);  // "64 exist, or are still used"
  judge(Call::k_semaphore_create, status, allowed(before, *device, normal));
  judge_handle(Call::k_semaphore_create, status, handle);
  if (status != WEFT_ERROR_OK) return nullptr;
  semaphore->handle = handle;
  semaphore->at_least = semaphore->at_most = semaphore->promised = value;
  semaphore->born();
  return semaphore;
}

void Caller::create_semaphore() {
  const auto device = world_.devices.pick(draw_);
  if (!device || world_.semaphores.size() > 10) return;
  if (auto semaphore = make_semaphore(device, draw_.below(3))) world_.semaphores.add(std::move(semaphore));
}

void Caller::release_semaphore(Semaphore& semaphore) {
  call_void(Call::k_semaphore_release, [&] { weft_semaphore_release(semaphore.handle); });
}

void Caller::release_any_semaphore() {
  if (world_.semaphores.size() < 3) return;
  if (const auto semaphore = world_.semaphores.take(draw_)) release_semaphore(*semaphore);
}

uint64_t Caller::draw_wait_value(const Pinned<Semaphore>& semaphore) {
  const int64_t delay_us = draw_.one_of<int64_t>({0, 100, 1'000, 5'000, 15'000});
  uint64_t value = 0;
  {
    const std::lock_guard lock(semaphore->mutex);
    value = std::max<uint64_t>(1, semaphore->promised + draw_.below(3));
    if (value <= semaphore->promised) return value;
    semaphore->promised = value;
  }
  world_.promise_signal(Pinned<Semaphore>(semaphore.shared()), value, delay_us);
  return value;
}

/// "Raises it from the host. INVALID_ARGUMENT: it stands there already, or higher."
void Caller::signal_from_host(Semaphore& semaphore, uint64_t value) {
  const Before before(*semaphore.device);
  const uint64_t at_least = semaphore.at_least, at_most = semaphore.at_most;
  const uint32_t mark = semaphore.signals.mark();
  semaphore.raise_at_most(value);
  weft_status status = WEFT_ERROR_OK;
  {
    const Acting signalling(semaphore.signals);
    status = call(Call::k_semaphore_signal, [&] { return weft_semaphore_signal(semaphore.handle, value); });
  }
  Statuses normal{WEFT_ERROR_OK};
  if (at_most >= value || semaphore.signals.begun > mark + 1) normal.add(WEFT_ERROR_INVALID_ARGUMENT);
  if (at_least >= value) normal.remove(WEFT_ERROR_OK);
  if (semaphore.may_fail) normal.add(WEFT_ERROR_DEPENDENCY_FAILED);
  judge(Call::k_semaphore_signal, status, allowed(before, semaphore, WithReset::kGoes, normal));
  if (status == WEFT_ERROR_OK) semaphore.raise_at_least(value);
}

void Caller::signal_any() {
  const auto semaphore = world_.semaphores.pick(draw_);
  if (!semaphore) return;
  uint64_t value = 0;
  {
    const std::lock_guard lock(semaphore->mutex);
    value = semaphore->promised + draw_.below(2);
    semaphore->promised = std::max(value, semaphore->promised);
  }
  signal_from_host(*semaphore, value);
}

void Caller::semaphore_value() {
  const auto semaphore = world_.semaphores.pick(draw_);
  if (!semaphore) return;
  const Before before(*semaphore->device);
  const uint64_t at_least = semaphore->at_least;
  uint64_t value = 0;
  const weft_status status =
      call(Call::k_semaphore_get_value, [&] { return weft_semaphore_get_value(semaphore->handle, &value); });
  judge(Call::k_semaphore_get_value, status, allowed(before, *semaphore, WithReset::kGoes, {WEFT_ERROR_OK}));
  if (status == WEFT_ERROR_OK && (value < at_least || value > semaphore->at_most))
    world_.fail(fmt::format("a semaphore stands at {}: it was signalled to {} at least and {} at most", value, at_least,
                            semaphore->at_most.load()));
}

/// "Waits on the host until it has reached the value." Wait-before-signal works as signal-before-wait does.
void Caller::wait_semaphore() {
  const auto semaphore = world_.semaphores.pick(draw_);
  if (!semaphore) return;
  const uint64_t value = draw_wait_value(semaphore);
  const Before before(*semaphore->device);
  const bool reached = semaphore->at_least >= value;
  const weft_wait_options options = draw_wait_options(draw_.once_in(2));
  const int64_t begin = now_us();
  const weft_status status = call(
      Call::k_semaphore_wait, [&] { return weft_semaphore_wait(semaphore->handle, value, &options); },
      options.guard_ms);
  const int64_t took_ms = (now_us() - begin) / 1000;
  Statuses normal;
  if (semaphore->at_most >= value) normal.add(WEFT_ERROR_OK);
  if (!reached && may_time_out(true, options, took_ms)) normal.add(WEFT_ERROR_TIMEOUT_WAIT);
  judge(Call::k_semaphore_wait, status, allowed(before, *semaphore, WithReset::kGoes, normal),
        options.deadline_cycles != 0 ? "a value that the host signals, with a deadline"
                                     : "a value that the host signals");
}

/// A command of one queue signals, a command of another waits for it: both succeed, or the second one fails for it.
void Caller::relay() {
  const auto first = world_.queues.pick(draw_), second = world_.queues.pick(draw_);
  if (!first || !second || first->device != second->device || first.shared() == second.shared()) return;
  const Pinned<Device> device(first->device);
  if (!device) return;
  const auto semaphore = make_semaphore(device, 0);
  if (semaphore == nullptr) return;
  semaphore->may_fail = true;
  second->stalls = true;
  weft_command_options options = draw_options();
  const bool by_option = draw_.once_in(2);
  if (by_option) options.signal_semaphore = semaphore->handle, options.signal_value = 1;
  const auto signals = new_event(first.shared(), fmt::format("signal {} of queue {}", options.tag, first->id));
  semaphore->raise_at_most(1);
  const weft_status status = submit(
      by_option ? Call::k_nop : Call::k_signal, *first, 1, signals,
      [&](weft_event** out) {
        return by_option ? weft_nop(first->handle, &options, out)
                         : weft_signal(first->handle, semaphore->handle, 1, &options, out);
      },
      semaphore.get());
  if (status == WEFT_ERROR_OK) {
    weft_command_options then = draw_options();
    then.wait_semaphore = semaphore->handle, then.wait_value = 1;
    const auto waits = new_event(second.shared(), fmt::format("nop {} of queue {} behind a signal of queue {}",
                                                              then.tag, second->id, first->id));
    waits->wait = semaphore;
    waits->wait_value = 1;
    const weft_status submitted = submit(
        Call::k_nop, *second, 1, waits, [&](weft_event** out) { return weft_nop(second->handle, &then, out); },
        semaphore.get());
    if (submitted == WEFT_ERROR_OK) {
      if (draw_.once_in(2) && await_end(*waits) && await_end(*signals)) {
        world_.findings.checked("relay");
        const bool signalled = signals->seen == WEFT_ERROR_OK;
        if (!signalled && waits->seen == WEFT_ERROR_OK)
          world_.fail(fmt::format("{} ended with OK, {} with {}", waits->what, signals->what,
                                  weft_status_name(static_cast<weft_status>(signals->seen.load()))));
        if (signalled && waits->seen == WEFT_ERROR_DEPENDENCY_FAILED)
          world_.fail(fmt::format("{} ended with DEPENDENCY_FAILED, {} with OK", waits->what, signals->what));
      }
      world_.events.add(waits);
    }
    world_.events.add(signals);
  }
  release_semaphore(*semaphore);
}

/// A callback that falls due with a signal, while other threads wait and leave. Its time is measured.
void Caller::wake_up() {
  const auto device = world_.devices.pick(draw_);
  if (!device || device->queues_alive + 4 > device->max_queues) return;
  weft_queue_options options = WEFT_INIT(weft_queue_options);
  options.entries = 4;
  const Pinned<Queue> queue(make_queue(device, options));
  if (!queue) return;
  const auto semaphore = make_semaphore(device, 0);
  if (semaphore != nullptr) {
    queue->stalls = true;
    const Pinned<Event> event(
        new_event(queue.shared(), fmt::format("wait of queue {} whose callback is measured", queue->id)));
    event->wait = semaphore;
    event->wait_value = 1;
    const weft_status status = submit(
        Call::k_wait, *queue, 1, event.shared(),
        [&](weft_event** out) { return weft_wait(queue->handle, semaphore->handle, 1, nullptr, out); },
        semaphore.get());
    if (status == WEFT_ERROR_OK) {
      set_callback(*event);
      world_.events.add(event.shared());
      for (uint64_t n = draw_.below(3); n != 0; n--) {
        (void)wait_event(*event, draw_wait_options(true));
        if (draw_.once_in(2)) std::this_thread::sleep_for(std::chrono::microseconds(draw_.below(3'000)));
      }
      signal_from_host(*semaphore, 1);
      event->due_us = now_us();
      world_.control();
    }
    release_semaphore(*semaphore);
  }
  world_.queues.add(queue.shared());
}

/// Nops, fences and fills of a buffer of its own.
void Caller::record() {
  const auto device = world_.devices.pick(draw_);
  if (!device || world_.recordings.size() > 6) return;
  auto recording = std::make_shared<Recording>(device.shared());
  recording->scratch = make_buffer(device, WEFT_MEMORY_HBM, 4096);
  if (recording->scratch == nullptr) return;
  recording->commands = static_cast<uint32_t>(draw_.between(1, 4));
  std::vector<weft_command> commands(recording->commands);
  for (uint32_t i = 0; i < recording->commands; i++) {
    commands[i] = WEFT_INIT(weft_command);
    commands[i].opcode =
        i == 0 ? WEFT_QUEUE_OPCODE_FILL : draw_.one_of({WEFT_QUEUE_OPCODE_NOP, WEFT_QUEUE_OPCODE_FENCE});
    commands[i].destination = recording->scratch->handle;
    commands[i].bytes = 4096;
  }
  const Before before(*device);
  auto* handle = no_handle<weft_command_buffer>();
  const weft_status status = call(Call::k_command_buffer_create, [&] {
    return weft_command_buffer_create(device->handle, commands.data(), recording->commands, &handle);
  });
  judge(Call::k_command_buffer_create, status, allowed(before, *device, {WEFT_ERROR_OK}));
  judge_handle(Call::k_command_buffer_create, status, handle);
  if (status != WEFT_ERROR_OK) return release_buffer(*recording->scratch);
  if (draw_.once_in(2)) {  // "What they use stays alive as long as they do."
    release_buffer(*recording->scratch);
    recording->scratch = nullptr;
  }
  recording->handle = handle;
  recording->born();
  world_.recordings.add(std::move(recording));
}

void Caller::patch() {
  const auto recording = world_.recordings.pick(draw_);
  if (!recording || recording->scratch == nullptr) return;
  weft_command command = WEFT_INIT(weft_command);
  command.opcode = WEFT_QUEUE_OPCODE_FILL;
  command.destination = recording->scratch->handle;
  command.bytes = 4 * draw_.between(1, 1024);
  const Before before(*recording->device);
  const weft_status status =
      call(Call::k_command_buffer_patch, [&] { return weft_command_buffer_patch(recording->handle, 0, &command); });
  judge(Call::k_command_buffer_patch, status, allowed(before, *recording, WithReset::kGoes, {WEFT_ERROR_OK}));
}

void Caller::replay() {
  const auto recording = world_.recordings.pick(draw_);
  const auto queue = world_.queues.pick(draw_);
  if (!recording || !queue || recording->device != queue->device || recording->commands > queue->entries) return;
  const auto event = new_event(queue.shared(), fmt::format("a replay on queue {}", queue->id));
  event->recorded = true;
  const weft_status status = submit(
      Call::k_command_buffer_submit, *queue, recording->commands, event,
      [&](weft_event** out) { return weft_command_buffer_submit(queue->handle, recording->handle, out); },
      recording.shared().get());
  if (status != WEFT_ERROR_OK) return;
  if (draw_.once_in(3)) set_callback(*event);
  world_.events.add(event);
}

void Caller::release_recording(Recording& recording) {
  call_void(Call::k_command_buffer_release, [&] { weft_command_buffer_release(recording.handle); });
  if (recording.scratch != nullptr) release_buffer(*recording.scratch);
}

void Caller::release_any_recording() {
  if (const auto recording = world_.recordings.take(draw_)) release_recording(*recording);
}

}  // namespace weft::lifetime
