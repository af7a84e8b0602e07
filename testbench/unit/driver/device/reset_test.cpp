// Resets of a queue, of the core and of the device against the mock; the states of a queue, transition by transition.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "driver/queue/queue_state.hpp"
#include "testbench/unit/driver/device_fixture.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

namespace {

weft_reset_report report_of(weft_device* device, weft_queue* queue, weft_reset_level level) {
  weft_reset_report report = WEFT_INIT(weft_reset_report);
  REQUIRE_OK(weft_reset(device, queue, level, &report));
  CHECK(report.level == level);
  CHECK(report.failed_step == 0);
  CHECK(report.end_cycle >= report.start_cycle);
  return report;
}

void pause(MockDevice& device, bool paused) {
  device.mock().configure([paused](MockFaults& f) { f.paused = paused; });
}

weft_queue_state state_of(weft_queue* queue) { return queue->queue->state(); }

}  // namespace

TEST_CASE("a queue's states follow one another as the table says, and no other way") {
  using S = weft_queue_state;
  using E = QueueEvent;
  const std::vector<std::tuple<S, E, S>> legal{{WEFT_QUEUE_STATE_CREATED, E::kCreated, WEFT_QUEUE_STATE_ACTIVE},
                                               {WEFT_QUEUE_STATE_CREATED, E::kFail, WEFT_QUEUE_STATE_HALTED},
                                               {WEFT_QUEUE_STATE_CREATED, E::kDeleted, WEFT_QUEUE_STATE_DELETED},
                                               {WEFT_QUEUE_STATE_ACTIVE, E::kStop, WEFT_QUEUE_STATE_QUIESCING},
                                               {WEFT_QUEUE_STATE_ACTIVE, E::kFail, WEFT_QUEUE_STATE_HALTED},
                                               {WEFT_QUEUE_STATE_ACTIVE, E::kDeleted, WEFT_QUEUE_STATE_DELETED},
                                               {WEFT_QUEUE_STATE_QUIESCING, E::kDrained, WEFT_QUEUE_STATE_IDLE},
                                               {WEFT_QUEUE_STATE_QUIESCING, E::kFail, WEFT_QUEUE_STATE_HALTED},
                                               {WEFT_QUEUE_STATE_QUIESCING, E::kReset, WEFT_QUEUE_STATE_ACTIVE},
                                               {WEFT_QUEUE_STATE_QUIESCING, E::kDeleted, WEFT_QUEUE_STATE_DELETED},
                                               {WEFT_QUEUE_STATE_IDLE, E::kFail, WEFT_QUEUE_STATE_HALTED},
                                               {WEFT_QUEUE_STATE_IDLE, E::kReset, WEFT_QUEUE_STATE_ACTIVE},
                                               {WEFT_QUEUE_STATE_IDLE, E::kDeleted, WEFT_QUEUE_STATE_DELETED},
                                               {WEFT_QUEUE_STATE_HALTED, E::kReset, WEFT_QUEUE_STATE_ACTIVE},
                                               {WEFT_QUEUE_STATE_HALTED, E::kDeleted, WEFT_QUEUE_STATE_DELETED}};
  for (const S from : {WEFT_QUEUE_STATE_DELETED, WEFT_QUEUE_STATE_ACTIVE, WEFT_QUEUE_STATE_HALTED,
                       WEFT_QUEUE_STATE_QUIESCING, WEFT_QUEUE_STATE_IDLE, WEFT_QUEUE_STATE_CREATED}) {
    for (const E event : {E::kCreated, E::kStop, E::kDrained, E::kFail, E::kReset, E::kDeleted}) {
      CAPTURE(from, queue_event_name(event));
      std::optional<S> expected;
      for (const auto& [f, e, to] : legal) {
        if (f == from && e == event) expected = to;
      }
      CHECK(next_queue_state(from, event) == expected);
    }
  }
}

TEST_CASE("a queue reset ends what it has, guilty and innocent apart, and the same handle goes on") {
  MockDevice device;
  weft_queue *queue = device.queue(8), *other = device.queue(8);
  pause(device, true);
  std::vector<weft_event*> events;
  for (int i = 0; i < 5; i++) events.push_back(nop(queue));
  weft_event* bystander = nop(other);
  device.mock().configure([](MockFaults& f) { f.fail_next = WEFT_ERROR_DMA_FAULT; });
  const auto report = report_of(device.handle(), queue, WEFT_RESET_LEVEL_QUEUE);
  CHECK(report.guilty == 1);
  CHECK(report.innocent == 4);
  CHECK(report.guilty_status == WEFT_ERROR_DMA_FAULT);
  CHECK(query(events[0]).status == WEFT_ERROR_DMA_FAULT);
  for (int i = 1; i < 5; i++) CHECK(query(events[static_cast<size_t>(i)]).status == WEFT_ERROR_ABORTED_BY_RESET);
  CHECK(query(bystander).done == 0);
  CHECK(state_of(queue) == WEFT_QUEUE_STATE_ACTIVE);
  pause(device, false);
  for (int lap = 0; lap < 40; lap++) {
    weft_event* event = nop(queue);
    REQUIRE_OK(weft_event_wait(event, nullptr));
    weft_event_release(event);
  }
  REQUIRE_OK(weft_event_wait(bystander, nullptr));
  for (weft_event* event : events) weft_event_release(event);
  weft_event_release(bystander);
  const auto s = device.statistics();
  CHECK(s.completed == s.submitted);
  CHECK(s.duplicate_completions + s.late_completions + s.unknown_completions == 0);
  REQUIRE_OK(weft_queue_release(queue));
  REQUIRE_OK(weft_queue_release(other));
}

TEST_CASE("a halted queue says so to its callers, and lives again after its reset") {
  MockDevice device;
  weft_queue* queue = device.queue(8);
  weft_queue_info info = WEFT_INIT(weft_queue_info);
  REQUIRE_OK(weft_queue_get_info(queue, &info));
  pause(device, true);
  weft_event* event = nop(queue);
  device.mock().halt_queue(info.id, 777);
  CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_BAD_DOORBELL);
  CHECK(weft_nop(queue, nullptr, nullptr) == WEFT_ERROR_BAD_DOORBELL);
  CHECK_THAT(last_message(), Contains("is halted") && Contains("777"));
  CHECK(state_of(queue) == WEFT_QUEUE_STATE_HALTED);
  pause(device, false);
  (void)report_of(device.handle(), queue, WEFT_RESET_LEVEL_QUEUE);
  weft_event* fine = nop(queue);
  REQUIRE_OK(weft_event_wait(fine, nullptr));
  weft_event_release(fine);
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("an engine reset ends the command on the core only") {
  MockDevice device;
  weft_queue *queue = device.queue(8), *other = device.queue(8);
  pause(device, true);
  weft_event *running = nop(queue), *behind = nop(queue), *bystander = nop(other);
  const auto report = report_of(device.handle(), nullptr, WEFT_RESET_LEVEL_ENGINE);
  CHECK(report.innocent == 1);
  CHECK(report.guilty == 0);
  CHECK(query(running).status == WEFT_ERROR_ABORTED_BY_RESET);
  CHECK(query(behind).done == 0);
  CHECK(query(bystander).done == 0);
  pause(device, false);
  REQUIRE_OK(weft_event_wait(behind, nullptr));
  REQUIRE_OK(weft_event_wait(bystander, nullptr));
  for (weft_event* event : {running, behind, bystander}) weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
  REQUIRE_OK(weft_queue_release(other));
}

TEST_CASE("a reset with nothing in its reach blames nobody for what has failed elsewhere") {
  MockDevice device;
  weft_queue *queue = device.queue(8), *other = device.queue(8);
  device.mock().configure([](MockFaults& f) { f.fail_next = WEFT_ERROR_DMA_FAULT; });
  weft_event* failed = nop(other);  // it has ended on the device, and nobody has looked
  const bool whole_queue = GENERATE(true, false);
  const auto report = whole_queue ? report_of(device.handle(), queue, WEFT_RESET_LEVEL_QUEUE)
                                  : report_of(device.handle(), nullptr, WEFT_RESET_LEVEL_ENGINE);
  CHECK(report.guilty == 0);
  CHECK(report.innocent == 0);
  CHECK(report.guilty_status == WEFT_ERROR_OK);
  CHECK(report.guilty_queue + report.guilty_command + report.guilty_tag == 0);
  CHECK(query(failed).status == WEFT_ERROR_DMA_FAULT);
  weft_event_release(failed);
  REQUIRE_OK(weft_queue_release(queue));
  REQUIRE_OK(weft_queue_release(other));
}

TEST_CASE("an engine reset leaves a command alone that waits for a semaphore, which is not on the core") {
  MockDevice device;
  weft_queue* queue = device.queue(8);
  weft_semaphore* s = nullptr;
  REQUIRE_OK(weft_semaphore_create(device.handle(), 0, &s));
  weft_event* event = nullptr;
  REQUIRE_OK(weft_wait(queue, s, 1, nullptr, &event));
  const auto report = report_of(device.handle(), nullptr, WEFT_RESET_LEVEL_ENGINE);
  CHECK(report.guilty + report.innocent == 0);
  CHECK(query(event).done == 0);
  REQUIRE_OK(weft_semaphore_signal(s, 1));
  REQUIRE_OK(weft_event_wait(event, nullptr));
  weft_event_release(event);
  weft_semaphore_release(s);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("the reset of a queue fails the semaphores that its commands owe, the one on the engine and those behind") {
  MockDevice device;
  weft_queue* queue = device.queue(8);
  weft_semaphore* owed[2] = {};
  for (auto& s : owed) REQUIRE_OK(weft_semaphore_create(device.handle(), 0, &s));
  pause(device, true);
  for (auto* s : owed) REQUIRE_OK(weft_signal(queue, s, 1, nullptr, nullptr));
  (void)report_of(device.handle(), queue, WEFT_RESET_LEVEL_QUEUE);
  for (auto* s : owed) {
    CHECK(weft_semaphore_wait(s, 1, nullptr) == WEFT_ERROR_DEPENDENCY_FAILED);
    CHECK_THAT(last_message(), Contains("ABORTED_BY_RESET"));
    weft_semaphore_release(s);
  }
  pause(device, false);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a device reset counts commands of queues, not waits of the host nor commands of the driver itself") {
  MockDevice device;
  weft_semaphore* s = nullptr;
  REQUIRE_OK(weft_semaphore_create(device.handle(), 0, &s));
  weft_status status = WEFT_ERROR_OK;
  std::thread waiter([&] { status = weft_semaphore_wait(s, 1, nullptr); });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  const auto report = report_of(device.handle(), nullptr, WEFT_RESET_LEVEL_DEVICE);
  waiter.join();
  CHECK(status == WEFT_ERROR_ABORTED_BY_RESET);
  CHECK(report.innocent == 0);
  CHECK(report.guilty == 0);
  weft_semaphore_release(s);
}

TEST_CASE("a device reset counts up the generation, and old handles say what they met") {
  MockDevice device;
  weft_queue* queue = device.queue(8);
  pause(device, true);
  weft_event* event = nop(queue);
  const auto report = report_of(device.handle(), nullptr, WEFT_RESET_LEVEL_DEVICE);
  CHECK(report.generation == 1);
  CHECK(report.innocent == 1);
  CHECK(query(event).status == WEFT_ERROR_ABORTED_BY_RESET);
  CHECK(weft_nop(queue, nullptr, nullptr) == WEFT_ERROR_INVALID_STATE);
  CHECK_THAT(last_message(), Contains("is deleted") && Contains("went with the reset of generation 0"));
  weft_reset_report none = WEFT_INIT(weft_reset_report);
  CHECK(weft_reset(device.handle(), queue, WEFT_RESET_LEVEL_QUEUE, &none) == WEFT_ERROR_INVALID_STATE);
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a queue that was halted and has gone with a reset or a close is gone, and no longer halted") {
  const bool closes = GENERATE(false, true);
  CAPTURE(closes);
  MockDevice device;
  weft_queue* queue = device.queue(8);
  pause(device, true);
  weft_event* event = nop(queue);
  device.mock().halt_queue(queue->queue->id(), 777);
  CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_BAD_DOORBELL);
  CHECK(weft_nop(queue, nullptr, nullptr) == WEFT_ERROR_BAD_DOORBELL);
  pause(device, false);
  if (closes) {
    device.close();
  } else {
    (void)report_of(device.handle(), nullptr, WEFT_RESET_LEVEL_DEVICE);
  }
  CHECK(weft_nop(queue, nullptr, nullptr) == WEFT_ERROR_INVALID_STATE);
  CHECK_THAT(last_message(), Contains(closes ? "closed" : "is deleted: queue 1 went with the reset of generation 0"));
  CHECK(query(event).status == WEFT_ERROR_BAD_DOORBELL);  // what had ended stays as it ended
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("resets at the same time happen one after the other, and every command ends once") {
  MockDevice device;
  weft_queue* queue = device.queue(64);
  pause(device, true);
  std::vector<weft_event*> events;
  for (int i = 0; i < 50; i++) events.push_back(nop(queue));
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 4; i++) {
    threads.emplace_back(
        [&] { good += weft_reset(device.handle(), nullptr, WEFT_RESET_LEVEL_DEVICE, nullptr) == WEFT_ERROR_OK; });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(good == 4);
  weft_device_info info = WEFT_INIT(weft_device_info);
  REQUIRE_OK(weft_device_get_info(device.handle(), &info));
  CHECK(info.generation == 4);
  for (weft_event* event : events) {
    CHECK(query(event).status == WEFT_ERROR_ABORTED_BY_RESET);
    weft_event_release(event);
  }
  const auto s = device.statistics();
  CHECK(s.completed == s.submitted);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a reset that fails leaves the device failed, the process alive, and the next one may help") {
  MockFaults faults;
  MockDevice device(faults);
  device.mock().configure([](MockFaults& f) { f.boot_error = WEFT_ERROR_DMA_FAULT; });
  weft_reset_report report = WEFT_INIT(weft_reset_report);
  CHECK(weft_reset(device.handle(), nullptr, WEFT_RESET_LEVEL_DEVICE, &report) == WEFT_ERROR_BOOT_FAILED);
  weft_queue* queue = nullptr;
  for (int i = 0; i < 3; i++) CHECK(weft_queue_create(device.handle(), nullptr, &queue) == WEFT_ERROR_BOOT_FAILED);
  weft_device_info info = WEFT_INIT(weft_device_info);
  REQUIRE_OK(weft_device_get_info(device.handle(), &info));
  CHECK(info.state == WEFT_DEVICE_STATE_FAILED);
  device.mock().configure([](MockFaults& f) { f.boot_error = 0; });
  REQUIRE_OK(weft_reset(device.handle(), nullptr, WEFT_RESET_LEVEL_DEVICE, nullptr));
  queue = device.queue();
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("wrong calls of weft_reset are refused and change nothing") {
  MockDevice device, stranger;
  weft_queue* queue = device.queue();
  const auto reset = [&](weft_device* d, weft_queue* q, int level) {
    return weft_reset(d, q, static_cast<weft_reset_level>(level), nullptr);
  };
  CHECK(reset(device.handle(), nullptr, WEFT_RESET_LEVEL_QUEUE) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(reset(device.handle(), queue, WEFT_RESET_LEVEL_DEVICE) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(reset(device.handle(), queue, WEFT_RESET_LEVEL_ENGINE) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(reset(device.handle(), nullptr, 9) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(reset(stranger.handle(), queue, WEFT_RESET_LEVEL_QUEUE) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(reset(nullptr, nullptr, WEFT_RESET_LEVEL_DEVICE) == WEFT_ERROR_INVALID_ARGUMENT);
  weft_reset_report wrong{};
  CHECK(weft_reset(device.handle(), nullptr, WEFT_RESET_LEVEL_DEVICE, &wrong) == WEFT_ERROR_INVALID_ARGUMENT);
  weft_event* event = nop(queue);
  REQUIRE_OK(weft_event_wait(event, nullptr));
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}
