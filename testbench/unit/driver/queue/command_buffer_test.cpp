// Command buffers: recorded once, replayed with one doorbell, patched between.
#include <catch2/catch.hpp>

#include "testbench/unit/driver/device_fixture.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

namespace {

/// fill of `to`, copy to `out`, both whole.
struct Pair {
  weft_buffer* to = nullptr;
  weft_buffer* out = nullptr;
  uint32_t* words = nullptr;
  weft_command commands[2] = {WEFT_INIT(weft_command), WEFT_INIT(weft_command)};

  explicit Pair(MockDevice& device) {
    REQUIRE_OK(weft_buffer_create(device.handle(), WEFT_MEMORY_HBM, 64, &to));
    REQUIRE_OK(weft_buffer_create(device.handle(), WEFT_MEMORY_HOST, 64, &out));
    void* pointer = nullptr;
    REQUIRE_OK(weft_buffer_map(out, &pointer));
    words = static_cast<uint32_t*>(pointer);
    commands[0].opcode = WEFT_QUEUE_OPCODE_FILL;
    commands[0].destination = to;
    commands[0].bytes = 64;
    commands[0].pattern = 1;
    commands[1].opcode = WEFT_QUEUE_OPCODE_COPY;
    commands[1].destination = out;
    commands[1].source = to;
    commands[1].bytes = 64;
  }
  ~Pair() {
    weft_buffer_release(to);
    weft_buffer_release(out);
  }
};

weft_command_buffer* record(MockDevice& device, const weft_command* commands, uint32_t count) {
  weft_command_buffer* buffer = nullptr;
  REQUIRE_OK(weft_command_buffer_create(device.handle(), commands, count, &buffer));
  return buffer;
}

weft_status replay(weft_queue* queue, weft_command_buffer* buffer) {
  weft_event* event = nullptr;
  REQUIRE_OK(weft_command_buffer_submit(queue, buffer, &event));
  const weft_status status = weft_event_wait(event, nullptr);
  weft_event_release(event);
  return status;
}

}  // namespace

TEST_CASE("a buffer is replayed with one doorbell and one interrupt, as often as one likes, on any queue") {
  MockDevice device;
  Pair p(device);
  weft_queue *one = device.queue(4), *two = device.queue(2);
  weft_command_buffer* buffer = record(device, p.commands, 2);
  for (weft_queue* queue : {one, two}) {
    for (int i = 0; i < 5; i++) {
      p.words[15] = 0;
      const uint64_t doorbells = device.mock().doorbell_writes(), interrupts = device.mock().interrupts_raised();
      REQUIRE_OK(weft_command_buffer_submit(queue, buffer, nullptr));
      CHECK(device.mock().interrupts_raised() == interrupts + 1);
      CHECK(device.mock().doorbell_writes() <= doorbells + 2);  // the other is the completion ring's
      CHECK(p.words[15] == 1);
    }
  }
  weft_command_buffer_release(buffer);
  weft_command_buffer_release(nullptr);
  REQUIRE_OK(weft_queue_release(one));
  REQUIRE_OK(weft_queue_release(two));
}

TEST_CASE("a patch is for later replays, and one in flight keeps what it has, buffers included") {
  MockDevice device;
  weft_queue* queue = device.queue();
  weft_command_buffer* buffer = nullptr;
  {
    Pair p(device);
    buffer = record(device, p.commands, 2);
    p.commands[0].pattern = 2;
    device.mock().configure([](MockFaults& f) { f.paused = true; });
    weft_event* event = nullptr;
    REQUIRE_OK(weft_command_buffer_submit(queue, buffer, &event));
    REQUIRE_OK(weft_command_buffer_patch(buffer, 0, &p.commands[0]));
    device.mock().configure([](MockFaults& f) { f.paused = false; });
    REQUIRE_OK(weft_event_wait(event, nullptr));
    weft_event_release(event);
    CHECK(p.words[0] == 1);
    CHECK(replay(queue, buffer) == WEFT_ERROR_OK);
    CHECK(p.words[0] == 2);
    weft_command wrong = p.commands[1];
    CHECK(weft_command_buffer_patch(buffer, 0, &wrong) == WEFT_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(last_message(), Contains("command 0 was recorded with opcode 3, the patch has 2"));
    wrong.bytes = 65;
    CHECK(weft_command_buffer_patch(buffer, 1, &wrong) == WEFT_ERROR_INVALID_ARGUMENT);
    CHECK(weft_command_buffer_patch(buffer, 2, &p.commands[1]) == WEFT_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(last_message(), Contains("command 2 of a command buffer of 2"));
    CHECK(replay(queue, buffer) == WEFT_ERROR_OK);
  }
  CHECK(replay(queue, buffer) == WEFT_ERROR_OK);  // the handles of its buffers are gone, the buffers are not
  weft_command_buffer_release(buffer);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a replay that fails in the middle ends there and names the command") {
  MockDevice device;
  Pair p(device);
  weft_queue* queue = device.queue();
  weft_command_options options = WEFT_INIT(weft_command_options);
  options.tag = 9;
  p.commands[0].options = &options;
  weft_command_buffer* buffer = record(device, p.commands, 2);
  device.mock().configure([](MockFaults& f) { f.fail_next = WEFT_ERROR_DMA_FAULT; });
  CHECK(replay(queue, buffer) == WEFT_ERROR_DEPENDENCY_FAILED);
  CHECK_THAT(last_message(), Contains("(tag 9) of queue 1 failed first, with DMA_FAULT"));
  CHECK(p.words[0] == 0);
  CHECK(replay(queue, buffer) == WEFT_ERROR_OK);
  weft_command_buffer_release(buffer);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("what cannot be recorded or replayed is refused") {
  MockDevice device, other;
  Pair p(device);
  weft_queue *queue = device.queue(2), *foreign = other.queue();
  weft_command_buffer* buffer = nullptr;
  weft_event* event = nullptr;
  p.commands[1].event = &event;
  CHECK(weft_command_buffer_create(device.handle(), p.commands, 2, &buffer) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(last_message(), Contains("command 1 of 2: a recorded command has no event"));
  p.commands[1].event = nullptr;
  CHECK(weft_command_buffer_create(device.handle(), p.commands, 0, &buffer) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(weft_command_buffer_create(device.handle(), p.commands, 4097, &buffer) == WEFT_ERROR_INVALID_ARGUMENT);
  p.commands[0].size--;
  CHECK(weft_command_buffer_create(device.handle(), p.commands, 2, &buffer) == WEFT_ERROR_INVALID_ARGUMENT);
  p.commands[0].size++;
  CHECK(buffer == nullptr);
  buffer = record(device, p.commands, 2);
  CHECK(weft_command_buffer_submit(foreign, buffer, nullptr) == WEFT_ERROR_INVALID_ARGUMENT);
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  REQUIRE_OK(weft_nop(queue, nullptr, nullptr));
  CHECK(weft_command_buffer_submit(queue, buffer, &event) == WEFT_ERROR_QUEUE_FULL);
  CHECK(event == nullptr);
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  REQUIRE_OK(weft_device_reset(device.handle()));
  weft_queue* fresh = device.queue();
  CHECK(weft_command_buffer_submit(fresh, buffer, nullptr) == WEFT_ERROR_INVALID_STATE);
  CHECK_THAT(last_message(), Contains("record it again"));
  weft_command_buffer_release(buffer);
  REQUIRE_OK(weft_queue_release(fresh));
  REQUIRE_OK(weft_queue_release(foreign));
  (void)!weft_queue_release(queue);
}
