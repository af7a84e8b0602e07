// Queues against weft-sim: semaphores between queues and host, chains, cancelling, waits that nothing can end.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "testbench/system/test_device.hpp"

using namespace weft::test;
using Catch::Contains;

namespace {

void nothing_was_lost(const Device& d) {
  weft_device_statistics s = WEFT_INIT(weft_device_statistics);
  require_ok(weft_device_get_statistics(d.device.get(), &s));
  CHECK(s.completed == s.submitted);
  CHECK(s.duplicate_completions + s.late_completions + s.unknown_completions + s.bad_completions == 0);
}

}  // namespace

TEST_CASE("two queues hand a buffer to and fro by one semaphore, and the host sees every value") {
  Device d;
  const auto one = d.queue(), two = d.queue();
  const auto turn = d.semaphore();
  const auto hbm = d.buffer(WEFT_MEMORY_HBM, 4096), host = d.buffer(WEFT_MEMORY_HOST, 200 * 4);
  void* seen = nullptr;
  require_ok(weft_buffer_map(host.get(), &seen));
  weft_event* last = nullptr;
  for (uint32_t i = 0; i < 200; i++) {  // queue one fills, queue two copies out: each waits for the other
    weft_command_options options = WEFT_INIT(weft_command_options);
    options.wait_semaphore = options.signal_semaphore = turn.get();
    options.wait_value = 2 * i;
    options.signal_value = 2 * i + 1;
    require_ok(weft_fill(one.get(), hbm.get(), 0, 4096, 1000 + i, &options, nullptr));
    options.wait_value = 2 * i + 1;
    options.signal_value = 2 * i + 2;
    require_ok(weft_copy(two.get(), host.get(), 4 * i, hbm.get(), 0, 4, &options, i == 199 ? &last : nullptr));
  }
  const Handle<weft_event> last_copy(last);
  require_ok(weft_semaphore_wait(turn.get(), 201, nullptr));
  require_ok(weft_semaphore_wait(turn.get(), 400, nullptr));
  for (uint32_t i = 0; i < 200; i++) {
    uint32_t value = 0;
    std::memcpy(&value, static_cast<char*>(seen) + 4 * i, sizeof value);
    REQUIRE(value == 1000 + i);
  }
  require_ok(weft_queue_cancel(one.get()));
  require_ok(end_of(last_copy));  // the semaphore has its value before the completion is written
  nothing_was_lost(d);
}

TEST_CASE("a chain is cut where it fails, and a semaphore passes the failure on to another queue") {
  Device d;
  const auto one = d.queue(), two = d.queue();
  const auto done = d.semaphore();
  constexpr uint64_t kBytes = 32u << 20;
  const auto hbm = d.buffer(WEFT_MEMORY_HBM, kBytes);
  weft_command_options options = WEFT_INIT(weft_command_options);
  options.chain = 1;
  options.budget_kcycles = 1;
  options.tag = 77;
  weft_event *fill = nullptr, *behind = nullptr;
  require_ok(weft_fill(one.get(), hbm.get(), 0, kBytes, 0, &options, &fill));
  weft_command_options last = WEFT_INIT(weft_command_options);
  last.signal_semaphore = done.get();
  last.signal_value = 1;
  require_ok(weft_nop(one.get(), &last, &behind));
  const Handle<weft_event> first(fill), second(behind), free = nop(one), waiter = wait(two, done, 1);
  CHECK(end_of(first) == WEFT_ERROR_BUDGET_EXCEEDED);
  CHECK(end_of(second) == WEFT_ERROR_DEPENDENCY_FAILED);
  CHECK_THAT(driver_message(WEFT_ERROR_DEPENDENCY_FAILED), Contains("(tag 77) of queue 1 failed first, with BUDGET"));
  CHECK(end_of(free) == WEFT_ERROR_OK);
  CHECK(end_of(waiter) == WEFT_ERROR_DEPENDENCY_FAILED);
  CHECK_THAT(driver_message(WEFT_ERROR_DEPENDENCY_FAILED), Contains("(tag 77) of queue 1 failed first, with BUDGET"));
  CHECK(weft_semaphore_wait(done.get(), 1, nullptr) == WEFT_ERROR_DEPENDENCY_FAILED);
  nothing_was_lost(d);
}

TEST_CASE("a wait until the device is idle is reported with its semaphore, and a signal of the host ends it") {
  Device d;
  const auto queue = d.queue();
  const auto s = d.semaphore(5);
  const auto waiter = wait(queue, s, 7), behind = nop(queue);
  const weft_wait_options options = until_idle();
  CHECK(weft_event_wait(behind.get(), &options) == WEFT_ERROR_TIMEOUT_WAIT);
  CHECK_THAT(driver_message(WEFT_ERROR_TIMEOUT_WAIT), Contains("nothing is pending on the device") &&
                                                          Contains("queue 1: command") &&
                                                          Contains("semaphore 1 to reach 7, which stands at 5"));
  CHECK(weft_semaphore_wait(s.get(), 6, &options) == WEFT_ERROR_TIMEOUT_WAIT);
  require_ok(weft_semaphore_signal(s.get(), 7));
  CHECK(end_of(waiter) == WEFT_ERROR_OK);
  CHECK(end_of(behind) == WEFT_ERROR_OK);
  nothing_was_lost(d);
}

TEST_CASE("the budget of a wait ends it: simulated time goes on to that cycle") {
  Device d;
  const auto queue = d.queue();
  const auto s = d.semaphore();
  const auto before = nop(queue);
  CHECK(end_of(before) == WEFT_ERROR_OK);
  const auto waiter = wait(queue, s, 1, 5000);
  CHECK(end_of(waiter) == WEFT_ERROR_BUDGET_EXCEEDED);
  const uint64_t cycles = info_of(waiter).end_cycle - info_of(before).end_cycle;
  CHECK(cycles > 5'000'000);
  CHECK(cycles < 5'100'000);
}

TEST_CASE("what waits, what stands behind it and what runs is cancelled, each once, and the queue goes on") {
  Device d;
  const auto queue = d.queue(), other = d.queue();
  const auto never = d.semaphore();
  auto waiter = wait(queue, never, 1);
  const auto behind = nop(queue), last = nop(queue);
  require_ok(weft_event_cancel(behind.get()));
  CHECK(info_of(behind).done == 0);  // its turn has not come
  require_ok(weft_event_cancel(waiter.get()));
  CHECK(end_of(waiter) == WEFT_ERROR_CANCELLED);
  CHECK(end_of(behind) == WEFT_ERROR_CANCELLED);
  CHECK(end_of(last) == WEFT_ERROR_OK);
  require_ok(weft_event_cancel(last.get()));

  waiter = wait(queue, never, 1);
  std::vector<Handle<weft_event>> many;
  for (int i = 0; i < 100; i++) many.push_back(nop(queue));
  require_ok(weft_queue_cancel(queue.get()));
  const auto after = nop(queue);
  CHECK(end_of(waiter) == WEFT_ERROR_CANCELLED);
  for (const auto& event : many) REQUIRE(end_of(event) == WEFT_ERROR_CANCELLED);
  CHECK(end_of(after) == WEFT_ERROR_OK);

  constexpr uint64_t kBytes = 48u << 20;
  const auto hbm = d.buffer(WEFT_MEMORY_HBM, kBytes);
  for (int i = 0; i < 20; i++) {  // a cancel against a fill of 12 pieces, at any moment: it ends once, either way
    weft_event* fill = nullptr;
    require_ok(weft_fill(other.get(), hbm.get(), 0, kBytes, 0, nullptr, &fill));
    const Handle<weft_event> event(fill);
    require_ok(weft_event_cancel(fill));
    const weft_status status = end_of(event);
    REQUIRE((status == WEFT_ERROR_CANCELLED || status == WEFT_ERROR_OK));
  }
  CHECK(end_of(nop(other)) == WEFT_ERROR_OK);
  nothing_was_lost(d);
}

TEST_CASE("queues on one completion ring run many laps, and the fault of one costs the others nothing, on both cores") {
  for (const char* name : {"sim:nano?core=fast", "sim:nano?core=rtl"}) {
    CAPTURE(name);
    Device d(name);
    auto host = d.small_queue(nullptr, 16);
    const auto guest = d.small_queue(host.get(), 0), other = d.small_queue(host.get(), 0);
    const auto laps = [&](int rounds) {
      for (int i = 0; i < rounds; i++) {
        std::vector<Handle<weft_event>> events;
        for (const Handle<weft_queue>* queue : {static_cast<const Handle<weft_queue>*>(&host), &guest, &other})
          for (int n = 0; *queue != nullptr && n < 1 + (i + n) % 4; n++) events.push_back(nop(*queue));
        for (const auto& event : events) REQUIRE(end_of(event) == WEFT_ERROR_OK);
      }
    };
    laps(20);
    weft_queue_info info = WEFT_INIT(weft_queue_info);
    require_ok(weft_queue_get_info(guest.get(), &info));
    weft_fault_injection fault = WEFT_INIT(weft_fault_injection);
    fault.target = info.id;
    fault.nth = fault.count = 1;
    fault.kind = WEFT_INJECTED_FAULT_COMPLETION_TORN;
    require_ok(weft_fault_inject(d.device.get(), &fault));
    const auto torn = nop(guest);
    CHECK(end_of(torn) == WEFT_ERROR_TIMEOUT_WAIT);
    CHECK(end_of(nop(other)) == WEFT_ERROR_OK);
    weft_reset_report report = WEFT_INIT(weft_reset_report);
    require_ok(weft_reset(d.device.get(), guest.get(), WEFT_RESET_LEVEL_QUEUE, &report));
    CHECK(end_of(torn) == WEFT_ERROR_ABORTED_BY_RESET);
    laps(20);
    host.reset();  // its ring outlives it
    laps(20);
  }
}

TEST_CASE("batches of commands go through with one doorbell each") {
  Device d;
  const auto queue = d.queue();
  std::vector<weft_command> commands(64, WEFT_INIT(weft_command));
  for (weft_command& command : commands) command.opcode = WEFT_QUEUE_OPCODE_NOP;
  for (int i = 0; i < 50; i++) {
    weft_event* event = nullptr;
    commands.back().event = &event;
    require_ok(weft_submit(queue.get(), commands.data(), 64));
    const Handle<weft_event> last(event);
    require_ok(weft_event_wait(event, nullptr));
  }
  nothing_was_lost(d);
}

// Completions are acknowledged some at a time. A ring whose first acknowledgement was the value that a former ring of
// the same id had left in the doorbell was full for ever: batches of 3 and 2, then of 3 and 1, in rings of 8.
TEST_CASE("a queue that is made again with an id goes on whatever its former doorbell stood at") {
  const Device d;
  weft_wait_options limits = WEFT_INIT(weft_wait_options);
  limits.timeout_ms = 20'000;
  for (uint32_t round = 0; round < 40; round++) {
    INFO("round " << round);
    weft_queue_options options = WEFT_INIT(weft_queue_options);
    options.entries = 4;
    weft_queue* made = nullptr;
    require_ok(weft_queue_create(d.device.get(), &options, &made));
    const Handle<weft_queue> queue(made);
    for (const uint32_t count : round % 2 == 0 ? std::vector<uint32_t>{3, 2} : std::vector<uint32_t>{3, 2, 3, 1, 4}) {
      std::vector<weft_command> commands(count);
      weft_event* last = nullptr;
      for (auto& command : commands) {
        command = WEFT_INIT(weft_command);
        command.opcode = WEFT_QUEUE_OPCODE_NOP;
      }
      commands.back().event = &last;
      require_ok(weft_submit(made, commands.data(), count));
      const Handle<weft_event> event(last);
      // Not looked at before all have ended, so that they are acknowledged together.
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      REQUIRE(weft_event_wait(last, &limits) == WEFT_ERROR_OK);
    }
  }
  nothing_was_lost(d);
}
