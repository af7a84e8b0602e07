// What a device reset has taken is named to the device no more, however the reset and the calls meet.
#include <chrono>
#include <functional>
#include <mutex>

#include "testbench/unit/driver/device_fixture.hpp"
#include "testbench/unit/driver/hooked_mock.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

namespace {

/// A thread in the middle of an admin command, which ends, but whose thread does not see it before let_go(): all other
/// admin commands wait for it.
class BusyAdmin {
 public:
  explicit BusyAdmin(HookedDevice& device) : device_(device) {
    device.mock->configure([](MockFaults& f) { f.silent = true; });
    thread_ = std::thread([this] {
      device_.mock->set_read_hook([this, self = std::this_thread::get_id()](uint64_t offset) {
        if (offset != WEFT_REG_CYCLES || std::this_thread::get_id() != self) return;
        reached_ = true;
        await(open_);
      });
      (void)!weft_device_set_watchdog(&device_.handle, 1'000'000);
    });
    await(reached_);
    device.mock->configure([](MockFaults& f) { f.silent = false; });
  }
  ~BusyAdmin() { let_go(); }
  void let_go() {
    open_ = true;
    if (thread_.joinable()) thread_.join();
    device_.mock->set_read_hook({});
  }

 private:
  HookedDevice& device_;
  std::atomic<bool> reached_{false}, open_{false};
  std::thread thread_;
};

weft_semaphore* semaphore(weft_device* device, uint64_t value = 0) {
  weft_semaphore* made = nullptr;
  REQUIRE_OK(weft_semaphore_create(device, value, &made));
  return made;
}

uint64_t value_of(weft_semaphore* s) {
  uint64_t value = 0;
  REQUIRE_OK(weft_semaphore_get_value(s, &value));
  return value;
}

}  // namespace

TEST_CASE("a semaphore that was on its way to the device during a reset is not there, and takes no id from others") {
  HookedDevice device;
  weft_semaphore* late = nullptr;
  weft_status status = WEFT_ERROR_OK;
  {
    BusyAdmin busy(device);
    std::thread creator([&] { status = weft_semaphore_create(&device.handle, 7, &late); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it has its id, and waits for its turn
    REQUIRE_OK(weft_device_reset(&device.handle));
    busy.let_go();
    creator.join();
  }
  CHECK(status == WEFT_ERROR_INVALID_STATE);
  CHECK(late == nullptr);
  weft_semaphore *one = semaphore(&device.handle), *two = semaphore(&device.handle, 2);
  CHECK(value_of(one) == 0);
  REQUIRE_OK(weft_semaphore_signal(one, 1));
  CHECK(value_of(one) == 1);
  CHECK(value_of(two) == 2);
  for (weft_semaphore* s : {late, one, two}) weft_semaphore_release(s);
}

TEST_CASE("a signal that meets a reset raises no semaphore that has the id by now") {
  MockDevice device;
  weft_semaphore* old = semaphore(device.handle());
  REQUIRE_OK(weft_device_reset(device.handle()));
  weft_semaphore* heir = semaphore(device.handle());
  REQUIRE(heir->timeline->id() == old->timeline->id());
  // as weft_semaphore_signal calls it after its look at the generation
  const Status status = old->timeline->signal(*old->device, 5);
  CHECK(status.code() == WEFT_ERROR_INVALID_STATE);
  CHECK_THAT(status.message(), Contains("of generation 0 went with a reset: the device is in generation 1"));
  CHECK(value_of(heir) == 0);
  for (weft_semaphore* s : {old, heir}) weft_semaphore_release(s);
}

TEST_CASE("a wait of the host that meets a reset ends, and no other wait with it") {
  MockDevice device;
  weft_semaphore* old = semaphore(device.handle());
  REQUIRE_OK(weft_device_reset(device.handle()));
  weft_semaphore* heir = semaphore(device.handle());
  weft_status of_heir = WEFT_ERROR_INTERNAL;
  std::thread waiter([&] { of_heir = weft_semaphore_wait(heir, 1, nullptr); });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  WaitLimits limits;
  limits.wall_ms = 200;
  // as weft_semaphore_wait calls it after its look at the generation
  CHECK(old->device->wait_timeline(old->timeline.share(), 1, limits).code() == WEFT_ERROR_INVALID_STATE);
  REQUIRE_OK(weft_semaphore_signal(heir, 1));
  waiter.join();
  CHECK(of_heir == WEFT_ERROR_OK);
  for (weft_semaphore* s : {old, heir}) weft_semaphore_release(s);
}

TEST_CASE("a wait that meets a reset ends with it, although nobody could signal any more") {
  HookedDevice device;
  weft_queue* queue = nullptr;
  const weft_queue_options options = WEFT_INIT(weft_queue_options);
  REQUIRE_OK(weft_queue_create(&device.handle, &options, &queue));
  weft_semaphore* s = semaphore(&device.handle);
  weft_event* event = nullptr;
  REQUIRE_OK(weft_wait(queue, s, 1, nullptr, &event));
  // Before the reset reaches the device the caller finds it being reset, gives up, and another one begins to wait.
  weft_status signalled = WEFT_ERROR_OK, waited = WEFT_ERROR_OK;
  std::thread waiter;
  device.mock->set_write_hook([&](Region region, uint64_t offset, uint64_t) {
    if (region != Region::kRegisters || offset != WEFT_REG_RESET_CONTROL || waiter.joinable()) return;
    signalled = weft_semaphore_signal(s, 1);
    weft_semaphore_release(s);
    waiter = std::thread([&] { waited = weft_event_wait(event, nullptr); });
    std::this_thread::sleep_for(std::chrono::milliseconds(60));  // the device has said by then that it is idle
  });
  REQUIRE_OK(weft_device_reset(&device.handle));
  device.mock->set_write_hook({});
  waiter.join();
  CHECK(signalled == WEFT_ERROR_INVALID_STATE);
  CHECK(waited == WEFT_ERROR_ABORTED_BY_RESET);
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a device that this process resets while another thread looks at it has not been reset by somebody else") {
  HookedDevice device;
  std::atomic<bool> once{false};
  Status reset(WEFT_ERROR_INTERNAL, std::string("not called"));
  device.mock->set_read_hook([&](uint64_t offset) {
    if (offset == WEFT_REG_RESET_GENERATION && !once.exchange(true))
      std::thread([&] { reset = device.device->reset(); }).join();
  });
  device.device->check_failed();
  CHECK(once);
  CHECK(reset.ok());
  CHECK(device.device->check().ok());
  CHECK(device.device->generation() == 1);
}

TEST_CASE("a device that somebody else has reset fails") {
  HookedDevice device;
  REQUIRE(static_cast<Transport*>(device.mock)->reset().ok());
  device.device->check_failed();
  CHECK(device.device->check().code() == WEFT_ERROR_ABORTED_BY_RESET);
  CHECK_THAT(device.device->check().message(), Contains("somebody else has reset the device"));
}

TEST_CASE("a reset of the device, which clears the registers, does not come between those of a fault that is armed") {
  HookedDevice device;
  std::atomic<bool> reset_written{false}, armed{false};
  bool between = false;
  std::thread resetter;
  device.mock->set_write_hook([&](Region region, uint64_t offset, uint64_t) {
    if (region != Region::kRegisters) return;
    if (offset == WEFT_REG_RESET_CONTROL) reset_written = true;
    if (offset == WEFT_REG_INJECT_TARGET) {
      resetter = std::thread([&] { (void)!weft_device_reset(&device.handle); });
      for (int i = 0; i < 100 && !reset_written; i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (offset == WEFT_REG_INJECT_CONTROL) {
      between = reset_written;
      armed = true;
    }
  });
  weft_fault_injection fault = WEFT_INIT(weft_fault_injection);
  fault.kind = WEFT_INJECTED_FAULT_DOORBELL_LOST;
  fault.target = 1;
  CHECK(weft_fault_inject(&device.handle, &fault) == WEFT_ERROR_OK);
  resetter.join();
  device.mock->set_write_hook({});
  CHECK(armed);
  CHECK(reset_written);
  CHECK(!between);
}
