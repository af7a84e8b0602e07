// Handles that outlive what they stand for: calls that only look at them answer INVALID_STATE too.
#include <string>
#include <utility>

#include "testbench/unit/driver/device_fixture.hpp"

using namespace weft::driver;
using namespace weft::driver::test;

namespace {

/// One of each handle, and every call that looks at one without asking the device.
struct Handles {
  weft_queue* queue = nullptr;
  weft_semaphore* semaphore = nullptr;
  weft_buffer* buffer = nullptr;
  weft_program* program = nullptr;
  weft_kernel* kernel = nullptr;
  weft_command_buffer* recording = nullptr;
  weft_event* event = nullptr;
  weft_command command = WEFT_INIT(weft_command);

  explicit Handles(MockDevice& device) : queue(device.queue()) {
    REQUIRE_OK(weft_semaphore_create(device.handle(), 0, &semaphore));
    REQUIRE_OK(weft_buffer_create(device.handle(), WEFT_MEMORY_HOST, 64, &buffer));
    const Bytes file = make_executable(nano());
    REQUIRE_OK(weft_program_load(device.handle(), file.data(), file.size(), &program));
    REQUIRE_OK(weft_program_find_kernel(program, "layer", &kernel));
    command.opcode = WEFT_QUEUE_OPCODE_NOP;
    REQUIRE_OK(weft_command_buffer_create(device.handle(), &command, 1, &recording));
    event = nop(queue);
    REQUIRE_OK(weft_event_wait(event, nullptr));
  }
  ~Handles() {
    weft_event_release(event);
    weft_command_buffer_release(recording);
    weft_program_release(program);
    weft_buffer_release(buffer);
    weft_semaphore_release(semaphore);
    (void)!weft_queue_release(queue);
  }

  std::vector<std::pair<std::string, weft_status>> looks_at_buffer() {
    void* pointer = nullptr;
    weft_buffer_info info = WEFT_INIT(weft_buffer_info);
    return {{"buffer_map", weft_buffer_map(buffer, &pointer)},
            {"buffer_get_info", weft_buffer_get_info(buffer, &info)}};
  }
  std::vector<std::pair<std::string, weft_status>> looks() {
    weft_queue_info queue_info = WEFT_INIT(weft_queue_info);
    weft_kernel_info kernel_info = WEFT_INIT(weft_kernel_info);
    weft_argument_info argument_info = WEFT_INIT(weft_argument_info);
    weft_kernel* found = nullptr;
    uint64_t value = 0;
    uint32_t count = 0;
    return {{"queue_get_info", weft_queue_get_info(queue, &queue_info)},
            {"queue_cancel", weft_queue_cancel(queue)},
            {"semaphore_get_value", weft_semaphore_get_value(semaphore, &value)},
            {"program_kernel_count", weft_program_kernel_count(program, &count)},
            {"program_get_kernel", weft_program_get_kernel(program, 0, &found)},
            {"program_find_kernel", weft_program_find_kernel(program, "layer", &found)},
            {"kernel_get_info", weft_kernel_get_info(kernel, &kernel_info)},
            {"kernel_get_argument", weft_kernel_get_argument(kernel, 0, &argument_info)},
            {"command_buffer_patch", weft_command_buffer_patch(recording, 0, &command)}};
  }
};

void check_all(const std::vector<std::pair<std::string, weft_status>>& looks, weft_status expected) {
  REQUIRE(!looks.empty());
  for (const auto& [call, status] : looks) {
    CAPTURE(call);
    CHECK(status == expected);
  }
}

}  // namespace

TEST_CASE(
    "handles of a closed device answer INVALID_STATE to who only looks at them, and their events tell their end") {
  MockDevice device;
  Handles handles(device);
  check_all(handles.looks(), WEFT_ERROR_OK);
  check_all(handles.looks_at_buffer(), WEFT_ERROR_OK);
  device.close();
  check_all(handles.looks(), WEFT_ERROR_INVALID_STATE);
  check_all(handles.looks_at_buffer(), WEFT_ERROR_INVALID_STATE);
  CHECK(query(handles.event).status == WEFT_ERROR_OK);
}

TEST_CASE("handles of what went with a reset answer INVALID_STATE to who only looks at them, and buffers stay") {
  MockDevice device;
  Handles handles(device);
  REQUIRE_OK(weft_device_reset(device.handle()));
  check_all(handles.looks(), WEFT_ERROR_INVALID_STATE);
  check_all(handles.looks_at_buffer(), WEFT_ERROR_OK);
  CHECK(query(handles.event).status == WEFT_ERROR_OK);
}
