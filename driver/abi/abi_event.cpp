// C ABI: events.
#include "driver/abi/abi.hpp"

using namespace weft::driver;
using namespace weft::driver::abi;

weft_status weft_event_query(weft_event* event, weft_event_info* info) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(event);
    if (Status s = check_size(info, "info"); !s.ok()) return s;
    Event& e = *event->event;
    if (!e.done()) event->device->poll();
    weft_event_info out = WEFT_INIT(weft_event_info);
    out.queue = e.queue();
    out.command = e.command_id();
    out.tag = e.tag();
    if (e.done()) {
      out.done = 1;
      out.status = e.ending().status.code();
      out.start_cycle = e.listens() ? e.ending().end_cycle : e.ending().start_cycle;  // news instead of a cycle
      out.end_cycle = e.ending().end_cycle;
    }
    give(out, info);
    return {};
  });
}

weft_status weft_event_wait(weft_event* event, const weft_wait_options* options) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(event);
    const auto limits = wait_limits(options);
    if (!limits.ok()) return limits.status();
    Event& e = *event->event;
    if (!e.done()) {
      if (Status s = event->device->wait(e, limits.value()); !s.ok()) return s;
    }
    return e.ending().status;
  });
}

weft_status weft_event_set_callback(weft_event* event, weft_event_callback callback, void* user) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(event);
    WEFT_REQUIRE(callback);
    Event::Callback call = [event, callback, user](const Status& ending) {
      callback(event, ending.code(), user);
      weft_event_release(event);
    };
    event->references.fetch_add(1);
    try {
      Status status = event->device->set_callback(event->event, std::move(call));
      if (!status.ok()) event->references.fetch_sub(1);
      return status;
    } catch (const std::bad_alloc&) {
      event->references.fetch_sub(1);
      throw;
    }
  });
}

weft_status weft_event_get_profile(weft_event* event, weft_launch_profile* profile) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(event);
    WEFT_REQUIRE(profile);
    if (!event->event->done()) return Status(WEFT_ERROR_INVALID_STATE, "the command has not ended");
    if (!event->event->profile())
      return Status(WEFT_ERROR_INVALID_STATE, "the command has no profile: launch it with option 'profile'");
    *profile = *event->event->profile();
    return {};
  });
}

weft_status weft_event_get_error(weft_event* event, weft_error_info* info) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(event);
    if (Status s = check_size(info, "info"); !s.ok()) return s;
    if (!event->event->done()) return Status(WEFT_ERROR_INVALID_STATE, "the command has not ended");
    weft_error_info out = WEFT_INIT(weft_error_info);
    describe(event->event->ending().status, out);
    give(out, info);
    return {};
  });
}

weft_status weft_event_cancel(weft_event* event) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(event);
    return event->device->cancel(*event->event);
  });
}

void weft_event_release(weft_event* event) {
  if (event == nullptr || put_aside(event, inherited(event))) return;
  if (event->references.fetch_sub(1) == 1) delete event;
}
