// Structures of callers that are newer than the library. Older forms: waits_test.
#include <array>
#include <cstring>
#include <vector>

#include "testbench/unit/driver/device_fixture.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

namespace {

/// A structure of a later version: with a field that this one does not know.
template <typename T>
struct Newer {
  explicit Newer(uint64_t value = 0) : later(value) { known.size = sizeof *this; }
  T known{};
  uint64_t later;
};

}  // namespace

TEST_CASE("a structure of a newer program is filled, and what the library does not know is 0") {
  MockDevice device;
  Newer<weft_device_info> info(UINT64_MAX);
  REQUIRE_OK(weft_device_get_info(device.handle(), &info.known));
  CHECK(info.known.size == sizeof info);
  CHECK(std::string(info.known.preset) == "nano");
  CHECK(info.later == 0);
  Newer<weft_error_info> error(1);
  CHECK(weft_open("none", nullptr) == WEFT_ERROR_INVALID_ARGUMENT);
  REQUIRE_OK(weft_last_error(&error.known));
  CHECK((error.known.code == WEFT_ERROR_INVALID_ARGUMENT && error.known.size == sizeof error && error.later == 0));
  Newer<weft_fault_injection_info> faults(1);
  REQUIRE_OK(weft_fault_get_info(device.handle(), &faults.known));
  CHECK(faults.later == 0);
}

TEST_CASE("options of a newer program are taken unless they set what the library does not know") {
  MockDevice device;
  weft_queue* queue = nullptr;
  Newer<weft_queue_options> options;
  options.known.entries = 16;
  REQUIRE_OK(weft_queue_create(device.handle(), &options.known, &queue));
  weft_queue_info info = WEFT_INIT(weft_queue_info);
  REQUIRE_OK(weft_queue_get_info(queue, &info));
  CHECK(info.entries == 16);
  options.later = 1;
  weft_queue* none = nullptr;
  CHECK(weft_queue_create(device.handle(), &options.known, &none) == WEFT_ERROR_UNSUPPORTED);
  CHECK(none == nullptr);
  CHECK_THAT(last_message(), Contains("byte " + std::to_string(sizeof(weft_queue_options)) + " of 'options' is set"));
  Newer<weft_command_options> command;
  REQUIRE_OK(weft_nop(queue, &command.known, nullptr));
  command.later = uint64_t{1} << 63;
  CHECK(weft_nop(queue, &command.known, nullptr) == WEFT_ERROR_UNSUPPORTED);
  CHECK_THAT(last_message(), Contains("byte " + std::to_string(sizeof(weft_command_options) + 7)));
  weft_semaphore* semaphore = nullptr;
  REQUIRE_OK(weft_semaphore_create(device.handle(), 0, &semaphore));
  CHECK(weft_signal(queue, semaphore, 1, &command.known, nullptr) == WEFT_ERROR_UNSUPPORTED);
  command.later = 0;
  REQUIRE_OK(weft_signal(queue, semaphore, 1, &command.known, nullptr));
  weft_semaphore_release(semaphore);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("commands of a newer program lie as far apart as the first says, and all have its size") {
  MockDevice device;
  weft_queue* queue = device.queue();
  weft_buffer* buffer = nullptr;
  REQUIRE_OK(weft_buffer_create(device.handle(), WEFT_MEMORY_HOST, 64, &buffer));
  void* bytes = nullptr;
  REQUIRE_OK(weft_buffer_map(buffer, &bytes));
  std::array<weft_event*, 3> events{};
  std::array<Newer<weft_command>, 3> commands;
  for (uint32_t i = 0; i < commands.size(); i++) {
    weft_command& c = commands[i].known;
    c.opcode = WEFT_QUEUE_OPCODE_FILL;
    c.destination = buffer;
    c.destination_offset = 4 * i;
    c.bytes = 4;
    c.pattern = 100 + i;
    c.event = &events[i];
  }
  REQUIRE_OK(weft_submit(queue, &commands[0].known, 3));
  for (uint32_t i = 0; i < events.size(); i++) {
    REQUIRE_OK(weft_event_wait(events[i], nullptr));
    weft_event_release(events[i]);
    commands[i].known.event = nullptr;
    uint32_t word = 0;
    std::memcpy(&word, static_cast<unsigned char*>(bytes) + 4 * i, sizeof word);
    CHECK(word == 100 + i);
  }
  weft_command_buffer* recorded = nullptr;
  REQUIRE_OK(weft_command_buffer_create(device.handle(), &commands[0].known, 3, &recorded));
  commands[2].known.pattern = 7;
  REQUIRE_OK(weft_command_buffer_patch(recorded, 2, &commands[2].known));
  weft_command_buffer_release(recorded);
  commands[1].known.size--;
  CHECK(weft_submit(queue, &commands[0].known, 3) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(last_message(), Contains("command 1 of 3"));
  commands[1].known.size++;
  commands[2].later = 1;
  CHECK(weft_submit(queue, &commands[0].known, 3) == WEFT_ERROR_UNSUPPORTED);
  CHECK_THAT(last_message(), Contains("command 2 of 3"));
  weft_buffer_release(buffer);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a size that no version has is refused") {
  MockDevice device;
  weft_device_info info = WEFT_INIT(weft_device_info);
  for (const size_t size : {size_t{0}, sizeof info - 8, sizeof info - 1, sizeof info + 1, size_t{4104}, SIZE_MAX}) {
    info.size = size;
    CHECK(weft_device_get_info(device.handle(), &info) == WEFT_ERROR_INVALID_ARGUMENT);
  }
}
