// Timeline semaphores through the C ABI, against the mock.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

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

weft_event* wait(weft_queue* queue, weft_semaphore* s, uint64_t value) {
  weft_event* event = nullptr;
  REQUIRE_OK(weft_wait(queue, s, value, nullptr, &event));
  return event;
}

void signal_with_nop(weft_queue* queue, weft_semaphore* s, uint64_t value, uint32_t tag) {
  weft_command_options options = WEFT_INIT(weft_command_options);
  options.signal_semaphore = s;
  options.signal_value = value;
  options.tag = tag;
  REQUIRE_OK(weft_nop(queue, &options, nullptr));
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

TEST_CASE("a reset or halt of a queue fails what its dropped commands owed, and names the oldest of them") {
  const bool halt = GENERATE(false, true);
  CAPTURE(halt);
  MockDevice device;
  weft_queue *one = device.queue(), *two = device.queue(), *three = device.queue();
  weft_semaphore *gate = semaphore(device), *owed = semaphore(device, 3), *other = semaphore(device);
  weft_semaphore* whole = semaphore(device);
  signal_with_nop(one, whole, 4, 0);  // done before
  weft_event* first = wait(one, gate, 1);
  signal_with_nop(one, owed, 5, 41);
  signal_with_nop(one, owed, 9, 42);
  signal_with_nop(one, other, 1, 43);
  weft_event *waiter = wait(two, owed, 7), *behind = wait(three, other, 1);
  if (halt) {
    weft_queue_info info = WEFT_INIT(weft_queue_info);
    REQUIRE_OK(weft_queue_get_info(one, &info));
    device.mock().halt_queue(info.id, 777);
  } else {
    weft_reset_report report = WEFT_INIT(weft_reset_report);
    REQUIRE_OK(weft_reset(device.handle(), one, WEFT_RESET_LEVEL_QUEUE, &report));
    CHECK(report.innocent == 4);
    uint64_t value = 0;
    CHECK(weft_semaphore_get_value(owed, &value) == WEFT_ERROR_DEPENDENCY_FAILED);  // as soon as the reset is over
    CHECK(weft_semaphore_get_value(other, &value) == WEFT_ERROR_DEPENDENCY_FAILED);
  }
  weft_wait_options limits = WEFT_INIT(weft_wait_options);
  limits.timeout_ms = 5000;
  const std::string cause = halt ? "BAD_DOORBELL" : "ABORTED_BY_RESET";
  CHECK(weft_event_wait(waiter, &limits) == WEFT_ERROR_DEPENDENCY_FAILED);
  CHECK_THAT(last_message(), Contains("(tag 41) of queue 1 failed first, with " + cause));
  CHECK(weft_event_wait(behind, &limits) == WEFT_ERROR_DEPENDENCY_FAILED);
  CHECK_THAT(last_message(), Contains("(tag 43) of queue 1 failed first, with " + cause));
  CHECK(weft_semaphore_wait(owed, 4, &limits) == WEFT_ERROR_DEPENDENCY_FAILED);
  CHECK(value_of(whole) == 4);
  CHECK(value_of(gate) == 0);
  CHECK(weft_event_wait(first, nullptr) == (halt ? WEFT_ERROR_BAD_DOORBELL : WEFT_ERROR_ABORTED_BY_RESET));
  REQUIRE_OK(weft_semaphore_signal(gate, 1));  // it owes nothing to nobody, and goes on
  for (weft_event* event : {first, waiter, behind}) weft_event_release(event);
  for (weft_semaphore* s : {gate, owed, other, whole}) weft_semaphore_release(s);
  (void)!weft_queue_release(one);
  REQUIRE_OK(weft_queue_release(two));
  REQUIRE_OK(weft_queue_release(three));
}

TEST_CASE("a halted queue that owes to every semaphore fails them all, more than the admin ring holds") {
  MockDevice device;
  weft_queue *one = device.queue(128), *two = device.queue(128);
  weft_queue_info info = WEFT_INIT(weft_queue_info);
  REQUIRE_OK(weft_queue_get_info(one, &info));
  static_assert(WEFT_LIMIT_TIMELINES > WEFT_LIMIT_ADMIN_RING_ENTRIES);
  std::vector<weft_semaphore*> all;
  for (uint32_t i = 0; i < WEFT_LIMIT_TIMELINES; i++) all.push_back(semaphore(device));
  weft_event* gate = wait(one, all[0], 1);
  for (size_t i = 1; i < all.size(); i++) signal_with_nop(one, all[i], 1, static_cast<uint32_t>(i));
  weft_event* waiter = wait(two, all.back(), 1);
  for (size_t i = 1; i < all.size(); i += 2) weft_semaphore_release(std::exchange(all[i], nullptr));
  device.mock().halt_queue(info.id, 777);
  weft_wait_options limits = WEFT_INIT(weft_wait_options);
  limits.timeout_ms = 10000;
  CHECK(weft_event_wait(waiter, &limits) == WEFT_ERROR_DEPENDENCY_FAILED);
  CHECK_THAT(last_message(), Contains("(tag 63) of queue 1"));
  CHECK(weft_event_wait(gate, nullptr) == WEFT_ERROR_BAD_DOORBELL);
  for (size_t i = 2; i < all.size(); i += 2) {
    CAPTURE(i);
    CHECK(weft_semaphore_wait(all[i], 1, &limits) == WEFT_ERROR_DEPENDENCY_FAILED);
  }
  weft_event_release(gate);
  weft_event_release(waiter);
  for (size_t i = 1; i < all.size(); i += 2) {  // the ids of those that were released are free, and as new
    all[i] = semaphore(device, 8);
    CHECK(value_of(all[i]) == 8);
  }
  for (weft_semaphore* s : all) weft_semaphore_release(s);
  (void)!weft_queue_release(one);
  REQUIRE_OK(weft_queue_release(two));
}
