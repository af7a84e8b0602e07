// Devices: opened, looked at, reset, closed.
#include <fmt/format.h>

#include "testbench/lifetime/caller.hpp"

namespace weft::lifetime {

std::shared_ptr<Device> Caller::open_device() {
  auto device = std::make_shared<Device>();
  device->name = world_.options.device;
  device->simulator = world_.options.simulator;
  auto* handle = no_handle<weft_device>();
  const weft_status status = call(
      Call::k_open, [&] { return weft_open(device->name.c_str(), &handle); }, 10'000);
  judge(Call::k_open, status, {WEFT_ERROR_OK});
  judge_handle(Call::k_open, status, handle);
  if (status != WEFT_ERROR_OK) return nullptr;
  device->handle = handle;
  weft_device_info info = WEFT_INIT(weft_device_info);
  judge(Call::k_device_get_info, call(Call::k_device_get_info, [&] { return weft_device_get_info(handle, &info); }),
        {WEFT_ERROR_OK});
  device->hbm_free_bytes = info.hbm_free_bytes;
  device->max_queues = info.max_queues;
  {
    const std::lock_guard lock(world_.all_mutex);
    world_.all_devices.push_back(device);
  }
  world_.devices.add(device);
  return device;
}

/// "Takes no more work, waits for the work in flight, completes what is left with CANCELLED, ends the simulator, and
/// gives back the handle. Its callbacks have all returned."
void Caller::close_device(const std::shared_ptr<Device>& device, uint32_t drain_ms) {
  weft_close_options options = WEFT_INIT(weft_close_options);
  options.drain_ms = drain_ms;
  if (draw_.once_in(8)) {  // "INVALID_ARGUMENT for wrong options: nothing happens and the handle stays."
    options.size--;
    judge(Call::k_close, call(Call::k_close, [&] { return weft_close(device->handle, &options); }),
          {WEFT_ERROR_INVALID_ARGUMENT}, "wrong options");
    options.size++;
  }
  const Acting closing(device->close);
  // Its callbacks may release queues, each of which waits for that queue's commands.
  const weft_status status = call(
      Call::k_close, [&] { return weft_close(device->handle, &options); }, int64_t{drain_ms} + 1'000);
  if (judge(Call::k_close, status, {WEFT_ERROR_OK})) device->closed = true;
  check_closed(*device);
}

/// After OK every event is done and every callback has run, once.
void Caller::check_closed(Device& device) {
  std::vector<std::shared_ptr<Event>> events;
  {
    const std::lock_guard lock(device.mutex);
    events = device.events;
  }
  size_t open = 0, silent = 0;
  std::string first;
  for (const auto& shared : events) {
    if (shared->callback_accepted && shared->calls_ended == 0) {
      silent++;
      first = shared->what;
    }
    const Pinned<Event> event(shared);
    if (!event) continue;  // released
    weft_event_info info;
    world_.findings.checked("event after weft_close");
    if (query(*event, info) == WEFT_ERROR_OK && info.done == 0) {
      open++;
      first = event->what;
    }
  }
  if (open != 0 || silent != 0)
    world_.fail(
        fmt::format("weft_close returned OK: {} of {} events are not done, {} callbacks have not returned (one "
                    "is of {})",
                    open, events.size(), silent, first));
}

void Caller::close_any() {
  const auto device = world_.devices.take(draw_);
  if (device == nullptr) return;
  close_device(device, draw_.one_of<uint32_t>({1, 1, 5, 20}));
  if (open_device() == nullptr) return;
  for (int i = 0; i < 3; i++) create_queue();
  create_semaphore();
}

void Caller::look_at_device() {
  const auto device = world_.devices.pick(draw_);
  if (!device) return;
  const Before before(*device);
  weft_device* const handle = device->handle;
  Call kind = Call::k_device_get_info;
  weft_status status = WEFT_ERROR_OK;
  const auto make = [&](Call which, auto&& function) {
    kind = which;
    status = call(which, function);
  };
  switch (draw_.below(15)) {
    case 0: {
      weft_device_info info = WEFT_INIT(weft_device_info);
      make(Call::k_device_get_info, [&] { return weft_device_get_info(handle, &info); });
      break;
    }
    case 1:
    case 2: {
      uint64_t cycle = 0;
      make(Call::k_device_cycle, [&] { return weft_device_cycle(handle, &cycle); });
      break;
    }
    case 3: {
      uint64_t values[4];
      make(Call::k_device_counters, [&] { return weft_device_counters(handle, values, 4); });
      break;
    }
    case 4:
    case 5: {
      weft_device_statistics statistics = WEFT_INIT(weft_device_statistics);
      make(Call::k_device_get_statistics, [&] { return weft_device_get_statistics(handle, &statistics); });
      break;
    }
    case 6: {
      weft_log_record records[16];
      uint32_t count = 0;
      make(Call::k_device_read_log, [&] { return weft_device_read_log(handle, records, 16, &count, nullptr); });
      break;
    }
    case 7:
      make(Call::k_device_set_log_level,
           [&] { return weft_device_set_log_level(handle, static_cast<uint32_t>(draw_.below(3))); });
      break;
    case 8: {
      weft_error_log log{};
      make(Call::k_device_get_errors, [&] { return weft_device_get_errors(handle, &log, nullptr, 0); });
      break;
    }
    case 9: {
      char text[256];
      size_t size = 0;
      make(Call::k_state_dump,
           [&] { return weft_state_dump(handle, WEFT_STATE_FORMAT_TEXT, text, sizeof text, &size); });
      break;
    }
    case 10: {
      int descriptor = -1;
      make(Call::k_device_get_descriptor, [&] { return weft_device_get_descriptor(handle, &descriptor); });
      break;
    }
    case 11:
    case 12:
    case 13:
      make(Call::k_device_process, [&] { return weft_device_process(handle); });
      break;
    default: {
      weft_error_info info = WEFT_INIT(weft_error_info);
      make(Call::k_last_error, [&] { return weft_last_error(&info); });
      break;
    }
  }
  judge(kind, status, allowed(before, *device, {WEFT_ERROR_OK}));
}

void Caller::listen() {
  const auto device = world_.devices.pick(draw_);
  if (!device) return;
  auto event = std::make_shared<Event>(device.shared());
  event->what = "a question for news";
  event->world = &world_;
  event->action_seed = draw_.bits();
  event->marks = {device->close.mark(), device->reset.mark(), 0, 0, 0};
  device->listens++;
  const Before before(*device);
  auto* handle = no_handle<weft_event>();
  const weft_status status = call(Call::k_device_listen, [&] { return weft_device_listen(device->handle, &handle); });
  judge(Call::k_device_listen, status, allowed(before, *device, {WEFT_ERROR_OK}));
  judge_handle(Call::k_device_listen, status, handle);
  if (status != WEFT_ERROR_OK) return;
  event->handle = handle;
  event->born();
  {
    const std::lock_guard lock(device->mutex);
    device->events.push_back(event);
  }
  world_.events.add(event);
}

void Caller::reset_device() {
  const auto device = world_.devices.pick(draw_);
  if (!device || !draw_.once_in(2)) return;
  const Before before(*device);
  const bool level = draw_.once_in(2);
  const Call kind = level ? Call::k_reset_device_level : Call::k_device_reset;
  weft_status status = WEFT_ERROR_OK;
  {
    const Acting resetting(device->reset);
    status = call(kind, [&] {
      return level ? weft_reset(device->handle, nullptr, WEFT_RESET_LEVEL_DEVICE, nullptr)
                   : weft_device_reset(device->handle);
    });
    if (status == WEFT_ERROR_OK) device->resets_ok++;
  }
  Statuses normal{WEFT_ERROR_OK};
  if (device->reset.begun > before.reset_mark + 1) normal.add(WEFT_ERROR_INVALID_STATE);  // another one beside it
  judge(kind, status, normal);
}

void Caller::reset_engine() {
  const auto device = world_.devices.pick(draw_);
  if (!device) return;
  const Before before(*device);
  weft_status status = WEFT_ERROR_OK;
  {
    const Acting resetting(device->engine_reset);
    status = call(Call::k_reset_engine,
                  [&] { return weft_reset(device->handle, nullptr, WEFT_RESET_LEVEL_ENGINE, nullptr); });
  }
  judge(Call::k_reset_engine, status, allowed(before, *device, {WEFT_ERROR_OK}));
}

/// A fault that never acts. "UNSUPPORTED: the device is no simulator"; the mock may take it for one.
void Caller::inject() {
  const auto device = world_.devices.pick(draw_);
  if (!device) return;
  const Before before(*device);
  weft_fault_injection fault = WEFT_INIT(weft_fault_injection);
  fault.kind = WEFT_INJECTED_FAULT_DOORBELL_LOST;
  fault.target = 1;
  fault.nth = 1u << 30;
  if (device->simulator) return;  // overwrite() arms there what acts
  judge(Call::k_fault_inject, call(Call::k_fault_inject, [&] { return weft_fault_inject(device->handle, &fault); }),
        allowed(before, *device, {WEFT_ERROR_OK, WEFT_ERROR_UNSUPPORTED}));
  judge(Call::k_fault_disarm, call(Call::k_fault_disarm, [&] { return weft_fault_disarm(device->handle); }),
        allowed(before, *device, {WEFT_ERROR_OK, WEFT_ERROR_UNSUPPORTED}));
}

}  // namespace weft::lifetime
