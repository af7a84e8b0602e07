// The device dies, panics, halts a queue, or is closed: every event ends once, nothing hangs.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
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

namespace {

/// A device with a command in flight on a buffer that its caller keeps, and what the device could reach of the process
/// when the command's event ended.
struct Watched {
  Watched() {
    device.mock().configure([](MockFaults& f) { f.paused = true; });
    REQUIRE_OK(weft_buffer_create(device.handle(), WEFT_MEMORY_HOST, 4096, &buffer));
    REQUIRE_OK(weft_fill(queue, buffer, 0, 4096, 7, nullptr, &event));
    REQUIRE_OK(weft_event_set_callback(event, look, this));
  }
  ~Watched() {
    weft_event_release(event);
    weft_buffer_release(buffer);
    (void)!weft_queue_release(queue);
  }
  static void look(weft_event*, weft_status status, void* user) {
    auto* self = static_cast<Watched*>(user);
    self->reached = self->device.mock().reaches_host_memory();
    self->status = status;
    self->ended = 1;
  }
  MockDevice device{MockFaults{}, BootLimits{std::chrono::milliseconds(100), std::chrono::milliseconds(100)}};
  weft_queue* queue = device.queue();
  weft_buffer* buffer = nullptr;
  weft_event* event = nullptr;
  bool reached = true;
  weft_status status = WEFT_ERROR_OK;
  std::atomic<int> ended{0};
};

}  // namespace

TEST_CASE("a device that has failed reaches no host memory any more when its first command ends") {
  struct Way {
    const char* name;
    weft_status status;
    void (*end)(Watched&);
  };
  const Way ways[] = {
      {"panic", WEFT_ERROR_FIRMWARE_PANIC, [](Watched& w) { w.device.mock().panic(1); }},
      {"watchdog", WEFT_ERROR_DEVICE_HUNG, [](Watched& w) { w.device.mock().halt_firmware(); }},
      {"no sign of life", WEFT_ERROR_DEVICE_HUNG,
       [](Watched& w) {
         w.device.mock().configure([](MockFaults& f) { f.silent = true; });
         (void)!weft_event_wait(w.event, nullptr);
       }},
      {"a reset that does not end", WEFT_ERROR_ABORTED_BY_RESET,
       [](Watched& w) {
         w.device.mock().configure([](MockFaults& f) { f.ignore_reset = true; });
         CHECK(weft_device_reset(w.device.handle()) == WEFT_ERROR_BOOT_FAILED);
       }},
      {"registers of all ones", WEFT_ERROR_DEVICE_LOST,
       [](Watched& w) {
         w.device.mock().configure([](MockFaults& f) { f.all_ones = true; });
         uint64_t cycle = 0;
         CHECK(weft_device_cycle(w.device.handle(), &cycle) == WEFT_ERROR_DEVICE_LOST);
       }},
      {"hang-up", WEFT_ERROR_DEVICE_LOST, [](Watched& w) { w.device.mock().die(); }},
      {"a panic of a device that does not let go", WEFT_ERROR_FIRMWARE_PANIC,
       [](Watched& w) {
         w.device.mock().configure([](MockFaults& f) { f.keeps_maps = true; });
         w.device.mock().panic(1);
       }},
  };
  for (const Way& way : ways) {
    INFO(way.name);
    Watched w;
    way.end(w);
    await(w.ended, 1);
    CHECK(w.ended == 1);
    CHECK(weft_status_name(w.status) == std::string(weft_status_name(way.status)));
    CHECK_FALSE(w.reached);
  }
}

TEST_CASE("a reset gives a failed device the memory back that its callers have kept, in its old place") {
  Watched w;
  weft_buffer_info before = WEFT_INIT(weft_buffer_info), after = WEFT_INIT(weft_buffer_info);
  REQUIRE_OK(weft_buffer_get_info(w.buffer, &before));
  w.device.mock().panic(1);
  await(w.ended, 1);
  weft_buffer* none = nullptr;
  CHECK(weft_buffer_create(w.device.handle(), WEFT_MEMORY_HOST, 64, &none) == WEFT_ERROR_FIRMWARE_PANIC);
  CHECK(weft_buffer_create(w.device.handle(), WEFT_MEMORY_HBM, 64, &none) == WEFT_ERROR_FIRMWARE_PANIC);
  w.device.mock().configure([](MockFaults& f) { f.paused = false; });
  REQUIRE_OK(weft_device_reset(w.device.handle()));
  weft_queue* queue = w.device.queue();
  weft_event* fill = nullptr;
  REQUIRE_OK(weft_fill(queue, w.buffer, 0, 4096, 0x01010101, nullptr, &fill));
  REQUIRE_OK(weft_event_wait(fill, nullptr));
  void* bytes = nullptr;
  REQUIRE_OK(weft_buffer_map(w.buffer, &bytes));
  CHECK(static_cast<const char*>(bytes)[4095] == 1);
  REQUIRE_OK(weft_buffer_get_info(w.buffer, &after));
  CHECK(after.device_address == before.device_address);
  weft_event_release(fill);
  REQUIRE_OK(weft_queue_release(queue));
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
