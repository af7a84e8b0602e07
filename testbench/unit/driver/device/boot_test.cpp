// Boot and reset against a device that does them wrong.
#include <catch2/catch.hpp>

#include "testbench/unit/driver/device_fixture.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

namespace {

Status open_status(MockFaults faults) {
  BootLimits limits;
  limits.stage = limits.reset = std::chrono::milliseconds(50);
  return Device::open(std::make_unique<MockTransport>(nano(), faults), limits).status();
}

/// A device on a mock whose faults the test sets later, with limits that a test can wait for.
struct Impatient {
  MockTransport* mock = nullptr;
  std::shared_ptr<Device> device;

  Impatient() {
    auto transport = std::make_unique<MockTransport>(nano());
    mock = transport.get();
    BootLimits limits;
    limits.stage = limits.reset = std::chrono::milliseconds(50);
    auto opened = Device::open(std::move(transport), limits);
    REQUIRE(opened.ok());
    device = std::move(opened.value());
  }
};

}  // namespace

TEST_CASE("a boot that is stuck names its stage") {
  const auto [stage, name] = GENERATE(table<uint32_t, std::string>(
      {{0, "rom"}, {1, "image_verified"}, {2, "memory_initialised"}, {3, "parameters_accepted"}, {4, "rings_up"}}));
  MockFaults faults;
  faults.stuck_after_stage = stage;
  const Status status = open_status(faults);
  CHECK(status.code() == WEFT_ERROR_BOOT_FAILED);
  CHECK_THAT(status.message(), Contains("stuck after stage " + std::to_string(stage)) && Contains(name));
}

TEST_CASE("a boot that fails names its error and stage") {
  MockFaults faults;
  faults.boot_error = WEFT_ERROR_DMA_FAULT;
  const Status status = open_status(faults);
  CHECK(status.code() == WEFT_ERROR_BOOT_FAILED);
  CHECK_THAT(status.message(), Contains("DMA_FAULT") && Contains("memory_initialised"));
}

TEST_CASE("READY of another boot is not believed") {
  MockFaults faults;
  faults.stale_ready = true;
  const Status status = open_status(faults);
  CHECK(status.code() == WEFT_ERROR_BOOT_FAILED);
  CHECK_THAT(status.message(), Contains("stale READY"));
}

TEST_CASE("another major ABI is refused with both versions") {
  MockFaults faults;
  faults.abi_version = 7u << 16 | 3;
  const Status status = open_status(faults);
  CHECK(status.code() == WEFT_ERROR_ABI_MISMATCH);
  CHECK_THAT(status.message(), Contains("7.3") && Contains("1.0"));
}

TEST_CASE("another minor ABI is fine") {
  MockFaults faults;
  faults.abi_version = WEFT_ABI_MAJOR << 16 | 9;
  CHECK(open_status(faults).ok());
}

TEST_CASE("what is not a Weft device is refused") {
  MockFaults faults;
  faults.magic = 0x12345678;
  const Status status = open_status(faults);
  CHECK(status.code() == WEFT_ERROR_UNSUPPORTED);
  CHECK_THAT(status.message(), Contains("0x12345678"));
}

TEST_CASE("all ones means that the device is gone") {
  MockFaults faults;
  faults.all_ones = true;
  CHECK(open_status(faults).code() == WEFT_ERROR_DEVICE_LOST);
}

TEST_CASE("a device that a former user left running is reset first") {
  auto transport = std::make_unique<MockTransport>(nano());
  const uint32_t boot = 1;
  REQUIRE(transport->write(Region::kRegisters, WEFT_REG_BOOT_CONTROL, &boot, sizeof boot).ok());
  const auto opened = Device::open(std::move(transport));
  REQUIRE(opened.ok());
  CHECK(opened.value()->generation() == 1);
}

TEST_CASE("a reset ends what is in flight, drops queues and programs, keeps buffers") {
  MockDevice device;
  weft_queue* queue = device.queue();
  weft_buffer* buffer = nullptr;
  REQUIRE_OK(weft_buffer_create(device.handle(), WEFT_MEMORY_HOST, 100, &buffer));
  const Bytes file = make_executable(nano());
  weft_program* program = nullptr;
  REQUIRE_OK(weft_program_load(device.handle(), file.data(), file.size(), &program));
  weft_kernel* kernel = nullptr;
  REQUIRE_OK(weft_program_find_kernel(program, "empty", &kernel));
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  weft_event* event = nop(queue);
  REQUIRE_OK(weft_device_reset(device.handle()));
  CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_ABORTED_BY_RESET);
  CHECK(weft_nop(queue, nullptr, nullptr) == WEFT_ERROR_INVALID_STATE);
  CHECK_THAT(last_message(), Contains("reset"));
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  weft_queue* fresh = device.queue();
  CHECK(weft_launch(fresh, kernel, nullptr, 0, nullptr, nullptr) == WEFT_ERROR_INVALID_STATE);
  CHECK_THAT(last_message(), Contains("generation 0") && Contains("1"));
  weft_event* fill = nullptr;
  REQUIRE_OK(weft_fill(fresh, buffer, 0, 100, 0x01020304, nullptr, &fill));
  REQUIRE_OK(weft_event_wait(fill, nullptr));
  weft_device_info info = WEFT_INIT(weft_device_info);
  REQUIRE_OK(weft_device_get_info(device.handle(), &info));
  CHECK(info.generation == 1);
  CHECK(info.state == WEFT_DEVICE_STATE_READY);
  weft_event_release(event);
  weft_event_release(fill);
  weft_program_release(program);
  REQUIRE_OK(weft_queue_release(queue));
  REQUIRE_OK(weft_queue_release(fresh));
  weft_buffer_release(buffer);
}

TEST_CASE("a reset that fails leaves the device failed, and another may help") {
  Impatient impatient;
  impatient.mock->configure([](MockFaults& f) { f.ignore_reset = true; });
  CHECK(impatient.device->reset().code() == WEFT_ERROR_BOOT_FAILED);
  CHECK(impatient.device->check().code() == WEFT_ERROR_BOOT_FAILED);
  CHECK(impatient.device->create_queue({2, 2}).status().code() == WEFT_ERROR_BOOT_FAILED);
  impatient.mock->configure([](MockFaults& f) { f.ignore_reset = false; });
  CHECK(impatient.device->reset().ok());
  CHECK(impatient.device->create_queue({2, 2}).ok());
}

TEST_CASE("a device that fails again behind its reset is told with its error") {
  Impatient impatient;
  impatient.mock->configure([](MockFaults& f) { f.fails_after_reset = true; });
  const Status failed = impatient.device->reset();
  CHECK(failed.code() == WEFT_ERROR_BOOT_FAILED);
  CHECK_THAT(failed.message(), Contains("failed with DEVICE_HUNG after its reset") && Contains("rom"));
  impatient.mock->configure([](MockFaults& f) { f.fails_after_reset = false; });
  CHECK(impatient.device->reset().ok());
  CHECK(impatient.device->create_queue({2, 2}).ok());
}

TEST_CASE("a reset during which the chip resets itself too ends with the generation of the last") {
  auto transport = std::make_unique<MockTransport>(nano());
  MockTransport& mock = *transport;
  const auto opened = Device::open(std::move(transport));
  REQUIRE(opened.ok());
  mock.configure([](MockFaults& f) { f.reset_twice = true; });
  REQUIRE(opened.value()->reset().ok());
  CHECK(opened.value()->generation() == 2);
  CHECK(opened.value()->create_queue({2, 2}).ok());
}
