// How a queue is made: priority and interrupt coalescing.
#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "driver/transport/registers.hpp"
#include "testbench/unit/driver/hooked_mock.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

TEST_CASE("a queue with coalescing raises one interrupt for several completions, and the rest with its timer") {
  MockDevice device;
  weft_queue_options options = WEFT_INIT(weft_queue_options);
  options.entries = 16;
  options.priority = WEFT_QUEUE_PRIORITY_HIGH;
  options.coalesce_count = 4;
  options.coalesce_cycles = 1000;
  weft_queue* queue = nullptr;
  REQUIRE_OK(weft_queue_create(device.handle(), &options, &queue));
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  std::vector<weft_event*> events;
  for (int i = 0; i < 10; i++) events.push_back(nop(queue));
  const uint64_t before = device.mock().interrupts_raised();
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  CHECK(device.mock().interrupts_raised() == before + 3);
  for (weft_event* event : events) {
    REQUIRE_OK(weft_event_wait(event, nullptr));
    weft_event_release(event);
  }
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a priority or a coalescing that cannot be is refused, and no queue is left behind") {
  MockDevice device;
  weft_queue_options options = WEFT_INIT(weft_queue_options);
  weft_queue* queue = nullptr;
  options.entries = 16;
  options.priority = 3;
  CHECK(weft_queue_create(device.handle(), &options, &queue) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(last_message(), Contains("a queue of priority 3: 0 to 2"));
  options.priority = WEFT_QUEUE_PRIORITY_LOW;
  options.coalesce_count = 2;
  CHECK(weft_queue_create(device.handle(), &options, &queue) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(last_message(), Contains("one interrupt for 2 completions after 0 cycles"));
  options.coalesce_count = 33;
  options.coalesce_cycles = 1;
  CHECK(weft_queue_create(device.handle(), &options, &queue) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(queue == nullptr);
  std::vector<weft_queue*> all(WEFT_LIMIT_IO_QUEUES);
  for (weft_queue*& each : all) each = device.queue(2);  // all ids are free
  for (weft_queue* each : all) REQUIRE_OK(weft_queue_release(each));
}

TEST_CASE(
    "the doorbell of a completion ring is set to 0 before the device has the ring, and that of a shared one is not") {
  HookedDevice device;
  std::vector<std::pair<uint64_t, uint64_t>> writes;  // (offset, value) of doorbells
  device.mock->set_write_hook([&](Region region, uint64_t offset, uint64_t value) {
    if (region == Region::kDoorbells) writes.emplace_back(offset, value);
  });
  weft_queue_options options = WEFT_INIT(weft_queue_options);
  options.entries = 16;
  options.completion_entries = 64;
  weft_queue *queue = nullptr, *guest = nullptr;
  REQUIRE_OK(weft_queue_create(&device.handle, &options, &queue));
  const uint64_t completions = kDoorbellStride * queue->queue->id() + kCompletionDoorbell, admin = 0;
  REQUIRE(writes.size() >= 2);
  CHECK(writes[0] == std::pair<uint64_t, uint64_t>(completions, 0));
  CHECK(writes[1].first == admin);
  writes.clear();
  options.completions = queue;
  options.completion_entries = 0;
  REQUIRE_OK(weft_queue_create(&device.handle, &options, &guest));
  REQUIRE_FALSE(writes.empty());
  CHECK(writes[0].first == admin);
  REQUIRE_OK(weft_queue_release(guest));
  REQUIRE_OK(weft_queue_release(queue));
}
