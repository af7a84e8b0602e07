// Timeline semaphores through the C ABI, against the mock.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "testbench/unit/driver/device_fixture.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

namespace {

weft_semaphore* semaphore(MockDevice& device, uint64_t value = 0) {
  weft_semaphore* made = nullptr;
  REQUIRE_OK(weft_semaphore_create(device.handle(), value, &made));
  return made;
}

uint64_t value_of(weft_semaphore* s) {
  uint64_t value = 0;
  REQUIRE_OK(weft_semaphore_get_value(s, &value));
  return value;
}

}  // namespace

TEST_CASE("a command waits in one queue for what a command of another signals") {
  MockDevice device;
  weft_queue *one = device.queue(), *two = device.queue();
  weft_semaphore* s = semaphore(device, 3);
  weft_event *waiter = nullptr, *behind = nop(two), *signaller = nullptr;
  REQUIRE_OK(weft_event_wait(behind, nullptr));
  weft_event_release(behind);
  REQUIRE_OK(weft_wait(two, s, 5, nullptr, &waiter));
  behind = nop(two);
  CHECK(query(waiter).done == 0);
  CHECK(query(behind).done == 0);
  weft_command_options options = WEFT_INIT(weft_command_options);
  options.signal_semaphore = s;
  options.signal_value = 5;
  REQUIRE_OK(weft_nop(one, &options, &signaller));
  REQUIRE_OK(weft_event_wait(waiter, nullptr));
  REQUIRE_OK(weft_event_wait(behind, nullptr));
  CHECK(value_of(s) == 5);
  REQUIRE_OK(weft_signal(one, s, 9, nullptr, nullptr));
  REQUIRE_OK(weft_semaphore_wait(s, 9, nullptr));
  for (weft_event* event : {waiter, behind, signaller}) weft_event_release(event);
  REQUIRE_OK(weft_queue_release(one));
  REQUIRE_OK(weft_queue_release(two));
  weft_semaphore_release(s);
  weft_semaphore_release(nullptr);
}

TEST_CASE("the host signals and waits") {
  MockDevice device;
  weft_queue* queue = device.queue();
  weft_semaphore* s = semaphore(device);
  weft_event* event = nullptr;
  REQUIRE_OK(weft_wait(queue, s, 2, nullptr, &event));
  REQUIRE_OK(weft_semaphore_signal(s, 1));
  CHECK(query(event).done == 0);
  std::atomic<bool> woken{false};
  std::thread waiter([&] { woken = weft_semaphore_wait(s, 2, nullptr) == WEFT_ERROR_OK; });
  REQUIRE_OK(weft_semaphore_signal(s, 2));
  waiter.join();
  CHECK(woken);
  REQUIRE_OK(weft_event_wait(event, nullptr));
  CHECK(weft_semaphore_signal(s, 2) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(last_message(), Contains("stands at 2 and only grows: a signal of 2"));
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
  weft_semaphore_release(s);
}

TEST_CASE("a wait until the device is idle says which queue waits for what") {
  MockDevice device;
  weft_queue *one = device.queue(), *two = device.queue();
  weft_semaphore *a = semaphore(device), *b = semaphore(device);
  weft_event *first = nullptr, *second = nullptr;
  REQUIRE_OK(weft_wait(one, a, 1, nullptr, &first));  // each waits for what the other would signal
  REQUIRE_OK(weft_signal(one, b, 1, nullptr, nullptr));
  REQUIRE_OK(weft_wait(two, b, 1, nullptr, &second));
  REQUIRE_OK(weft_signal(two, a, 1, nullptr, nullptr));
  const weft_wait_options options = until_idle();
  CHECK(weft_event_wait(second, &options) == WEFT_ERROR_TIMEOUT_WAIT);
  CHECK_THAT(last_message(), Contains("nothing is pending on the device") && Contains("queue 1: command") &&
                                 Contains("waits for semaphore 1 to reach 1, which stands at 0; queue 2: command") &&
                                 Contains("waits for semaphore 2 to reach 1, which stands at 0"));
  CHECK(weft_semaphore_wait(a, 7, &options) == WEFT_ERROR_TIMEOUT_WAIT);
  CHECK_THAT(last_message(), Contains("the wait for semaphore 1 to reach 7, which stands at 0 has not ended"));
  REQUIRE_OK(weft_event_cancel(first));  // and so it is solved
  CHECK(weft_event_wait(first, nullptr) == WEFT_ERROR_CANCELLED);
  REQUIRE_OK(weft_event_wait(second, nullptr));
  weft_event_release(first);
  weft_event_release(second);
  REQUIRE_OK(weft_queue_release(one));
  REQUIRE_OK(weft_queue_release(two));
  weft_semaphore_release(a);
  weft_semaphore_release(b);
}

TEST_CASE("a failed producer fails those that wait, on the device and on the host, with its name") {
  MockDevice device;
  weft_queue *one = device.queue(), *two = device.queue();
  weft_semaphore* s = semaphore(device);
  weft_event* waiter = nullptr;
  REQUIRE_OK(weft_wait(two, s, 1, nullptr, &waiter));
  device.mock().configure([](MockFaults& f) { f.fail_next = WEFT_ERROR_DMA_FAULT; });
  weft_command_options options = WEFT_INIT(weft_command_options);
  options.tag = 33;
  REQUIRE_OK(weft_signal(one, s, 1, &options, nullptr));
  CHECK(weft_event_wait(waiter, nullptr) == WEFT_ERROR_DEPENDENCY_FAILED);
  CHECK_THAT(last_message(), Contains("(tag 33) of queue 1 failed first, with DMA_FAULT"));
  CHECK(weft_semaphore_wait(s, 1, nullptr) == WEFT_ERROR_DEPENDENCY_FAILED);
  CHECK_THAT(last_message(), Contains("semaphore 1 stays at 0") && Contains("(tag 33) of queue 1 failed first"));
  uint64_t value = 7;
  CHECK(weft_semaphore_get_value(s, &value) == WEFT_ERROR_DEPENDENCY_FAILED);
  CHECK(value == 7);
  CHECK(weft_semaphore_signal(s, 5) == WEFT_ERROR_DEPENDENCY_FAILED);
  REQUIRE_OK(weft_semaphore_wait(s, 0, nullptr));  // what was reached stays reached
  weft_event_release(waiter);
  REQUIRE_OK(weft_queue_release(one));
  REQUIRE_OK(weft_queue_release(two));
  weft_semaphore_release(s);
}

TEST_CASE("wrong semaphores are refused before they are submitted") {
  MockDevice device, other;
  weft_queue* queue = device.queue();
  weft_semaphore *s = semaphore(device, 4), *foreign = semaphore(other);
  CHECK(weft_wait(queue, foreign, 1, nullptr, nullptr) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(last_message(), Contains("belongs to another device"));
  CHECK(weft_signal(queue, s, 4, nullptr, nullptr) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(last_message(), Contains("semaphore 1 stands at 4 and only grows"));
  CHECK(weft_wait(queue, nullptr, 1, nullptr, nullptr) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(weft_signal(queue, nullptr, 1, nullptr, nullptr) == WEFT_ERROR_INVALID_ARGUMENT);
  weft_command_options options = WEFT_INIT(weft_command_options);
  options.size--;
  CHECK(weft_signal(queue, s, 9, &options, nullptr) == WEFT_ERROR_INVALID_ARGUMENT);
  REQUIRE_OK(weft_device_reset(device.handle()));
  CHECK(weft_semaphore_signal(s, 9) == WEFT_ERROR_INVALID_STATE);
  CHECK(weft_semaphore_wait(s, 9, nullptr) == WEFT_ERROR_INVALID_STATE);
  weft_queue* fresh = device.queue();
  CHECK(weft_wait(fresh, s, 9, nullptr, nullptr) == WEFT_ERROR_INVALID_STATE);
  weft_semaphore_release(s);
  weft_semaphore_release(foreign);
  REQUIRE_OK(weft_queue_release(fresh));
  (void)!weft_queue_release(queue);
}

TEST_CASE("semaphores run out and come back, and one that a command uses stays until the command has ended") {
  MockDevice device;
  weft_queue* queue = device.queue();
  std::vector<weft_semaphore*> all;
  for (uint32_t i = 0; i < WEFT_LIMIT_TIMELINES; i++) all.push_back(semaphore(device));
  weft_semaphore* more = nullptr;
  CHECK(weft_semaphore_create(device.handle(), 0, &more) == WEFT_ERROR_BUSY);
  CHECK(more == nullptr);
  weft_event* event = nullptr;
  REQUIRE_OK(weft_wait(queue, all[0], 1, nullptr, &event));
  weft_semaphore_release(all[0]);
  CHECK(weft_semaphore_create(device.handle(), 0, &more) == WEFT_ERROR_BUSY);
  weft_semaphore_release(all[1]);
  all[1] = semaphore(device, 5);
  CHECK(value_of(all[1]) == 5);
  REQUIRE_OK(weft_event_cancel(event));
  weft_event_release(event);
  all[0] = semaphore(device);
  for (weft_semaphore* s : all) weft_semaphore_release(s);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a host wait ends with the device") {
  MockDevice device;
  weft_semaphore* s = semaphore(device);
  device.mock().configure([](MockFaults& f) { f.complete_on_alarm = true; });  // the alarm says nothing
  weft_status status = WEFT_ERROR_OK;
  std::thread waiter([&] { status = weft_semaphore_wait(s, 1, nullptr); });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  device.mock().die();
  waiter.join();
  CHECK(status == WEFT_ERROR_DEVICE_LOST);
  weft_semaphore_release(s);
}
