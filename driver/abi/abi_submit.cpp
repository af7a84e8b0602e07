// C ABI: the submission of commands, many with one doorbell or one alone.
#include "driver/abi/abi_command.hpp"

using namespace weft::driver;
using namespace weft::driver::abi;

namespace {

/// Checks all, then submits all: on failure none is submitted.
Status submit(weft_queue& queue, const weft_command* commands, uint32_t count) {
  std::vector<PreparedCommand> prepared;
  std::vector<Submission> submissions;
  std::vector<std::unique_ptr<weft_event>> handles(count);
  prepared.reserve(count);
  submissions.reserve(count);
  for (uint32_t i = 0; i < count; i++) {
    const weft_command& given = commands[i];
    auto made = prepare_command(queue.device, given);
    if (!made.ok()) return in_batch(made.status(), i, count);
    PreparedCommand& p = prepared.emplace_back(std::move(made.value()));
    p.command.arguments = p.arguments;
    p.command.interrupt = given.event != nullptr || i + 1 == count;
    const auto event = make_event(*queue.queue, p, std::move(p.resources));
    if (given.event != nullptr) {  // before the submission: nothing may fail after it
      handles[i] = std::make_unique<weft_event>();
      handles[i]->device = queue.device;
      handles[i]->event = event;
    }
    submissions.push_back({event, p.command});
  }
  if (Status s = queue.device->submit(*queue.queue, submissions); !s.ok()) return s;
  for (uint32_t i = 0; i < count; i++) {
    if (commands[i].event != nullptr) *commands[i].event = handles[i].release();
  }
  return {};
}

/// One command of a verb of its own.
weft_status submit_one(weft_queue* queue, const weft_command& command) {
  return guard([&]() -> Status {
    if (command.event != nullptr) *command.event = nullptr;
    WEFT_REQUIRE(queue);
    return submit(*queue, &command, 1);
  });
}

weft_command make_command(weft_queue_opcode opcode, const weft_command_options* options, weft_event** event) {
  weft_command command = WEFT_INIT(weft_command);
  command.opcode = opcode;
  command.options = options;
  command.event = event;
  return command;
}

}  // namespace

weft_status weft_submit(weft_queue* queue, const weft_command* commands, uint32_t count) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(commands);
    std::vector<weft_command> own;
    const auto known = taken_commands(commands, count, own);
    if (!known.ok()) return known.status();
    for (uint32_t i = 0; i < count; i++) {
      if (known.value()[i].event != nullptr) *known.value()[i].event = nullptr;
    }
    WEFT_REQUIRE(queue);
    if (count == 0) return Status(WEFT_ERROR_INVALID_ARGUMENT, "a batch of 0 commands");
    return submit(*queue, known.value(), count);
  });
}

weft_status weft_launch(weft_queue* queue, weft_kernel* kernel, const weft_argument* arguments, uint32_t argument_count,
                        const weft_command_options* options, weft_event** event) {
  weft_command command = make_command(WEFT_QUEUE_OPCODE_LAUNCH, options, event);
  command.kernel = kernel;
  command.arguments = arguments;
  command.argument_count = argument_count;
  return submit_one(queue, command);
}

weft_status weft_copy(weft_queue* queue, weft_buffer* destination, uint64_t destination_offset, weft_buffer* source,
                      uint64_t source_offset, uint64_t bytes, const weft_command_options* options, weft_event** event) {
  weft_command command = make_command(WEFT_QUEUE_OPCODE_COPY, options, event);
  command.destination = destination;
  command.destination_offset = destination_offset;
  command.source = source;
  command.source_offset = source_offset;
  command.bytes = bytes;
  return submit_one(queue, command);
}

weft_status weft_fill(weft_queue* queue, weft_buffer* destination, uint64_t offset, uint64_t bytes, uint32_t pattern,
                      const weft_command_options* options, weft_event** event) {
  weft_command command = make_command(WEFT_QUEUE_OPCODE_FILL, options, event);
  command.destination = destination;
  command.destination_offset = offset;
  command.bytes = bytes;
  command.pattern = pattern;
  return submit_one(queue, command);
}

weft_status weft_fence(weft_queue* queue, const weft_command_options* options, weft_event** event) {
  return submit_one(queue, make_command(WEFT_QUEUE_OPCODE_FENCE, options, event));
}

weft_status weft_nop(weft_queue* queue, const weft_command_options* options, weft_event** event) {
  return submit_one(queue, make_command(WEFT_QUEUE_OPCODE_NOP, options, event));
}

weft_status weft_timestamp(weft_queue* queue, const weft_command_options* options, weft_event** event) {
  return submit_one(queue, make_command(WEFT_QUEUE_OPCODE_TIMESTAMP, options, event));
}
