// A device on a mock, with its handles as the C ABI gives them out.
#pragma once
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "driver/abi/abi.hpp"
#include "driver/mock/transport_mock.hpp"
#include "testbench/unit/driver/test_executable.hpp"

namespace weft::driver::test {

#define REQUIRE_OK(call)                \
  do {                                  \
    const weft_status status_ = (call); \
    INFO(last_message());               \
    REQUIRE(status_ == WEFT_ERROR_OK);  \
  } while (false)

inline std::string last_message() {
  weft_error_info info = WEFT_INIT(weft_error_info);
  return weft_last_error(&info) == WEFT_ERROR_OK ? info.message : "";
}

/// Closes what a test leaves open.
class MockDevice {
 public:
  /// `slow_poll_ms`: how long a wake-up that was missed stays missed.
  MockDevice(MockFaults faults, int slow_poll_ms) : MockDevice(faults, BootLimits{}, slow_poll_ms) {}
  explicit MockDevice(MockFaults faults = {}, const BootLimits& limits = {}, int slow_poll_ms = Waits::kSlowPollMs) {
    auto transport = std::make_unique<MockTransport>(nano(), faults);
    mock_ = transport.get();
    auto opened = Device::open(std::move(transport), limits, slow_poll_ms);
    INFO((opened.ok() ? std::string() : opened.status().message()));
    REQUIRE(opened.ok());
    driver_ = opened.value();
    handle_ = new weft_device{driver_};
  }
  ~MockDevice() {
    if (handle_ != nullptr) (void)!weft_close(handle_, nullptr);
  }
  weft_device* handle() { return handle_; }
  MockTransport& mock() { return *mock_; }
  /// `drain_ms`: of weft_close_options.
  void close(uint32_t drain_ms = 0) {
    weft_close_options options = WEFT_INIT(weft_close_options);
    options.drain_ms = drain_ms;
    REQUIRE_OK(weft_close(handle_, &options));
    handle_ = nullptr;
  }
  weft_queue* queue(uint32_t entries = 64) {
    weft_queue_options options = WEFT_INIT(weft_queue_options);
    options.entries = entries;
    weft_queue* queue = nullptr;
    REQUIRE_OK(weft_queue_create(handle_, &options, &queue));
    return queue;
  }
  weft_device_statistics statistics() {
    weft_device_statistics s = WEFT_INIT(weft_device_statistics);
    REQUIRE_OK(weft_device_get_statistics(handle_, &s));
    return s;
  }

 private:
  MockTransport* mock_ = nullptr;
  std::shared_ptr<Device> driver_;  ///< keeps the mock alive for looks after a close
  weft_device* handle_ = nullptr;
};

inline void await(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

/// What an event's command holds; whoever ends the event stays in here until it is opened.
struct Latch {
  std::atomic<bool> reached{false};
  std::atomic<bool> open{false};
  std::shared_ptr<const void> resource() {
    return {this, [](const Latch* latch) {
              const_cast<Latch*>(latch)->reached = true;
              await(latch->open);
            }};
  }
};

/// A thread that finds the device lost is held up before it ends the first event.
class SlowToDisconnect : public MockTransport {
 public:
  explicit SlowToDisconnect(Latch& latch) : MockTransport(nano(), MockFaults{}), latch_(latch) {}
  void disconnect() override {
    latch_.reached = true;
    await(latch_.open);
    MockTransport::disconnect();
  }

 private:
  Latch& latch_;
};

inline weft_event* nop(weft_queue* queue) {
  weft_event* event = nullptr;
  REQUIRE_OK(weft_nop(queue, nullptr, &event));
  return event;
}

inline weft_event_info query(weft_event* event) {
  weft_event_info info = WEFT_INIT(weft_event_info);
  REQUIRE_OK(weft_event_query(event, &info));
  return info;
}

/// A wait that ends once the device has nothing to do.
inline weft_wait_options until_idle() {
  weft_wait_options options = WEFT_INIT(weft_wait_options);
  options.until_idle = 1;
  return options;
}

}  // namespace weft::driver::test
