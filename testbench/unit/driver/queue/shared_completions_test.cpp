// Several queues on one completion ring: who may share, whose completion it is, and what outlives what.
#include <catch2/catch.hpp>

#include "testbench/unit/driver/device_fixture.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

namespace {

weft_queue* host_queue(MockDevice& device, uint32_t entries, uint32_t completion_entries) {
  weft_queue_options options = WEFT_INIT(weft_queue_options);
  options.entries = entries;
  options.completion_entries = completion_entries;
  weft_queue* queue = nullptr;
  REQUIRE_OK(weft_queue_create(device.handle(), &options, &queue));
  return queue;
}

weft_status make_guest(MockDevice& device, weft_queue* host, uint32_t entries, weft_queue** queue) {
  weft_queue_options options = WEFT_INIT(weft_queue_options);
  options.entries = entries;
  options.completions = host;
  return weft_queue_create(device.handle(), &options, queue);
}

weft_queue* guest_queue(MockDevice& device, weft_queue* host, uint32_t entries) {
  weft_queue* queue = nullptr;
  REQUIRE_OK(make_guest(device, host, entries, &queue));
  return queue;
}

/// Submits `count` no-ops and waits for them.
void work(weft_queue* queue, int count) {
  std::vector<weft_event*> events;
  for (int i = 0; i < count; i++) events.push_back(nop(queue));
  for (weft_event* event : events) {
    REQUIRE_OK(weft_event_wait(event, nullptr));
    weft_event_release(event);
  }
}

}  // namespace

TEST_CASE("three queues of one completion ring each see their own commands end, over many laps") {
  MockDevice device;
  weft_queue* queues[3] = {host_queue(device, 4, 16), nullptr, nullptr};
  queues[1] = guest_queue(device, queues[0], 8);
  queues[2] = guest_queue(device, queues[0], 4);
  for (int round = 0; round < 100; round++) {
    work(queues[round % 3], 1 + round % 4);
    work(queues[1], 8);
  }
  const auto counts = device.statistics();
  CHECK(counts.bad_completions == 0);
  CHECK(counts.duplicate_completions == 0);
  CHECK(counts.completed == counts.submitted);
  for (weft_queue* queue : queues) REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a completion ring takes no more queues than its size allows, and the message has the numbers") {
  MockDevice device;
  weft_queue* host = host_queue(device, 8, 16);
  weft_queue* guest = guest_queue(device, host, 4);
  weft_queue* refused = nullptr;
  CHECK(make_guest(device, host, 8, &refused) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(last_message(), Contains("has 16 entries for queues of 12 together: 8 more do not fit"));
  CHECK(make_guest(device, guest, 2, &refused) == WEFT_ERROR_INVALID_STATE);
  CHECK_THAT(last_message(), Contains("feeds that of queue 1 itself"));
  MockDevice other;
  weft_queue* stranger = host_queue(other, 2, 16);
  CHECK(make_guest(device, stranger, 2, &refused) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(last_message(), Contains("is of another device"));
  weft_queue_options options = WEFT_INIT(weft_queue_options);
  options.entries = 2;
  options.completion_entries = 4;
  options.completions = host;
  CHECK(weft_queue_create(device.handle(), &options, &refused) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(refused == nullptr);
  REQUIRE_OK(weft_queue_release(guest_queue(device, host, 4)));  // room is given back
  REQUIRE_OK(weft_queue_release(guest_queue(device, host, 4)));
  for (weft_queue* queue : {guest, host}) REQUIRE_OK(weft_queue_release(queue));
  REQUIRE_OK(weft_queue_release(stranger));
}

TEST_CASE("guests work on when the queue of their ring is released, and its id is free after the last") {
  MockDevice device;
  weft_queue* host = host_queue(device, 2, 8);
  weft_queue* guests[] = {guest_queue(device, host, 2), guest_queue(device, host, 4)};
  work(host, 2);
  REQUIRE_OK(weft_queue_release(host));
  for (weft_queue* guest : guests) work(guest, 2);
  weft_queue* next = host_queue(device, 2, 2);
  CHECK(next->queue->id() == 4);  // 1 stands for the ring
  for (weft_queue* guest : guests) {
    work(guest, 2);
    REQUIRE_OK(weft_queue_release(guest));
  }
  weft_queue* again = host_queue(device, 2, 2);
  CHECK(again->queue->id() == 1);
  work(again, 2);
  for (weft_queue* queue : {next, again}) REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("the reset of a queue leaves the others of its completion ring alone") {
  const bool of_host = GENERATE(true, false);
  CAPTURE(of_host);
  MockDevice device;
  weft_queue* host = host_queue(device, 4, 8);
  weft_queue* guest = guest_queue(device, host, 4);
  weft_queue* victim = of_host ? host : guest;
  weft_queue* bystander = of_host ? guest : host;
  for (int round = 0; round < 5; round++) {
    work(host, 3);
    work(guest, 2);
    device.mock().configure([](MockFaults& f) { f.paused = true; });
    weft_event* lost[] = {nop(victim), nop(victim)};
    weft_event* kept = nop(bystander);
    weft_reset_report report = WEFT_INIT(weft_reset_report);
    REQUIRE_OK(weft_reset(device.handle(), victim, WEFT_RESET_LEVEL_QUEUE, &report));
    for (weft_event* event : lost) {
      CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_ABORTED_BY_RESET);
      weft_event_release(event);
    }
    device.mock().configure([](MockFaults& f) { f.paused = false; });
    REQUIRE_OK(weft_event_wait(kept, nullptr));
    weft_event_release(kept);
  }
  CHECK(device.statistics().bad_completions == 0);
  for (weft_queue* queue : {guest, host}) REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a guest is reset and works on after the queue of its ring was released, also as the last one on the ring") {
  MockDevice device;
  weft_queue* host = host_queue(device, 4, 16);
  weft_queue* guests[] = {guest_queue(device, host, 4), guest_queue(device, host, 2)};
  for (weft_queue* queue : {host, guests[0], guests[1]}) work(queue, 2);
  REQUIRE_OK(weft_queue_release(host));
  for (int round = 0; round < 6; round++) {
    CAPTURE(round);
    if (round == 3) REQUIRE_OK(weft_queue_release(guests[1]));
    device.mock().configure([](MockFaults& f) { f.paused = true; });
    weft_event* lost[] = {nop(guests[0]), nop(guests[0])};
    REQUIRE_OK(weft_reset(device.handle(), guests[0], WEFT_RESET_LEVEL_QUEUE, nullptr));
    device.mock().configure([](MockFaults& f) { f.paused = false; });
    for (weft_event* event : lost) {
      CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_ABORTED_BY_RESET);
      weft_event_release(event);
    }
    for (int lap = 0; lap < 10; lap++) work(guests[0], 4);
    if (round < 3) work(guests[1], 2);
  }
  const auto counts = device.statistics();
  CHECK(counts.bad_completions + counts.late_completions + counts.unknown_completions == 0);
  REQUIRE_OK(weft_queue_release(guests[0]));
  weft_queue* again = host_queue(device, 2, 2);
  CHECK(again->queue->id() == 1);
  work(again, 2);
  REQUIRE_OK(weft_queue_release(again));
}

TEST_CASE("a completion for a queue that is not on the ring ends nothing and is counted") {
  MockDevice device;
  weft_queue* host = host_queue(device, 4, 8);
  weft_queue* apart = host_queue(device, 4, 8);
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  weft_event* event = nop(host);
  device.mock().inject_completion(host->queue->id(), device.mock().pending_id(host->queue->id(), 0), 0, 1,
                                  apart->queue->id());
  CHECK(query(event).done == 0);
  CHECK(device.statistics().bad_completions == 1);
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  REQUIRE_OK(weft_event_wait(event, nullptr));
  weft_event_release(event);
  for (weft_queue* queue : {apart, host}) REQUIRE_OK(weft_queue_release(queue));
}
