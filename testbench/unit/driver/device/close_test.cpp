// weft_close beside other threads and callbacks: it waits for nobody who waits for it, and after OK every event is done
// and every callback has run.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <future>
#include <thread>

#include "testbench/unit/driver/device_fixture.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

namespace {

/// Runs it on a thread of its own. One that does not return can neither be joined nor be left behind: the program ends.
template <typename Function>
void require_returns(const char* what, Function&& function) {
  constexpr std::chrono::seconds kPatience(30);
  std::promise<void> returned;
  std::thread thread([&] {
    function();
    returned.set_value();
  });
  if (returned.get_future().wait_for(kPatience) != std::future_status::ready) {
    std::fprintf(stderr, "FAILED: %s does not return\n", what);
    std::_Exit(1);
  }
  thread.join();
}

void pause_briefly() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

/// A device of the C++ layer, with a queue and commands in flight, the first of which holds a latch.
struct Flight {
  static constexpr size_t kCommands = 41;
  MockTransport* mock = nullptr;
  std::shared_ptr<Device> device;
  std::shared_ptr<Queue> queue;
  Latch latch;
  std::array<std::shared_ptr<Event>, kCommands> events;

  Flight() {
    auto transport = std::make_unique<MockTransport>(nano(), MockFaults{});
    mock = transport.get();
    constexpr int kNoPoll = 3'600'000;  // nobody drains but who is told to
    device = Device::open(std::move(transport), {}, kNoPoll).value();
    queue = device->create_queue({64, 64}).value();
    mock->configure([](MockFaults& f) { f.paused = f.lose_interrupts = true; });
    for (auto& event : events) {
      Command command;
      command.opcode = WEFT_QUEUE_OPCODE_NOP;
      event = std::make_shared<Event>(queue->id(), 0, command.opcode);
      if (&event == &events.front()) event->hold({latch.resource()});
      REQUIRE(device->submit(*queue, Submission{event, command}).ok());
    }
  }
  [[nodiscard]] size_t done() const {
    return static_cast<size_t>(std::count_if(events.begin(), events.end(), [](const auto& e) { return e->done(); }));
  }
};

}  // namespace

TEST_CASE("a callback that releases a queue while its device is being closed returns, and so does the close") {
  struct State {
    weft_queue* other = nullptr;
    std::atomic<bool> begun{false}, go_on{false}, ended{false};
    weft_status released = WEFT_ERROR_INTERNAL;
  } state;
  MockDevice device;
  weft_queue* queue = device.queue();
  state.other = device.queue();
  weft_event* event = nop(queue);
  const auto release = [](weft_event*, weft_status, void* user) {
    auto& s = *static_cast<State*>(user);
    s.begun = true;
    await(s.go_on);
    s.released = weft_queue_release(s.other);
    s.ended = true;
  };
  REQUIRE_OK(weft_event_set_callback(event, release, &state));
  await(state.begun);
  std::thread let_go([&] {
    pause_briefly();  // long enough for the close to be on its way
    state.go_on = true;
  });
  require_returns("weft_close beside a callback that releases a queue", [&] { device.close(); });
  let_go.join();
  CHECK(state.ended);
  CHECK(state.released == WEFT_ERROR_OK);
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a callback may use what it got while its device is being closed") {
  struct State {
    weft_buffer* buffer = nullptr;
    weft_queue* queue = nullptr;
    std::atomic<bool> begun{false}, go_on{false};
    weft_status mapped = WEFT_ERROR_INTERNAL, submitted = WEFT_ERROR_OK;
  } state;
  MockDevice device;
  state.queue = device.queue();
  REQUIRE_OK(weft_buffer_create(device.handle(), WEFT_MEMORY_HOST, 64, &state.buffer));
  weft_event* event = nop(state.queue);
  const auto use = [](weft_event*, weft_status, void* user) {
    auto& s = *static_cast<State*>(user);
    s.begun = true;
    await(s.go_on);
    void* pointer = nullptr;
    s.mapped = weft_buffer_map(s.buffer, &pointer);
    s.submitted = weft_nop(s.queue, nullptr, nullptr);
    weft_buffer_release(s.buffer);
  };
  REQUIRE_OK(weft_event_set_callback(event, use, &state));
  await(state.begun);
  std::thread let_go([&] {
    pause_briefly();
    state.go_on = true;
  });
  require_returns("weft_close beside a callback", [&] { device.close(); });
  let_go.join();
  CHECK(state.mapped == WEFT_ERROR_OK);  // the close has not returned yet
  CHECK(state.submitted == WEFT_ERROR_INVALID_STATE);
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(state.queue));
}

TEST_CASE("after a close every event is done, those that another thread has just drained included") {
  Flight flight;
  flight.mock->run(Flight::kCommands);
  std::thread drainer([&] { flight.device->poll(); });
  await(flight.latch.reached);  // it has taken all of them, and ended none
  std::thread let_go([&] {
    pause_briefly();
    flight.latch.open = true;
  });
  require_returns("close beside a drain", [&] { CHECK(flight.device->close(0).ok()); });
  CHECK(flight.done() == Flight::kCommands);
  drainer.join();
  let_go.join();
}

TEST_CASE("after a close every callback has run, of events that another thread has just drained too") {
  Flight flight;
  std::atomic<size_t> calls{0};
  for (const auto& event : flight.events)
    REQUIRE(flight.device->set_callback(event, [&](const Status&) { calls++; }).ok());
  flight.mock->run(Flight::kCommands);
  std::thread drainer([&] { flight.device->poll(); });
  await(flight.latch.reached);
  std::thread let_go([&] {
    pause_briefly();
    flight.latch.open = true;
  });
  require_returns("close beside a drain", [&] { CHECK(flight.device->close(0).ok()); });
  CHECK(calls == Flight::kCommands);
  drainer.join();
  let_go.join();
}

TEST_CASE("after a close every callback has run, of events that the loss of the device is ending too") {
  Flight flight;
  std::atomic<size_t> calls{0};
  for (const auto& event : flight.events)
    REQUIRE(flight.device->set_callback(event, [&](const Status&) { calls++; }).ok());
  std::thread loser([&] { flight.device->lost(Status(WEFT_ERROR_DEVICE_LOST, "gone")); });
  await(flight.latch.reached);
  std::thread let_go([&] {
    pause_briefly();
    flight.latch.open = true;
  });
  require_returns("close beside a loss", [&] { CHECK(flight.device->close(0).ok()); });
  CHECK(flight.done() == Flight::kCommands);
  CHECK(calls == Flight::kCommands);
  loser.join();
  let_go.join();
}

TEST_CASE("a callback is refused or runs, whenever its device is closed") {
  for (int i = 0; i < 200; i++) {
    MockDevice device;
    weft_queue* queue = device.queue();
    weft_event* event = nop(queue);
    REQUIRE_OK(weft_event_wait(event, nullptr));
    std::atomic<int> calls{0};
    weft_status registered = WEFT_ERROR_INTERNAL;
    std::thread other([&] {
      registered = weft_event_set_callback(
          event, [](weft_event*, weft_status, void* user) { (*static_cast<std::atomic<int>*>(user))++; }, &calls);
    });
    require_returns("weft_close beside weft_event_set_callback", [&] { device.close(); });
    other.join();
    REQUIRE(calls == (registered == WEFT_ERROR_OK ? 1 : 0));
    weft_event_release(event);
    REQUIRE_OK(weft_queue_release(queue));
  }
}

TEST_CASE("the second of two closes is told that the device is closed") {
  Flight flight;
  flight.latch.open = true;
  REQUIRE(flight.device->close(0).ok());
  const Status again = flight.device->close(0);
  CHECK(again.code() == WEFT_ERROR_INVALID_STATE);
  CHECK_THAT(again.message(), Contains("closed"));
}

TEST_CASE("a device that was lost and then closed says that it is closed") {
  MockDevice device;
  weft_queue* queue = device.queue();
  weft_event* event = nop(queue);
  REQUIRE_OK(weft_event_wait(event, nullptr));
  device.mock().die();
  while (weft_nop(queue, nullptr, nullptr) == WEFT_ERROR_OK) {
  }
  device.close();
  CHECK(weft_nop(queue, nullptr, nullptr) == WEFT_ERROR_INVALID_STATE);
  CHECK(weft_event_set_callback(
            event, [](weft_event*, weft_status, void*) {}, nullptr) == WEFT_ERROR_INVALID_STATE);
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}
