// Programs: loading through staging copies, launching, unloading.
#include "driver/device/program.hpp"

#include <catch2/catch.hpp>

#include "testbench/unit/driver/device_fixture.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

namespace {

weft_program* load(MockDevice& device, const Bytes& file) {
  weft_program* program = nullptr;
  REQUIRE_OK(weft_program_load(device.handle(), file.data(), file.size(), &program));
  return program;
}

}  // namespace

TEST_CASE("a program of several staging pieces arrives whole, is launched with a profile, and goes") {
  MockDevice device;
  const uint64_t hbm_before = [&] {
    weft_device_info info = WEFT_INIT(weft_device_info);
    REQUIRE_OK(weft_device_get_info(device.handle(), &info));
    return info.hbm_free_bytes;
  }();
  weft_program* program = load(device, make_executable(nano(), (9u << 20) + 16));
  CHECK(device.mock().programs_loaded() == 1);
  weft_kernel* kernel = nullptr;
  REQUIRE_OK(weft_program_find_kernel(program, "layer", &kernel));
  weft_kernel_info info = WEFT_INIT(weft_kernel_info);
  REQUIRE_OK(weft_kernel_get_info(kernel, &info));
  CHECK(info.argument_count == 2);
  CHECK(info.command_count == 2);
  weft_argument_info argument = WEFT_INIT(weft_argument_info);
  REQUIRE_OK(weft_kernel_get_argument(kernel, 1, &argument));
  CHECK(std::string(argument.name) == "y");
  CHECK(argument.size_bytes == 256);
  CHECK(weft_kernel_get_argument(kernel, 2, &argument) == WEFT_ERROR_INVALID_ARGUMENT);

  weft_queue* queue = device.queue();
  weft_buffer *x = nullptr, *y = nullptr;
  REQUIRE_OK(weft_buffer_create(device.handle(), WEFT_MEMORY_HBM, 256, &x));
  REQUIRE_OK(weft_buffer_create(device.handle(), WEFT_MEMORY_HOST, 300, &y));
  const weft_argument arguments[] = {{x, 0}, {y, 32}};
  weft_command_options options = WEFT_INIT(weft_command_options);
  options.profile = 1;
  weft_event* event = nullptr;
  REQUIRE_OK(weft_launch(queue, kernel, arguments, 2, &options, &event));
  REQUIRE_OK(weft_event_wait(event, nullptr));
  weft_launch_profile profile{};
  REQUIRE_OK(weft_event_get_profile(event, &profile));
  CHECK(profile.doorbell + 5 == profile.completion);

  const weft_argument small[] = {{x, 16}, {y, 32}};
  CHECK(weft_launch(queue, kernel, small, 2, nullptr, nullptr) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(last_message(), Contains("'x' needs 256 bytes") || Contains("('x') needs 256 bytes"));
  CHECK(weft_launch(queue, kernel, arguments, 1, nullptr, nullptr) == WEFT_ERROR_INVALID_ARGUMENT);
  const weft_argument odd[] = {{x, 0}, {y, 8}};
  CHECK(weft_launch(queue, kernel, odd, 2, nullptr, nullptr) == WEFT_ERROR_INVALID_ARGUMENT);

  device.mock().configure([](MockFaults& f) { f.paused = true; });
  weft_event* last = nullptr;
  REQUIRE_OK(weft_launch(queue, kernel, arguments, 2, nullptr, &last));
  weft_program_release(program);
  CHECK(device.mock().programs_loaded() == 1);  // the launch in flight holds it
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  REQUIRE_OK(weft_event_wait(last, nullptr));
  CHECK(weft_event_get_profile(last, &profile) == WEFT_ERROR_INVALID_STATE);
  weft_event_release(event);
  weft_event_release(last);
  weft_program* other = load(device, make_executable(nano()));
  CHECK(device.mock().programs_loaded() == 1);
  weft_program_release(other);
  CHECK(device.mock().programs_loaded() == 0);
  weft_buffer_release(x);
  weft_buffer_release(y);
  weft_device_info after = WEFT_INIT(weft_device_info);
  REQUIRE_OK(weft_device_get_info(device.handle(), &after));
  CHECK(after.hbm_free_bytes == hbm_before);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("the memory of a program that is released during its last launch is free once that has ended") {
  const bool looks = GENERATE(true, false);
  CAPTURE(looks);
  MockDevice device;
  weft_device_info before = WEFT_INIT(weft_device_info), after = WEFT_INIT(weft_device_info);
  REQUIRE_OK(weft_device_get_info(device.handle(), &before));
  weft_program* program = load(device, make_executable(nano()));
  weft_kernel* kernel = nullptr;
  REQUIRE_OK(weft_program_get_kernel(program, 0, &kernel));
  weft_queue* queue = device.queue();
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  weft_event* event = nullptr;
  REQUIRE_OK(weft_launch(queue, kernel, nullptr, 0, nullptr, &event));
  weft_program_release(program);
  CHECK(device.mock().programs_loaded() == 1);
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  REQUIRE_OK(weft_event_wait(event, nullptr));
  if (looks) {
    REQUIRE_OK(weft_device_get_info(device.handle(), &after));
    CHECK(after.hbm_free_bytes == before.hbm_free_bytes);
  } else {
    weft_buffer* all = nullptr;
    REQUIRE_OK(weft_buffer_create(device.handle(), WEFT_MEMORY_HBM, before.hbm_largest_bytes, &all));
    weft_buffer_release(all);
  }
  CHECK(device.mock().programs_loaded() == 0);
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a thousand empty launches in flight") {
  MockDevice device;
  weft_program* program = load(device, make_executable(nano()));
  weft_kernel* kernel = nullptr;
  REQUIRE_OK(weft_program_get_kernel(program, 0, &kernel));
  weft_queue* queue = device.queue(1024);
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  std::vector<weft_event*> events(1000);
  for (auto& event : events) REQUIRE_OK(weft_launch(queue, kernel, nullptr, 0, nullptr, &event));
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  for (weft_event* event : events) {
    REQUIRE_OK(weft_event_wait(event, nullptr));
    weft_event_release(event);
  }
  REQUIRE_OK(weft_queue_release(queue));
  weft_program_release(program);
}

TEST_CASE("what cannot be loaded leaves nothing behind") {
  MockDevice device;
  weft_device_info before = WEFT_INIT(weft_device_info), after = WEFT_INIT(weft_device_info);
  REQUIRE_OK(weft_device_get_info(device.handle(), &before));
  weft_program* program = nullptr;
  const Bytes wrong = make_executable(*weft::spec::find_chip("small"));
  CHECK(weft_program_load(device.handle(), wrong.data(), wrong.size(), &program) == WEFT_ERROR_EXECUTABLE_INVALID);
  CHECK_THAT(last_message(), Contains("N 32 instead of 8"));
  weft_buffer* most = nullptr;
  REQUIRE_OK(weft_buffer_create(device.handle(), WEFT_MEMORY_HBM, 60u << 20, &most));
  const Bytes huge = make_executable(nano(), 5u << 20);
  CHECK(weft_program_load(device.handle(), huge.data(), huge.size(), &program) == WEFT_ERROR_NO_DEVICE_MEMORY);
  CHECK(program == nullptr);
  weft_buffer_release(most);
  REQUIRE_OK(weft_device_get_info(device.handle(), &after));
  CHECK(after.hbm_free_bytes == before.hbm_free_bytes);
}

TEST_CASE("a wrong kernel name is answered with those there are") {
  MockDevice device;
  weft_program* program = load(device, make_executable(nano()));
  weft_kernel* kernel = nullptr;
  CHECK(weft_program_find_kernel(program, "conv", &kernel) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(last_message(), Contains("'conv'") && Contains("empty, layer"));
  CHECK(weft_program_get_kernel(program, 2, &kernel) == WEFT_ERROR_INVALID_ARGUMENT);
  weft_program_release(program);
}
