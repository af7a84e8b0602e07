// The device dies, panics, halts a queue, or is closed: every event ends once, nothing hangs.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "testbench/unit/driver/device_fixture.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

namespace {

void count_call(weft_event*, weft_status status, void* user) {
  auto* counts = static_cast<std::atomic<int>*>(user);
  counts[status == WEFT_ERROR_DEVICE_LOST ? 1 : status == WEFT_ERROR_CANCELLED ? 2 : 0]++;
}

void await(std::atomic<int>& value, int wanted) {
  for (int i = 0; i < 5000 && value != wanted; i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

TEST_CASE("when the device dies every event ends once with DEVICE_LOST, callbacks included, without anybody waiting") {
  MockDevice device;
  weft_queue* queue = device.queue(64);
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  std::atomic<int> counts[3]{};
  std::vector<weft_event*> events;
  for (int i = 0; i < 50; i++) {
    events.push_back(nop(queue));
    REQUIRE_OK(weft_event_set_callback(events.back(), count_call, counts));
  }
  device.mock().die();
  await(counts[1], 50);
  CHECK(counts[1] == 50);
  CHECK(counts[0] == 0);
  for (weft_event* event : events) {
    CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_DEVICE_LOST);
    weft_event_release(event);
  }
  CHECK_THAT(last_message(), Contains("told to die"));
  uint64_t cycle = 0;
  weft_buffer* buffer = nullptr;
  CHECK(weft_nop(queue, nullptr, nullptr) == WEFT_ERROR_DEVICE_LOST);
  CHECK(weft_device_cycle(device.handle(), &cycle) == WEFT_ERROR_DEVICE_LOST);
  CHECK(weft_buffer_create(device.handle(), WEFT_MEMORY_HBM, 64, &buffer) == WEFT_ERROR_DEVICE_LOST);
  CHECK(weft_device_reset(device.handle()) == WEFT_ERROR_DEVICE_LOST);
  weft_device_info info = WEFT_INIT(weft_device_info);
  REQUIRE_OK(weft_device_get_info(device.handle(), &info));
  CHECK(info.state == WEFT_DEVICE_STATE_ABSENT);
  REQUIRE_OK(weft_queue_release(queue));
  device.close();
  MockDevice next;
  weft_queue* fresh = next.queue();
  weft_event* event = nop(fresh);
  REQUIRE_OK(weft_event_wait(event, nullptr));
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(fresh));
}

TEST_CASE("a device that dies wakes whoever waits") {
  MockDevice device;
  weft_queue* queue = device.queue(64);
  device.mock().configure([](MockFaults& f) { f.paused = f.lose_interrupts = true; });
  weft_event* event = nop(queue);
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    device.mock().die();
  });
  weft_status status = WEFT_ERROR_TIMEOUT_WAIT;
  while (status == WEFT_ERROR_TIMEOUT_WAIT) status = weft_event_wait(event, nullptr);
  CHECK(status == WEFT_ERROR_DEVICE_LOST);
  killer.join();
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("registers of all ones are a lost device") {
  MockDevice device;
  weft_queue* queue = device.queue();
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  weft_event* event = nop(queue);
  device.mock().configure([](MockFaults& f) { f.all_ones = true; });
  uint64_t cycle = 0;
  CHECK(weft_device_cycle(device.handle(), &cycle) == WEFT_ERROR_DEVICE_LOST);
  CHECK(query(event).status == WEFT_ERROR_DEVICE_LOST);
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a halted queue ends its commands with BAD_DOORBELL, the others go on") {
  MockDevice device;
  weft_queue *halted = device.queue(), *other = device.queue();
  weft_queue_info info = WEFT_INIT(weft_queue_info);
  REQUIRE_OK(weft_queue_get_info(halted, &info));
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  weft_event* event = nop(halted);
  device.mock().halt_queue(info.id, 12345);
  CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_BAD_DOORBELL);
  CHECK_THAT(last_message(), Contains("12345"));
  weft_error_info error = WEFT_INIT(weft_error_info);
  REQUIRE_OK(weft_last_error(&error));
  CHECK(error.scope == WEFT_ERROR_SCOPE_QUEUE);
  CHECK(weft_nop(halted, nullptr, nullptr) == WEFT_ERROR_BAD_DOORBELL);
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  weft_event* fine = nop(other);
  REQUIRE_OK(weft_event_wait(fine, nullptr));
  weft_event_release(event);
  weft_event_release(fine);
  (void)!weft_queue_release(halted);
  REQUIRE_OK(weft_queue_release(other));
}

TEST_CASE("a firmware panic fails the device until it is reset") {
  MockDevice device;
  weft_queue* queue = device.queue();
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  weft_event* event = nop(queue);
  device.mock().panic(0xdead);
  CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_FIRMWARE_PANIC);
  CHECK_THAT(last_message(), Contains("0xdead"));
  CHECK(weft_nop(queue, nullptr, nullptr) == WEFT_ERROR_FIRMWARE_PANIC);
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  REQUIRE_OK(weft_device_reset(device.handle()));
  weft_queue* fresh = device.queue();
  weft_event* fine = nop(fresh);
  REQUIRE_OK(weft_event_wait(fine, nullptr));
  weft_event_release(event);
  weft_event_release(fine);
  REQUIRE_OK(weft_queue_release(queue));
  REQUIRE_OK(weft_queue_release(fresh));
}

TEST_CASE("closing with work in flight cancels it once, and old handles say that the device is closed") {
  MockDevice device;
  weft_queue* queue = device.queue();
  weft_buffer* buffer = nullptr;
  REQUIRE_OK(weft_buffer_create(device.handle(), WEFT_MEMORY_HOST, 64, &buffer));
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  std::atomic<int> counts[3]{};
  weft_event* event = nullptr;
  REQUIRE_OK(weft_fill(queue, buffer, 0, 64, 1, nullptr, &event));
  REQUIRE_OK(weft_event_set_callback(event, count_call, counts));
  device.close();
  CHECK(counts[2] == 1);  // close waits for callbacks
  CHECK(query(event).status == WEFT_ERROR_CANCELLED);
  CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_CANCELLED);
  CHECK(weft_nop(queue, nullptr, nullptr) == WEFT_ERROR_INVALID_STATE);
  CHECK_THAT(last_message(), Contains("closed"));
  weft_event* none = nullptr;
  CHECK(weft_launch(queue, nullptr, nullptr, 0, nullptr, &none) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(weft_event_set_callback(event, count_call, counts) == WEFT_ERROR_INVALID_STATE);
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
  weft_buffer_release(buffer);
}

TEST_CASE("closing waits for work that ends") {
  MockDevice device;
  weft_queue* queue = device.queue();
  std::vector<weft_event*> events;
  for (int i = 0; i < 20; i++) events.push_back(nop(queue));
  device.close();
  for (weft_event* event : events) {
    CHECK(query(event).status == WEFT_ERROR_OK);
    weft_event_release(event);
  }
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("no DMA map is left behind") {
  MockDevice device;
  const size_t before = device.mock().mapped_ranges();
  weft_queue* queue = device.queue();
  CHECK(device.mock().mapped_ranges() == before + 1);
  REQUIRE_OK(weft_queue_release(queue));
  CHECK(device.mock().mapped_ranges() == before);
}
