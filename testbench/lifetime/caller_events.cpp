// Events: looks, waits, cancels, callbacks, releases.
#include <fmt/format.h>

#include <algorithm>

#include "testbench/lifetime/caller.hpp"

namespace weft::lifetime {
namespace {

/// "`size` may also be that of the form that ended with guard_ms (24 bytes)."
constexpr size_t kFormOfGuard = 24;
constexpr int kPatience = 5;  ///< times the limit, to tell what is late from what never ends

/// As weft_state_dump tells it.
std::string state_of(const Device& device) {
  std::string text(size_t{1} << 16, '\0');
  size_t size = 0;
  const weft_status status = weft_state_dump(device.handle, WEFT_STATE_FORMAT_TEXT, text.data(), text.size(), &size);
  if (status != WEFT_ERROR_OK) return fmt::format("weft_state_dump: {}", weft_status_name(status));
  text.resize(std::min(size, text.size()));
  return text;
}

}  // namespace

weft_status Caller::query(Event& event, weft_event_info& info) {
  info = WEFT_INIT(weft_event_info);
  const bool ended = event.seen != Event::kUnseen;
  const weft_status status = call(Call::k_event_query, [&] { return weft_event_query(event.handle, &info); });
  if (!judge(Call::k_event_query, status, {WEFT_ERROR_OK}, event.what)) return status;
  if (info.done != 0) {
    see_end(event, info.status);
    if (draw_.once_in(4)) query_error(event, info.status);
  } else if (ended) {
    world_.fail(fmt::format("{} was done and is not any more", event.what));
  }
  return status;
}

/// "As weft_last_error tells it."
void Caller::query_error(Event& event, weft_status ended) {
  weft_error_info error = WEFT_INIT(weft_error_info);
  const weft_status status = call(Call::k_event_get_error, [&] { return weft_event_get_error(event.handle, &error); });
  if (!judge(Call::k_event_get_error, status, {WEFT_ERROR_OK}, event.what)) return;
  if (error.code != ended || (ended != WEFT_ERROR_OK && error.message[0] == 0))
    world_.fail(fmt::format("{} ended with {}; its error is {}, \"{}\"", event.what, weft_status_name(ended),
                            weft_status_name(error.code), error.message));
}

void Caller::query_any() {
  weft_event_info info;
  if (const auto event = world_.events.pick(draw_)) (void)query(*event, info);
}

weft_wait_options Caller::draw_wait_options(bool deadline) {
  weft_wait_options options = WEFT_INIT(weft_wait_options);
  if (deadline) options.deadline_cycles = draw_.one_of<uint64_t>({1, 100, 5'000, 50'000});
  if (draw_.once_in(4)) options.timeout_ms = static_cast<uint32_t>(draw_.between(1, 10));
  if (draw_.once_in(6)) options.until_idle = 1;
  if (draw_.once_in(8)) options.size = kFormOfGuard;
  options.guard_ms = static_cast<uint32_t>(draw_.between(2'000, 4'000) * static_cast<uint64_t>(kSlowness));
  return options;
}

weft_status Caller::wait_event(Event& event, const weft_wait_options& options) {
  const int64_t begin = now_us();
  const weft_status status = call(
      Call::k_event_wait, [&] { return weft_event_wait(event.handle, &options); }, options.guard_ms);
  if (status != WEFT_ERROR_TIMEOUT_WAIT) {
    see_end(event, status);
    weft_event_info info;
    if (query(event, info) == WEFT_ERROR_OK && info.done == 0)
      world_.fail(fmt::format("a wait for {} returned {}, and it is not done", event.what, weft_status_name(status)));
    return status;
  }
  world_.findings.checked("wait that timed out");
  const int64_t took_ms = (now_us() - begin) / 1000;
  if (!may_time_out(event, options, took_ms)) {
    weft_error_info info = WEFT_INIT(weft_error_info);
    (void)!weft_last_error(&info);
    world_.fail(
        fmt::format("a wait for {} timed out after {} ms; deadline {} cycles, timeout {} ms, guard {} ms, until "
                    "idle {} (\"{}\")",
                    event.what, took_ms, options.deadline_cycles, options.timeout_ms, options.guard_ms,
                    options.until_idle, info.message));
  }
  return status;
}

void Caller::wait_any() {
  const auto event = world_.events.pick(draw_);
  if (!event) return;
  const bool deadline = event->queue == nullptr || draw_.once_in(2);
  (void)wait_event(*event, draw_wait_options(deadline));
}

bool Caller::await_end(Event& event) {
  const int64_t last_us = now_us() + (world_.slack_ms() + 4'000) * 1000;
  for (;;) {
    weft_event_info info;
    if (query(event, info) != WEFT_ERROR_OK) return false;
    if (info.done != 0) return true;
    if (now_us() > last_us) return false;
    if (wait_event(event, draw_wait_options(true)) != WEFT_ERROR_TIMEOUT_WAIT) return true;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

void Caller::await_ends() {
  for (const auto& shared : world_.events.all()) {
    const Pinned<Event> event(shared);
    if (!event || event->queue == nullptr) continue;
    const int64_t begin = now_us();
    if (await_end(*event)) continue;
    bool ends = false;  // a machine that is busy makes it late; a signal or a completion that was lost, for ever
    for (int i = 0; i < kPatience && !ends; i++) ends = await_end(*event);
    world_.fail(fmt::format("{} {} {} ms, although the host had signalled all that it promised{}", event->what,
                            ends ? "ended only after" : "has not ended for", (now_us() - begin) / 1000,
                            ends ? std::string() : "\n" + state_of(*event->device)));
  }
}

void Caller::cancel(Event& event) {
  const Before before(*event.device);
  if (event.queue != nullptr) event.queue->cancels = true;
  const Acting cancelling(event.cancel);
  const weft_status status = call(Call::k_event_cancel, [&] { return weft_event_cancel(event.handle); });
  Statuses normal{WEFT_ERROR_OK, WEFT_ERROR_BUSY};
  // Of a queue that is gone, halted or reset nothing can be asked, and its commands end by themselves.
  if (event.queue != nullptr) {
    if (event.queue->reset.begun != 0) normal.add(WEFT_ERROR_INVALID_STATE);
    if (event.device->reset.may_act_since(event.marks.reset)) normal.add(WEFT_ERROR_INVALID_STATE);
  }
  Statuses outcomes = allowed(before, event, WithReset::kStays, normal);
  if (before.closed) outcomes.add(WEFT_ERROR_OK);  // "OK also if it has ended."
  judge(Call::k_event_cancel, status, outcomes, event.what);
}

void Caller::cancel_any() {
  if (const auto event = world_.events.pick(draw_)) cancel(*event);
}

void Caller::release_event(Event& event) {
  call_void(Call::k_event_release, [&] { weft_event_release(event.handle); });
}

/// Keeps some dozens.
void Caller::release_any_event() {
  if (world_.events.size() < 8) return;
  do {
    if (const auto event = world_.events.take(draw_)) release_event(*event);
  } while (world_.events.size() > 64);
}

void Caller::news_any() {
  const auto event = world_.events.pick(draw_);
  if (!event) return;
  const Before before(*event->device);
  weft_device_news news = WEFT_INIT(weft_device_news);
  const weft_status status = call(Call::k_event_get_news, [&] { return weft_event_get_news(event->handle, &news); });
  Statuses outcomes{WEFT_ERROR_INVALID_ARGUMENT};  // "The event is not of weft_device_listen."
  if (event->queue == nullptr) outcomes = {WEFT_ERROR_OK, WEFT_ERROR_INVALID_STATE};
  if (event->device->close.begun != 0) outcomes.add(WEFT_ERROR_INVALID_STATE);
  judge(Call::k_event_get_news, status, outcomes, event->what);
}

/// "Calls back once, also if the command has ended before. INVALID_STATE: the event has a callback, or the device is
/// closed."
void Caller::set_callback(Event& event) {
  const bool first = !event.callback_taken.exchange(true);
  const bool accepted = event.callback_accepted;
  const Before before(*event.device);
  const weft_status status =
      call(Call::k_event_set_callback, [&] { return weft_event_set_callback(event.handle, on_event, &event); });
  Statuses normal{WEFT_ERROR_OK};
  if (!first) normal.add(WEFT_ERROR_INVALID_STATE);
  if (accepted) normal = {WEFT_ERROR_INVALID_STATE};
  if (before.closed || event.device->close.begun != 0 || event.callback_accepted) normal.add(WEFT_ERROR_INVALID_STATE);
  if (before.closed) normal.remove(WEFT_ERROR_OK);
  judge(Call::k_event_set_callback, status, normal, event.what);
  if (status == WEFT_ERROR_OK && event.callback_accepted.exchange(true))
    world_.fail(fmt::format("a second callback of {} was taken", event.what));
}

void Caller::callback_any() {
  const auto event = world_.events.pick(draw_);
  if (!event || (event->callback_taken && !draw_.once_in(20))) return;
  set_callback(*event);
}

void Caller::on_event(weft_event* handle, weft_status status, void* user) {
  Event& event = *static_cast<Event*>(user);
  event.free_us = event.device->callback_returned_us.load();
  event.called_us = now_us();
  World& world = *event.world;
  if (event.calls++ != 0) world.fail(fmt::format("the callback of {} was called again", event.what));
  Caller caller(world, event.action_seed, "callback");
  // "The handle is valid inside it", also if it was released.
  weft_event_info info = WEFT_INIT(weft_event_info);
  const weft_status queried = caller.call(Call::k_event_query, [&] { return weft_event_query(handle, &info); });
  if (queried != WEFT_ERROR_OK || info.done == 0 || info.status != status)
    world.fail(fmt::format("in the callback of {}, with {}: the query returned {}, done {}, status {}", event.what,
                           weft_status_name(status), weft_status_name(queried), info.done,
                           weft_status_name(info.status)));
  caller.see_end(event, status);
  world.in_callbacks++;
  if (!world.calm) caller.act_in_callback(event);
  world.in_callbacks--;
  event.calls_ended++;
  event.device->callback_returned_us = now_us();
}

/// "It may submit, wait, query and release; it may not close or reset the device."
void Caller::act_in_callback(Event& event) {
  switch (draw_.below(12)) {
    case 0: {  // its own queue, or any
      if (event.queue != nullptr && draw_.once_in(2) && event.queue->claim()) {
        world_.queues.remove(event.queue.get());
        release_queue(*event.queue);
      } else {
        release_any_queue();
      }
      break;
    }
    case 1:
      release_any_event();
      break;
    case 2:
      submit_one();
      break;
    case 3:
      query_any();
      break;
    case 4: {
      const auto other = world_.events.pick(draw_);
      if (other) (void)wait_event(*other, draw_wait_options(true));
      break;
    }
    case 5:
      release_any_buffer();
      break;
    case 6:
      signal_any();
      break;
    case 7:
      release_any_semaphore();
      break;
    case 8: {
      const Pinned<Device> device(event.device);
      if (!device) break;
      judge(Call::k_close, call(Call::k_close, [&] { return weft_close(device->handle, nullptr); }),
            {WEFT_ERROR_INVALID_STATE}, "a callback");
      break;
    }
    case 9: {
      const Pinned<Device> device(event.device);
      if (!device) break;
      judge(Call::k_device_reset, call(Call::k_device_reset, [&] { return weft_device_reset(device->handle); }),
            {WEFT_ERROR_INVALID_STATE}, "a callback");
      break;
    }
    default:
      break;
  }
}

}  // namespace weft::lifetime
