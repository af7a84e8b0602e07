// C ABI: the device's own count of errors, and its news.
#include <algorithm>

#include "driver/abi/abi.hpp"

using namespace weft::driver;
using namespace weft::driver::abi;

weft_status weft_device_get_errors(weft_device* device, weft_error_log* log, weft_error_log_entry* entries,
                                   uint32_t capacity) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(device);
    WEFT_REQUIRE(log);
    const auto told = device->device->error_log();
    if (!told.ok()) return told.status();
    *log = told.value().log;
    if (entries != nullptr)
      std::copy_n(told.value().entries.begin(), std::min<size_t>(capacity, told.value().entries.size()), entries);
    return {};
  });
}

weft_status weft_device_listen(weft_device* device, weft_event** event) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(event);
    *event = nullptr;
    WEFT_REQUIRE(device);
    auto handle = std::make_unique<weft_event>(device->device, nullptr);
    auto listens = device->device->listen();
    if (!listens.ok()) return listens.status();
    handle->event = std::move(listens.value());
    *event = handle.release();
    return {};
  });
}

weft_status weft_event_get_news(weft_event* event, weft_device_news* news) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(event);
    if (Status s = check_size(news, "news"); !s.ok()) return s;
    const Event& e = *event->event;
    if (!e.listens())
      return failure(WEFT_ERROR_INVALID_ARGUMENT, "command {:#x} of queue {} is not of weft_device_listen",
                     e.command_id(), e.queue());
    if (!e.done()) return Status(WEFT_ERROR_INVALID_STATE, "there is no news yet");
    if (!e.ending().status.ok())
      return failure(WEFT_ERROR_INVALID_STATE, "it ended without news: {}", e.ending().status.message());
    constexpr uint64_t kQueueShift = 16, kErrorShift = 32, kMask = 0xffff;
    const uint64_t what = e.ending().start_cycle;
    weft_device_news out = WEFT_INIT(weft_device_news);
    out.kind = static_cast<weft_async_event>(what & kMask);
    out.queue = static_cast<uint32_t>(what >> kQueueShift & kMask);
    out.error = static_cast<weft_status>(what >> kErrorShift);
    out.cycle = e.ending().end_cycle;
    give(out, news);
    return {};
  });
}
