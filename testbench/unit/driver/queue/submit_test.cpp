// weft_submit: many commands, one doorbell, all or none.
#include <catch2/catch.hpp>

#include "testbench/unit/driver/device_fixture.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

namespace {

std::vector<weft_command> nops(size_t count) {
  std::vector<weft_command> commands(count, WEFT_INIT(weft_command));
  for (weft_command& command : commands) command.opcode = WEFT_QUEUE_OPCODE_NOP;
  return commands;
}

}  // namespace

TEST_CASE("a batch costs one doorbell, and its commands end in order") {
  MockDevice device;
  weft_queue* queue = device.queue(64);
  auto commands = nops(64);
  std::vector<weft_event*> events(64, nullptr);
  for (size_t i = 0; i < 64; i++) commands[i].event = &events[i];
  for (int lap = 0; lap < 3; lap++) {
    const uint64_t doorbells = device.mock().doorbell_writes();
    REQUIRE_OK(weft_submit(queue, commands.data(), 64));
    CHECK(device.mock().doorbell_writes() == doorbells + 1);
    uint64_t last = 0;
    for (weft_event* event : events) {
      REQUIRE_OK(weft_event_wait(event, nullptr));
      REQUIRE(query(event).end_cycle > last);
      last = query(event).end_cycle;
      weft_event_release(event);
    }
  }
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("only commands with an event and the last of a batch raise an interrupt") {
  MockDevice device;
  weft_queue* queue = device.queue(64);
  auto commands = nops(16);
  weft_event* event = nullptr;
  commands[3].event = &event;
  const uint64_t before = device.mock().interrupts_raised();
  REQUIRE_OK(weft_submit(queue, commands.data(), 16));
  CHECK(device.mock().interrupts_raised() == before + 2);
  REQUIRE_OK(weft_event_wait(event, nullptr));
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a batch with one wrong command submits nothing and names it") {
  MockDevice device;
  weft_queue* queue = device.queue(64);
  weft_buffer* buffer = nullptr;
  REQUIRE_OK(weft_buffer_create(device.handle(), WEFT_MEMORY_HBM, 64, &buffer));
  auto commands = nops(4);
  weft_event* events[4] = {};
  for (size_t i = 0; i < 4; i++) commands[i].event = &events[i];
  commands[2].opcode = WEFT_QUEUE_OPCODE_FILL;
  commands[2].destination = buffer;
  commands[2].bytes = 65;
  events[0] = reinterpret_cast<weft_event*>(1);
  CHECK(weft_submit(queue, commands.data(), 4) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(last_message(), Contains("command 2 of 4: a fill of 65 bytes"));
  CHECK(events[0] == nullptr);
  commands[2].bytes = 64;
  commands[3].size--;
  CHECK(weft_submit(queue, commands.data(), 4) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(last_message(), Contains("command 3 of 4"));
  commands[3].size++;
  commands[1].opcode = WEFT_QUEUE_OPCODE_COLLECTIVE;
  CHECK(weft_submit(queue, commands.data(), 4) == WEFT_ERROR_UNSUPPORTED);
  commands[1].opcode = static_cast<weft_queue_opcode>(200);
  CHECK(weft_submit(queue, commands.data(), 4) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(weft_submit(queue, commands.data(), 0) == WEFT_ERROR_INVALID_ARGUMENT);
  weft_queue_info info = WEFT_INIT(weft_queue_info);
  REQUIRE_OK(weft_queue_get_info(queue, &info));
  CHECK(info.tail == 0);
  weft_buffer_release(buffer);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a batch that does not fit is refused whole, and one larger than the ring for ever") {
  MockDevice device;
  weft_queue* queue = device.queue(8);
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  auto commands = nops(9);
  CHECK(weft_submit(queue, commands.data(), 9) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(last_message(), Contains("a batch of 9 commands") && Contains("8 entries"));
  REQUIRE_OK(weft_submit(queue, commands.data(), 5));
  CHECK(weft_submit(queue, commands.data(), 4) == WEFT_ERROR_QUEUE_FULL);
  CHECK_THAT(last_message(), Contains("head 0, tail 5, size 8"));
  REQUIRE_OK(weft_submit(queue, commands.data(), 3));
  device.mock().run(4);
  REQUIRE_OK(weft_submit(queue, commands.data(), 4));
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  REQUIRE_OK(weft_queue_release(queue));
  CHECK(device.statistics().completed == device.statistics().submitted);
}
