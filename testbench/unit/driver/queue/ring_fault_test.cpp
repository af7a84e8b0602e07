// What a device can do wrong with rings and interrupts, and what the callers notice of it: nothing, or a bounded wait.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <thread>

#include "driver/queue/ring.hpp"
#include "testbench/unit/driver/device_fixture.hpp"

using namespace weft::driver;
using namespace weft::driver::test;

namespace {

void pause(MockDevice& device, bool paused) {
  device.mock().configure([paused](MockFaults& f) { f.paused = paused; });
}

}  // namespace

TEST_CASE("a flip of any bit of a completion is noticed by its check, or by its phase") {
  weft_completion_entry good{};
  good.start_cycle = 0x123456789abcdef0;
  good.end_cycle = 0x0fedcba987654321;
  good.tag = 0xa5a55a5a;
  good.queue_head = 17;
  good.command_id = 0x1003;
  good.queue_id = 2;
  good.status = WEFT_STATUS(1, WEFT_ERROR_CLASS_UNIT, WEFT_ERROR_DMA_FAULT, 0, 1);
  good.status = WEFT_STATUS_WITH_CHECK(good.status, weft::crc32c(&good, sizeof good));
  REQUIRE(completion_check_holds(good));
  for (uint32_t bit = 0; bit < 8 * sizeof good; bit++) {
    weft_completion_entry entry = good;
    reinterpret_cast<uint8_t*>(&entry)[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    CAPTURE(bit);
    CHECK_FALSE(completion_check_holds(entry));
  }
}

TEST_CASE("completions that come out of order end their own commands") {
  MockDevice device;
  weft_queue* queue = device.queue(8);
  const uint32_t id = queue->queue->id();
  pause(device, true);
  weft_event* events[] = {nop(queue), nop(queue), nop(queue)};
  for (const size_t n : {2u, 0u, 1u}) {
    device.mock().inject_completion(id, device.mock().pending_id(id, n), WEFT_ERROR_OK, 3);
    CHECK(query(events[n]).done == 1);
  }
  CHECK(device.statistics().completed == device.statistics().submitted);
  pause(device, false);  // the mock completes them once more
  weft_event* next = nop(queue);
  REQUIRE_OK(weft_event_wait(next, nullptr));
  weft_event_release(next);
  CHECK(device.statistics().duplicate_completions == 3);
  for (weft_event* event : events) weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a coalescing timer that never fires costs the poll's latency, not the completion") {
  MockDevice device;
  weft_queue_options options = WEFT_INIT(weft_queue_options);
  options.entries = 16;
  options.coalesce_count = 8;
  options.coalesce_cycles = 1000;
  weft_queue* queue = nullptr;
  REQUIRE_OK(weft_queue_create(device.handle(), &options, &queue));
  device.mock().configure([](MockFaults& f) { f.lose_interrupts = f.paused = f.complete_on_alarm = true; });
  weft_event* event = nop(queue);
  REQUIRE_OK(weft_event_wait(event, nullptr));
  CHECK(device.statistics().lost_interrupts >= 1);
  device.mock().configure([](MockFaults& f) { f.lose_interrupts = f.paused = f.complete_on_alarm = false; });
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a completion that lands between drain and sleep is found without another interrupt") {
  MockDevice device;
  weft_queue* queue = device.queue(8);
  for (int round = 0; round < 50; round++) {
    pause(device, true);
    weft_event *first = nop(queue), *second = nop(queue);
    device.mock().run(1);
    CHECK(query(first).done == 1);  // drained, and its interrupt is still in the eventfd
    device.mock().configure([](MockFaults& f) { f.lose_interrupts = true; });
    device.mock().run(1);  // lands now, silently
    device.mock().configure([](MockFaults& f) { f.lose_interrupts = false; });
    REQUIRE_OK(weft_event_wait(second, nullptr));
    for (weft_event* event : {first, second}) weft_event_release(event);
  }
  pause(device, false);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("interrupts during a reset, before any queue is ready, and after it wake nobody for long") {
  MockDevice device;
  weft_queue* queue = device.queue(8);
  for (int round = 0; round < 5; round++) {
    pause(device, true);
    weft_event* event = nop(queue);
    weft_reset_report report = WEFT_INIT(weft_reset_report);
    device.mock().raise_vector(queue->queue->id());
    device.mock().raise_vector(0);
    REQUIRE_OK(weft_reset(device.handle(), queue, WEFT_RESET_LEVEL_QUEUE, &report));
    device.mock().raise_vector(queue->queue->id());
    CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_ABORTED_BY_RESET);
    weft_event_release(event);
    pause(device, false);
    weft_event* next = nop(queue);
    REQUIRE_OK(weft_event_wait(next, nullptr));
    weft_event_release(next);
  }
  CHECK(device.statistics().completed <= device.statistics().submitted);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a log ring that overflows loses its oldest records and says how many") {
  MockDevice device;
  weft_log_record record{};
  uint32_t count = 0;
  uint64_t lost = 0;
  REQUIRE_OK(weft_device_read_log(device.handle(), &record, 1, &count, &lost));
  REQUIRE(count == 1);
  const uint32_t first = record.sequence;
  constexpr uint32_t kWritten = WEFT_LIMIT_LOG_ENTRIES + 40;
  for (uint32_t i = 0; i < kWritten; i++) device.mock().write_log(i);
  std::vector<weft_log_record> records(2 * WEFT_LIMIT_LOG_ENTRIES);
  uint64_t all_lost = 0;
  uint32_t seen = 0, last = first;
  for (;;) {
    REQUIRE_OK(
        weft_device_read_log(device.handle(), records.data(), static_cast<uint32_t>(records.size()), &count, &lost));
    all_lost += lost;
    if (count == 0) break;
    for (uint32_t i = 0; i < count; i++) {
      CHECK(records[i].sequence > last);
      last = records[i].sequence;
    }
    seen += count;
  }
  CHECK(last == first + kWritten);
  CHECK(seen + all_lost == kWritten);
}

TEST_CASE("a device that interrupts without end for nothing keeps no wait from its guard") {
  MockDevice device({.complete_on_alarm = true});  // the alarm says nothing
  weft_queue* queue = device.queue();
  weft_semaphore* semaphore = nullptr;
  REQUIRE_OK(weft_semaphore_create(device.handle(), 0, &semaphore));
  weft_event* event = nullptr;
  REQUIRE_OK(weft_wait(queue, semaphore, 1, nullptr, &event));
  std::atomic<bool> stop{false}, ended{false};
  std::thread storm([&] {
    while (!stop) device.mock().raise_vector(1);
  });
  weft_status status = WEFT_ERROR_OK;
  std::string words;
  std::thread waiter([&] {
    weft_wait_options options = WEFT_INIT(weft_wait_options);
    options.guard_ms = 100;
    status = weft_event_wait(event, &options);
    words = last_message();
    ended = true;
  });
  for (int i = 0; i < 20000 && !ended; i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(ended);
  stop = true;
  storm.join();
  waiter.join();
  CHECK(status == WEFT_ERROR_TIMEOUT_WAIT);
  CHECK_THAT(words, Catch::Contains("no device cycle has passed"));
  REQUIRE_OK(weft_semaphore_signal(semaphore, 1));
  REQUIRE_OK(weft_event_wait(event, nullptr));
  weft_event_release(event);
  weft_semaphore_release(semaphore);
  REQUIRE_OK(weft_queue_release(queue));
}
