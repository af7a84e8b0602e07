// C ABI: queues, commands, events.
#include <algorithm>
#include <bit>

#include "driver/abi.hpp"

using namespace weft::driver;
using namespace weft::driver::abi;

namespace {

constexpr uint64_t kArgumentAlignment = WEFT_CORE_DMA_GRANULE_BYTES;

/// Bytes of a buffer that a command may touch: an odd end is padded by its allocation.
uint64_t usable_bytes(const Buffer& buffer) {
  return (buffer.bytes() + kArgumentAlignment - 1) / kArgumentAlignment * kArgumentAlignment;
}

Status check_range(const char* name, const Buffer& buffer, uint64_t offset, uint64_t bytes) {
  if (offset <= buffer.bytes() && bytes <= buffer.bytes() - offset) return {};
  return failure(WEFT_ERROR_INVALID_ARGUMENT, "{}: {} bytes at offset {} exceed the buffer of {} bytes", name, bytes,
                 offset, buffer.bytes());
}

/// Submits `command` with the caller's options and makes the event's handle.
Status submit(weft_queue& queue, Command command, const weft_command_options* options,
              std::vector<std::shared_ptr<const void>> resources, weft_event** out) {
  if (out != nullptr) *out = nullptr;
  const auto chosen = options_or_default(options);
  if (!chosen.ok()) return chosen.status();
  const weft_command_options& o = chosen.value();
  command.tag = o.tag;
  command.budget_kcycles = o.budget_kcycles;
  if (o.fence_before != 0) command.flags |= WEFT_SUBMISSION_FLAG_FENCE_BEFORE;
  if (o.profile != 0) {
    if (command.opcode != WEFT_QUEUE_OPCODE_LAUNCH)
      return Status(WEFT_ERROR_INVALID_ARGUMENT, "option 'profile' is for launches");
    command.flags |= WEFT_SUBMISSION_FLAG_PROFILE;
  }
  const auto event = std::make_shared<Event>(queue.queue->id(), command.tag, command.opcode);
  for (auto& resource : resources) event->hold(std::move(resource));
  std::unique_ptr<weft_event> handle;
  if (out != nullptr) {  // before the submission: nothing may fail after it
    handle = std::make_unique<weft_event>();
    handle->device = queue.device;
    handle->event = event;
  }
  if (Status s = queue.device->submit(*queue.queue, event, command); !s.ok()) return s;
  if (out != nullptr) *out = handle.release();
  return {};
}

Status submit_simple(weft_queue* queue, uint8_t opcode, const weft_command_options* options, weft_event** event) {
  WEFT_REQUIRE(queue);
  Command command;
  command.opcode = opcode;
  return submit(*queue, command, options, {}, event);
}

/// The argument list of a launch, and what it keeps alive.
struct LaunchList {
  std::vector<weft_launch_argument> arguments;
  std::vector<std::shared_ptr<const void>> resources;
};

Result<LaunchList> launch_list(const weft_queue& queue, const Program& program, const ExecutableKernel& kernel,
                               const weft_argument* arguments, uint32_t count) {
  if (count != kernel.arguments.size()) {
    return failure(WEFT_ERROR_INVALID_ARGUMENT, "kernel '{}' has {} arguments, {} were given", kernel.name,
                   kernel.arguments.size(), count);
  }
  LaunchList list;
  list.arguments.reserve(count + 1);
  for (uint32_t i = 0; i < count; i++) {
    const ExecutableArgument& wanted = kernel.arguments[i];
    const weft_argument& given = arguments[i];
    if (given.buffer == nullptr)
      return failure(WEFT_ERROR_INVALID_ARGUMENT, "argument {} ('{}') has no buffer", i, wanted.name);
    if (given.buffer->device != queue.device)
      return failure(WEFT_ERROR_INVALID_ARGUMENT, "argument {} ('{}') belongs to another device", i, wanted.name);
    const Buffer& buffer = *given.buffer->buffer;
    const uint64_t usable = usable_bytes(buffer);
    if (given.offset % kArgumentAlignment != 0 || given.offset > usable || wanted.size_bytes > usable - given.offset) {
      return failure(
          WEFT_ERROR_INVALID_ARGUMENT,
          "argument {} ('{}') needs {} bytes at an offset that is a multiple of {}: offset {}, buffer of {} bytes", i,
          wanted.name, wanted.size_bytes, kArgumentAlignment, given.offset, buffer.bytes());
    }
    list.arguments.push_back(
        {buffer.address() + given.offset, wanted.size_bytes, static_cast<uint32_t>(buffer.space()), 0});
    list.resources.push_back(given.buffer->buffer);
  }
  if (kernel.scratch_bytes != 0)
    list.arguments.push_back({program.scratch_address(), kernel.scratch_bytes, WEFT_ADDRESS_SPACE_HBM, 0});
  return list;
}

}  // namespace

weft_status weft_queue_create(weft_device* device, const weft_queue_options* options, weft_queue** queue) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(queue);
    *queue = nullptr;
    WEFT_REQUIRE(device);
    const auto chosen = options_or_default(options);
    if (!chosen.ok()) return chosen.status();
    constexpr uint32_t kDefaultEntries = 1024;
    const uint32_t entries = chosen.value().entries != 0 ? chosen.value().entries : kDefaultEntries;
    const uint32_t twice =
        std::min<uint32_t>(WEFT_LIMIT_RING_ENTRIES_MAX, std::min<uint32_t>(entries, WEFT_LIMIT_RING_ENTRIES_MAX) * 2);
    auto created = device->device->create_queue(
        entries, chosen.value().completion_entries != 0 ? chosen.value().completion_entries : twice);
    if (!created.ok()) return created.status();
    *queue = new weft_queue{device->device, std::move(created.value())};
    return {};
  });
}

weft_status weft_queue_release(weft_queue* queue) {
  return guard([&]() -> Status {
    if (queue == nullptr) return {};
    const std::unique_ptr<weft_queue> owned(queue);
    return owned->device->delete_queue(owned->queue);
  });
}

weft_status weft_queue_get_info(weft_queue* queue, weft_queue_info* info) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(queue);
    if (Status s = check_size(info, "info"); !s.ok()) return s;
    const auto snapshot = queue->queue->snapshot();
    *info = {sizeof *info,  queue->queue->id(), queue->queue->entries(),
             snapshot.head, snapshot.tail,      snapshot.in_flight};
    return {};
  });
}

weft_status weft_launch(weft_queue* queue, weft_kernel* kernel, const weft_argument* arguments, uint32_t argument_count,
                        const weft_command_options* options, weft_event** event) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(queue);
    WEFT_REQUIRE(kernel);
    if (argument_count != 0) WEFT_REQUIRE(arguments);
    if (kernel->device != queue->device)
      return Status(WEFT_ERROR_INVALID_ARGUMENT, "the kernel belongs to another device");
    const auto program = kernel->program.lock();
    if (program == nullptr) return Status(WEFT_ERROR_INVALID_STATE, "the kernel's program is released");
    if (program->generation() != queue->device->generation()) {
      return failure(WEFT_ERROR_INVALID_STATE,
                     "the program was loaded in generation {}, the device is in {}: load it again",
                     program->generation(), queue->device->generation());
    }
    auto list = launch_list(*queue, *program, program->kernels()[kernel->index], arguments, argument_count);
    if (!list.ok()) return list.status();
    list.value().resources.push_back(program);
    Command command;
    command.opcode = WEFT_QUEUE_OPCODE_LAUNCH;
    command.arg0 = program->id();
    command.size = kernel->index;
    command.arguments = list.value().arguments;
    return submit(*queue, command, options, std::move(list.value().resources), event);
  });
}

weft_status weft_copy(weft_queue* queue, weft_buffer* destination, uint64_t destination_offset, weft_buffer* source,
                      uint64_t source_offset, uint64_t bytes, const weft_command_options* options, weft_event** event) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(queue);
    WEFT_REQUIRE(destination);
    WEFT_REQUIRE(source);
    if (destination->device != queue->device || source->device != queue->device)
      return Status(WEFT_ERROR_INVALID_ARGUMENT, "a buffer belongs to another device");
    const Buffer& to = *destination->buffer;
    const Buffer& from = *source->buffer;
    if (bytes == 0) return Status(WEFT_ERROR_INVALID_ARGUMENT, "a copy of 0 bytes");
    if (Status s = check_range("destination", to, destination_offset, bytes); !s.ok()) return s;
    if (Status s = check_range("source", from, source_offset, bytes); !s.ok()) return s;
    if (to.on_host() && from.on_host()) return Status(WEFT_ERROR_UNSUPPORTED, "a copy from HOST to HOST: use memcpy");
    if (&to == &from && destination_offset < source_offset + bytes && source_offset < destination_offset + bytes) {
      return Status(WEFT_ERROR_INVALID_ARGUMENT, "source and destination overlap");
    }
    Command command;
    command.opcode = WEFT_QUEUE_OPCODE_COPY;
    command.arg0 = from.tagged_address() + source_offset;
    command.arg1 = to.tagged_address() + destination_offset;
    command.size = bytes;
    return submit(*queue, command, options, {source->buffer, destination->buffer}, event);
  });
}

weft_status weft_fill(weft_queue* queue, weft_buffer* destination, uint64_t offset, uint64_t bytes, uint32_t pattern,
                      const weft_command_options* options, weft_event** event) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(queue);
    WEFT_REQUIRE(destination);
    if (destination->device != queue->device)
      return Status(WEFT_ERROR_INVALID_ARGUMENT, "the buffer belongs to another device");
    if (bytes == 0 || bytes % sizeof pattern != 0 || offset % sizeof pattern != 0) {
      return failure(WEFT_ERROR_INVALID_ARGUMENT,
                     "a fill of {} bytes at offset {}: both are multiples of 4, and there is something to fill", bytes,
                     offset);
    }
    if (Status s = check_range("destination", *destination->buffer, offset, bytes); !s.ok()) return s;
    Command command;
    command.opcode = WEFT_QUEUE_OPCODE_FILL;
    command.arg0 = pattern;
    command.arg1 = destination->buffer->tagged_address() + offset;
    command.size = bytes;
    return submit(*queue, command, options, {destination->buffer}, event);
  });
}

weft_status weft_fence(weft_queue* queue, const weft_command_options* options, weft_event** event) {
  return guard([&] { return submit_simple(queue, WEFT_QUEUE_OPCODE_FENCE, options, event); });
}

weft_status weft_nop(weft_queue* queue, const weft_command_options* options, weft_event** event) {
  return guard([&] { return submit_simple(queue, WEFT_QUEUE_OPCODE_NOP, options, event); });
}

weft_status weft_timestamp(weft_queue* queue, const weft_command_options* options, weft_event** event) {
  return guard([&] { return submit_simple(queue, WEFT_QUEUE_OPCODE_TIMESTAMP, options, event); });
}

weft_status weft_event_query(weft_event* event, weft_event_info* info) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(event);
    if (Status s = check_size(info, "info"); !s.ok()) return s;
    Event& e = *event->event;
    if (!e.done()) event->device->poll();
    weft_event_info out = WEFT_INIT(weft_event_info);
    out.queue = e.queue();
    out.command = e.command_id();
    out.tag = e.tag();
    if (e.done()) {
      out.done = 1;
      out.status = e.ending().status.code();
      out.start_cycle = e.ending().start_cycle;
      out.end_cycle = e.ending().end_cycle;
    }
    *info = out;
    return {};
  });
}

weft_status weft_event_wait(weft_event* event, const weft_wait_options* options) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(event);
    const auto chosen = options_or_default(options);
    if (!chosen.ok()) return chosen.status();
    Event& e = *event->event;
    if (!e.done()) {
      const WaitLimits limits{chosen.value().deadline_cycles,
                              chosen.value().guard_ms != 0 ? chosen.value().guard_ms : WaitLimits::kDefaultGuardMs, 0};
      if (Status s = event->device->wait(e, limits); !s.ok()) return s;
    }
    return e.ending().status;
  });
}

weft_status weft_event_set_callback(weft_event* event, weft_event_callback callback, void* user) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(event);
    WEFT_REQUIRE(callback);
    event->references.fetch_add(1);
    Status status = event->device->set_callback(event->event, [event, callback, user](const Status& ending) {
      callback(event, ending.code(), user);
      weft_event_release(event);
    });
    if (!status.ok()) event->references.fetch_sub(1);
    return status;
  });
}

weft_status weft_event_get_profile(weft_event* event, weft_launch_profile* profile) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(event);
    WEFT_REQUIRE(profile);
    if (!event->event->done()) return Status(WEFT_ERROR_INVALID_STATE, "the command has not ended");
    if (!event->event->profile())
      return Status(WEFT_ERROR_INVALID_STATE, "the command has no profile: launch it with option 'profile'");
    *profile = *event->event->profile();
    return {};
  });
}

void weft_event_release(weft_event* event) {
  if (event == nullptr || in_forked_child()) return;
  if (event->references.fetch_sub(1) == 1) delete event;
}
