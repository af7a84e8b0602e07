// A chip with several functions: each host has its own registers, doorbells and memory; and what happens to one.
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>

#include "testbench/unit/chip/stand_in_firmware.hpp"

using namespace weft;
namespace hal = fw::hal;

namespace {

constexpr uint64_t kIova = 0x10000;

/// At a doorbell of function f: adds 1 to a word of its host. Takes requests, and ends departures when `release` says.
struct Fixture {
  Fixture() {
    test::firmware = [this] {
      starts++;
      for (;;) {
        for (uint32_t f = 0; f < hal::functions(); f++) {
          if (hal::doorbell_pending(f) == 0) continue;
          uint64_t word = 0;
          if (!hal::dma_read(fw::host_at(f, kIova), &word, sizeof word)) continue;
          word++;
          if (hal::dma_write(fw::host_at(f, kIova), &word, sizeof word)) hal::raise_interrupt(f, 1);
        }
        uint32_t departed = 0;
        requests |= hal::function_requests(&departed);
        departures |= departed;
        for (uint32_t f = 0; f < hal::functions() && release; f++) {
          if ((requests >> f & 1) != 0 && before_present) before_present();
          if ((requests >> f & 1) != 0) hal::function_write(f, WEFT_REG_DEVICE_STATE, WEFT_DEVICE_STATE_PRESENT);
        }
        if (fail) hal::function_write(hal::kAllFunctions, WEFT_REG_DEVICE_STATE, WEFT_DEVICE_STATE_FAILED);
        hal::wait_for_event(UINT64_MAX);
      }
    };
    chip::ChipOptions options = test::chip_options();
    options.functions = 3;
    std::string error;
    simulation = chip::Simulation::make(options, error);
    for (uint32_t f = 0; f < 3; f++) {
      if (function(f).host_memory().map(shared[f].fd(), 0, kIova, 4096, chip::Access::kReadWrite) != 0) std::abort();
    }
  }
  chip::Function& function(size_t index) { return simulation->function(index); }
  void ring(size_t index) {
    test::ring_doorbell(function(index), 1, 1);
    simulation->run_until_idle();
  }
  uint64_t word(size_t index) { return *shared[index].at<uint64_t>(0); }
  uint64_t state(size_t index) { return test::read_register(function(index), WEFT_REG_DEVICE_STATE); }
  uint64_t generation(size_t index) { return test::read_register(function(index), WEFT_REG_RESET_GENERATION); }
  void reset(size_t index) {
    test::write_register(function(index), WEFT_REG_RESET_CONTROL, WEFT_RESET_KEY);
    simulation->run_until_idle();
  }

  /// Function 1 resets itself while the firmware ails; the device is reset `limit` cycles later, and serves.
  void recover(chip::Ailment ailment, uint64_t limit) {
    simulation->chip().manager().ail(ailment);
    const uint64_t asked = simulation->cycle();
    reset(1);
    CHECK(starts == 2);
    CHECK(simulation->cycle() - asked >= limit);
    CHECK(simulation->cycle() - asked < limit + 1000);
    for (size_t f = 0; f < 3; f++) {
      CHECK(state(f) == WEFT_DEVICE_STATE_PRESENT);
      CHECK(generation(f) == (f == 1 ? 2 : 1));  // its own reset, and the device's
    }
    ring(0);
    CHECK(word(0) == 1);
  }

  test::SharedMemory shared[3] = {test::SharedMemory(4096), test::SharedMemory(4096), test::SharedMemory(4096)};
  uint32_t requests = 0, departures = 0;
  int starts = 0;
  bool release = true, fail = false;
  std::function<void()> before_present;  ///< called between the end of a reset and the word of it
  std::unique_ptr<chip::Simulation> simulation;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a doorbell, an IOVA and an interrupt belong to one function") {
  ring(1);
  ring(1);
  ring(2);
  CHECK(word(0) == 0);
  CHECK(word(1) == 2);
  CHECK(word(2) == 1);
  CHECK(test::read_register(function(0), WEFT_REG_INTERRUPT_STATUS) == 0);
  CHECK(test::read_register(function(1), WEFT_REG_INTERRUPT_STATUS) == 2);
}

TEST_CASE_METHOD(Fixture, "the core reaches the host of the function that the firmware names") {
  auto& bus = simulation->chip().bus();
  const std::array<std::byte, 8> data{std::byte{7}};
  for (size_t f = 0; f < 3; f++) {
    bus.set_core_function(f);
    REQUIRE(bus.write(WEFT_ADDRESS_SPACE_HOST, kIova, data));
    CHECK(word(f) == 7);
    *shared[f].at<uint64_t>(0) = 0;
    for (size_t other = 0; other < 3; other++) CHECK(word(other) == 0);
  }
}

TEST_CASE_METHOD(Fixture, "an alarm of one function ends its own wait and no other's") {
  test::write_register(function(0), WEFT_REG_WAIT_ALARM, simulation->cycle() + 5'000'000, 8);
  test::write_register(function(1), WEFT_REG_WAIT_ALARM, simulation->cycle() + 1000, 8);
  test::ring_doorbell(function(2), 1, 1);
  while (test::read_register(function(1), WEFT_REG_WAIT_STATUS) == WEFT_WAIT_STATUS_ARMED) {
    if (simulation->pending()) {
      simulation->run_slice();
    } else {
      break;
    }
  }
  CHECK(test::read_register(function(1), WEFT_REG_WAIT_STATUS) == WEFT_WAIT_STATUS_DEADLINE);
  CHECK(test::read_register(function(0), WEFT_REG_WAIT_STATUS) == WEFT_WAIT_STATUS_ARMED);
}

TEST_CASE_METHOD(Fixture, "the reset of one function is the firmware's to do, and the others keep everything") {
  test::write_register(function(0), WEFT_REG_INTERRUPT_MASK, 5);
  reset(1);
  CHECK(starts == 1);
  CHECK(requests == 2);
  CHECK(departures == 0);
  CHECK(generation(1) == 1);
  CHECK(generation(0) == 0);
  CHECK(state(1) == WEFT_DEVICE_STATE_PRESENT);
  CHECK(test::read_register(function(0), WEFT_REG_INTERRUPT_MASK) == 5);
  ring(0);
  CHECK(word(0) == 1);
}

TEST_CASE_METHOD(Fixture, "what the device does for a client that has left reaches no memory of it") {
  release = false;
  *shared[1].at<uint64_t>(0) = 7;
  simulation->disconnect(1);
  const std::array<std::byte, 8> data{std::byte{9}};
  std::array<std::byte, 8> seen{std::byte{1}};
  auto& bus = simulation->chip().bus();
  bus.set_core_function(1);
  CHECK(bus.read(WEFT_ADDRESS_SPACE_HOST, kIova, seen));  // its engines see memory, so that they end as they would
  CHECK(seen[0] == std::byte{0});
  CHECK(bus.write(WEFT_ADDRESS_SPACE_HOST, kIova, data));
  CHECK(word(1) == 7);
  simulation->run_until_idle();
  CHECK(departures == 2);
  CHECK(state(1) == WEFT_DEVICE_STATE_RESETTING);
  CHECK_FALSE(function(1).settled());
  CHECK(function(1).host_memory().size() == 1);
  release = true;
  ring(0);
  CHECK(function(1).settled());
  CHECK(function(1).host_memory().size() == 0);
  CHECK(function(0).settled());
  CHECK(function(0).host_memory().size() == 1);
  CHECK(word(0) == 1);
}

TEST_CASE_METHOD(Fixture, "once the firmware has failed, the reset of any function starts the device anew") {
  fail = true;
  ring(0);
  for (size_t f = 0; f < 3; f++) CHECK(state(f) == WEFT_DEVICE_STATE_FAILED);
  fail = false;
  reset(2);
  CHECK(starts == 2);
  for (size_t f = 0; f < 3; f++) {
    CHECK(state(f) == WEFT_DEVICE_STATE_PRESENT);
    CHECK(generation(f) == 1);
  }
}

TEST_CASE_METHOD(Fixture, "a client that leaves failed firmware is still released, by the firmware that comes after") {
  fail = true;
  ring(0);
  fail = false;
  release = false;
  simulation->disconnect(1);
  simulation->run_until_idle();
  CHECK(starts == 2);
  CHECK(departures == 2);
  CHECK(state(0) == WEFT_DEVICE_STATE_PRESENT);
  CHECK(state(1) == WEFT_DEVICE_STATE_RESETTING);
  CHECK_FALSE(function(1).settled());
}

TEST_CASE_METHOD(Fixture,
                 "dead firmware that a function asks for its reset is started anew after its watchdog's limit") {
  recover(chip::Ailment::kDead, WEFT_LIMIT_FIRMWARE_WATCHDOG_CYCLES);
}

TEST_CASE_METHOD(Fixture, "deaf firmware is started anew as well, after the limit of the most patient host") {
  test::write_register(function(0), WEFT_REG_FIRMWARE_WATCHDOG, 2'100'000);
  test::write_register(function(2), WEFT_REG_FIRMWARE_WATCHDOG, 30'000);
  recover(chip::Ailment::kDeaf, 2'100'000);
}

TEST_CASE_METHOD(Fixture, "a client that leaves dead firmware is released by the firmware that comes after") {
  simulation->chip().manager().ail(chip::Ailment::kDead);
  release = false;
  simulation->disconnect(1);
  simulation->run_until_idle();
  CHECK(starts == 2);
  CHECK(departures == 2);
  CHECK(state(1) == WEFT_DEVICE_STATE_RESETTING);
  release = true;
  ring(0);
  CHECK(function(1).settled());
}

TEST_CASE_METHOD(Fixture, "a request that the firmware takes leaves nothing pending") {
  const uint64_t asked = simulation->cycle();
  reset(1);
  CHECK_FALSE(simulation->pending());
  CHECK(simulation->cycle() - asked < 1000);
  CHECK(starts == 1);
}

TEST_CASE_METHOD(Fixture,
                 "a client that leaves in the middle of its reset is released before the function is handed on") {
  before_present = [&] {
    before_present = nullptr;
    release = false;
    simulation->disconnect(1);
  };
  reset(1);
  CHECK(departures == 2);
  CHECK(state(1) == WEFT_DEVICE_STATE_RESETTING);
  CHECK_FALSE(function(1).settled());
  release = true;
  ring(0);
  CHECK(function(1).settled());
}

TEST_CASE_METHOD(Fixture,
                 "a departure that the firmware has finished is not told again, whether anybody looked or not") {
  simulation->disconnect(1);
  simulation->run_until_idle();
  REQUIRE(departures == 2);
  fail = true;
  ring(0);
  fail = false;
  departures = 0;
  reset(0);
  REQUIRE(starts == 2);
  CHECK(departures == 0);
  CHECK(state(1) == WEFT_DEVICE_STATE_PRESENT);
  CHECK(function(1).host_memory().size() == 0);
}

TEST_CASE_METHOD(Fixture, "a departure that the firmware had not finished is told again after a device reset") {
  release = false;
  simulation->disconnect(1);
  simulation->run_until_idle();
  REQUIRE(departures == 2);  // the firmware has heard of it and clears what the client has left
  fail = true;
  ring(0);
  fail = false;
  departures = 0;
  reset(0);
  REQUIRE(starts == 2);
  CHECK(departures == 2);
  CHECK(state(1) == WEFT_DEVICE_STATE_RESETTING);
  CHECK_FALSE(function(1).settled());  // no client gets a function whose memory is not cleared
}
