// A caller's event loop: the descriptor tells when there is something to look at, by whoever it ended.
#include <fcntl.h>
#include <poll.h>

#include <catch2/catch.hpp>

#include "testbench/unit/driver/device_fixture.hpp"

using namespace weft::driver;
using namespace weft::driver::test;

namespace {

constexpr int kSoonMs = 20000;
constexpr int kNoSlowPollMs = 60'000;

bool readable(int fd, int timeout_ms) {
  pollfd p{fd, POLLIN, 0};
  return ::poll(&p, 1, timeout_ms) == 1;
}

int descriptor_of(weft_device* device) {
  int fd = -1;
  REQUIRE_OK(weft_device_get_descriptor(device, &fd));
  REQUIRE(fd >= 0);
  return fd;
}

}  // namespace

TEST_CASE("the descriptor is readable when a command has ended, until somebody has looked") {
  MockDevice device;
  weft_queue* queue = device.queue();
  const int fd = descriptor_of(device.handle());
  CHECK(descriptor_of(device.handle()) == fd);
  REQUIRE_OK(weft_device_process(device.handle()));
  CHECK_FALSE(readable(fd, 0));
  for (int i = 0; i < 100; i++) {
    device.mock().configure([](MockFaults& f) { f.paused = true; });
    weft_event* event = nop(queue);
    CHECK_FALSE(readable(fd, 0));
    device.mock().configure([](MockFaults& f) { f.paused = false; });
    bool done = false;
    for (int turns = 0; !done; turns++) {  // the completion is there before its interrupt: one look may be for nothing
      REQUIRE(turns < 3);
      REQUIRE(readable(fd, kSoonMs));
      REQUIRE_OK(weft_device_process(device.handle()));
      done = query(event).done != 0;
    }
    weft_event_release(event);
  }
  CHECK(device.statistics().lost_interrupts == 0);
  CHECK(weft_queue_release(queue) == WEFT_ERROR_OK);
}

TEST_CASE("the descriptor tells of commands that another thread has taken off the ring") {
  MockDevice device({}, kNoSlowPollMs);
  weft_queue* queue = device.queue();
  const int fd = descriptor_of(device.handle());
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  weft_event* first = nop(queue);
  weft_event* second = nop(queue);
  std::atomic<bool> called{false};
  // From here on the dispatcher sleeps on the interrupts and consumes them.
  REQUIRE_OK(weft_event_set_callback(
      first, [](weft_event*, weft_status, void* user) { *static_cast<std::atomic<bool>*>(user) = true; }, &called));
  REQUIRE_OK(weft_device_process(device.handle()));
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  await(called);
  CHECK(readable(fd, kSoonMs));
  while (query(second).done == 0) REQUIRE_OK(weft_device_process(device.handle()));
  weft_event_release(first);
  weft_event_release(second);
  CHECK(weft_queue_release(queue) == WEFT_ERROR_OK);
}

TEST_CASE("looking beside a thread that waits takes no wake-up from it") {
  MockDevice device({}, kNoSlowPollMs);
  weft_queue* queue = device.queue();
  (void)descriptor_of(device.handle());
  for (int i = 0; i < 200; i++) {
    device.mock().configure([](MockFaults& f) { f.paused = true; });
    weft_event* event = nop(queue);
    weft_status ended = WEFT_ERROR_INTERNAL;
    std::thread waits([&] {
      do ended = weft_event_wait(event, nullptr);
      while (ended == WEFT_ERROR_TIMEOUT_WAIT);  // the paused mock calls itself idle if this thread is late by 2 ms
    });
    device.mock().configure([](MockFaults& f) { f.paused = false; });
    for (int n = 0; n < 20; n++) REQUIRE_OK(weft_device_process(device.handle()));
    waits.join();
    REQUIRE(ended == WEFT_ERROR_OK);
    weft_event_release(event);
  }
  CHECK(weft_queue_release(queue) == WEFT_ERROR_OK);
}

TEST_CASE("the descriptor is readable when the device is lost, and the events are done after a look") {
  MockDevice device;
  weft_queue* queue = device.queue();
  const int fd = descriptor_of(device.handle());
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  weft_event* event = nop(queue);
  device.mock().die();
  REQUIRE(readable(fd, kSoonMs));
  CHECK(weft_device_process(device.handle()) == WEFT_ERROR_DEVICE_LOST);
  CHECK(query(event).status == WEFT_ERROR_DEVICE_LOST);
  int other = -1;
  CHECK(weft_device_get_descriptor(device.handle(), &other) == WEFT_ERROR_DEVICE_LOST);
  weft_error_info info = WEFT_INIT(weft_error_info);
  REQUIRE_OK(weft_event_get_error(event, &info));
  CHECK(info.code == WEFT_ERROR_DEVICE_LOST);
  CHECK_THAT(info.message, Catch::Contains("told to die"));
  weft_event_release(event);
  (void)!weft_queue_release(queue);
}

TEST_CASE("who looks while another thread ends the events of a lost device finds them done") {
  Latch latch;
  auto transport = std::make_unique<SlowToDisconnect>(latch);
  MockTransport& mock = *transport;
  const auto device = Device::open(std::move(transport)).value();
  mock.configure([](MockFaults& f) { f.paused = true; });
  const auto queue = device->create_queue({8, 8}).value();
  Command command;
  command.opcode = WEFT_QUEUE_OPCODE_NOP;
  const auto event = std::make_shared<Event>(queue->id(), 0, command.opcode);
  REQUIRE(device->submit(*queue, Submission{event, command}).ok());
  mock.die();
  // This or another thread of the driver finds the device lost, and is held up.
  std::thread waiter([&] { (void)device->wait(*event, {}).ok(); });
  await(latch.reached);
  CHECK_FALSE(event->done());
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    latch.open = true;
  });
  CHECK(device->process().code() == WEFT_ERROR_DEVICE_LOST);
  CHECK(event->done());
  opener.join();
  waiter.join();
  CHECK(event->ending().status.code() == WEFT_ERROR_DEVICE_LOST);
  (void)device->close(0).ok();
}

TEST_CASE("closing the device closes the descriptor") {
  MockDevice device;
  const int fd = descriptor_of(device.handle());
  CHECK(::fcntl(fd, F_GETFD) >= 0);
  device.close();
  CHECK(::fcntl(fd, F_GETFD) == -1);
}

TEST_CASE("a command tells its error in the form of the last error, and only once it has ended") {
  MockDevice device;
  weft_queue* queue = device.queue();
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  weft_event* event = nop(queue);
  weft_error_info info = WEFT_INIT(weft_error_info);
  CHECK(weft_event_get_error(event, &info) == WEFT_ERROR_INVALID_STATE);
  REQUIRE_OK(weft_event_cancel(event));
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  const weft_status status = weft_event_wait(event, nullptr);
  weft_error_info last = WEFT_INIT(weft_error_info);
  REQUIRE_OK(weft_last_error(&last));
  REQUIRE_OK(weft_event_get_error(event, &info));
  CHECK(info.code == status);
  if (status != WEFT_ERROR_OK) {
    CHECK(std::string(info.message) == last.message);
    CHECK(info.tag == last.tag);
    CHECK(info.scope == last.scope);
  }
  info.size = 1;
  CHECK(weft_event_get_error(event, &info) == WEFT_ERROR_INVALID_ARGUMENT);
  weft_event_release(event);
  CHECK(weft_queue_release(queue) == WEFT_ERROR_OK);
}
