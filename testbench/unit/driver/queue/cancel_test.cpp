// Chains and cancelling through the C ABI, against the mock.
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "testbench/unit/driver/device_fixture.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

namespace {

weft_event* chained_nop(weft_queue* queue, uint32_t tag) {
  weft_command_options options = WEFT_INIT(weft_command_options);
  options.chain = 1;
  options.tag = tag;
  weft_event* event = nullptr;
  REQUIRE_OK(weft_nop(queue, &options, &event));
  return event;
}

}  // namespace

TEST_CASE("what follows a failed command of a chain fails with it, and the message names the first") {
  MockDevice device;
  weft_queue* queue = device.queue();
  device.mock().configure([](MockFaults& f) {
    f.paused = true;
    f.fail_next = WEFT_ERROR_COMPUTE_FAULT;
  });
  weft_event* events[] = {chained_nop(queue, 70), chained_nop(queue, 71), nop(queue), nop(queue)};
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  const weft_status expected[] = {WEFT_ERROR_COMPUTE_FAULT, WEFT_ERROR_DEPENDENCY_FAILED, WEFT_ERROR_DEPENDENCY_FAILED,
                                  WEFT_ERROR_OK};
  for (int i = 0; i < 4; i++) {
    CAPTURE(i);
    CHECK(weft_event_wait(events[i], nullptr) == expected[i]);
    if (i == 2) CHECK_THAT(last_message(), Contains("(tag 70) of queue 1 failed first, with COMPUTE_FAULT"));
    weft_event_release(events[i]);
  }
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a cancelled command ends once, with CANCELLED, and its neighbours do not notice") {
  MockDevice device;
  weft_queue* queue = device.queue();
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  weft_event* events[] = {nop(queue), nop(queue), nop(queue)};
  REQUIRE_OK(weft_event_cancel(events[1]));
  CHECK(weft_event_wait(events[1], nullptr) == WEFT_ERROR_CANCELLED);
  CHECK_THAT(last_message(), Contains("CANCELLED: at the caller's wish"));
  CHECK(query(events[0]).done == 0);
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  REQUIRE_OK(weft_event_wait(events[0], nullptr));
  REQUIRE_OK(weft_event_wait(events[2], nullptr));
  REQUIRE_OK(weft_event_cancel(events[0]));  // it has ended: nothing happens
  for (weft_event* event : events) weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
  const auto statistics = device.statistics();
  CHECK(statistics.completed == statistics.submitted);
  CHECK(statistics.duplicate_completions + statistics.late_completions + statistics.unknown_completions == 0);
}

TEST_CASE("a queue that is cancelled ends what it has and takes more") {
  MockDevice device;
  weft_queue* queue = device.queue(8);
  REQUIRE_OK(weft_queue_cancel(queue));
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  std::vector<weft_event*> events;
  for (int i = 0; i < 8; i++) events.push_back(nop(queue));
  REQUIRE_OK(weft_queue_cancel(queue));
  for (weft_event* event : events) {
    CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_CANCELLED);
    weft_event_release(event);
  }
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  weft_event* event = nop(queue);
  REQUIRE_OK(weft_event_wait(event, nullptr));
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a device that is gone or closed says so to who cancels, and the event still ends once") {
  MockDevice device;
  weft_queue* queue = device.queue();
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  weft_event* event = nop(queue);
  device.mock().die();
  REQUIRE_OK(weft_event_cancel(event));  // it has ended, with the device
  CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_DEVICE_LOST);
  weft_event_release(event);
  (void)!weft_queue_release(queue);
}

TEST_CASE("cancelling a command that has just ended cancels none that has its queue's id and its own by now") {
  Latch latch;
  auto transport = std::make_unique<MockTransport>(nano(), MockFaults{});
  MockTransport& mock = *transport;
  const auto device = Device::open(std::move(transport)).value();
  mock.configure([](MockFaults& f) { f.paused = true; });
  Command command;
  command.opcode = WEFT_QUEUE_OPCODE_NOP;
  const auto submit = [&](Queue& queue, std::vector<std::shared_ptr<const void>> resources) {
    auto event = std::make_shared<Event>(queue.id(), 0, command.opcode);
    event->hold(std::move(resources));
    REQUIRE(device->submit(queue, Submission{event, command}).ok());
    return event;
  };
  const auto queue = device->create_queue({8, 8}).value();
  const auto first = submit(*queue, {latch.resource()}), second = submit(*queue, {});
  mock.run(2);
  std::thread taker([&] { device->poll(); });  // takes both, and is held up while it ends the first
  await(latch.reached);
  REQUIRE(device->delete_queue(queue).ok());
  const auto heir = device->create_queue({8, 8}).value();
  const auto third = submit(*heir, {}), fourth = submit(*heir, {});
  REQUIRE(heir->id() == queue->id());
  REQUIRE(fourth->command_id() == second->command_id());
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    latch.open = true;
  });
  CHECK(device->cancel(*second).ok());
  opener.join();
  taker.join();
  CHECK(second->ending().status.ok());
  mock.configure([](MockFaults& f) { f.paused = false; });
  for (const auto& event : {third, fourth}) {
    REQUIRE(device->wait(*event, {}).ok());
    CHECK(event->ending().status.ok());
  }
  REQUIRE(device->close(0).ok());
}

TEST_CASE("who cancels while another thread ends the events of a lost device waits until they have ended") {
  const bool all = GENERATE(false, true);
  CAPTURE(all);
  Latch latch;
  auto transport = std::make_unique<SlowToDisconnect>(latch);
  MockTransport& mock = *transport;
  const auto device = Device::open(std::move(transport)).value();
  mock.configure([](MockFaults& f) { f.paused = true; });
  const auto queue = device->create_queue({8, 8}).value();
  Command command;
  command.opcode = WEFT_QUEUE_OPCODE_NOP;
  const auto submit = [&] {
    auto event = std::make_shared<Event>(queue->id(), 0, command.opcode);
    REQUIRE(device->submit(*queue, Submission{event, command}).ok());
    return event;
  };
  const auto first = submit(), second = submit();
  mock.die();
  // This or another thread of the driver finds the device lost, and is held up.
  std::thread waiter([&] { (void)device->wait(*first, {}).ok(); });
  await(latch.reached);
  CHECK_FALSE(second->done());
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    latch.open = true;
  });
  CHECK((all ? device->cancel_all(*queue) : device->cancel(*second)).ok());
  CHECK(second->done());
  opener.join();
  waiter.join();
  CHECK(second->ending().status.code() == WEFT_ERROR_DEVICE_LOST);
  (void)device->close(0).ok();
}
