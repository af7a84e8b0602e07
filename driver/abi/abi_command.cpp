// Checks and translation of commands, one function per opcode.
#include "driver/abi/abi_command.hpp"

namespace weft::driver::abi {
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

/// The argument list of a launch, and what it keeps alive.
Status launch_list(const DeviceHandle& device, const Program& program, const ExecutableKernel& kernel,
                   const weft_command& given, PreparedCommand& out) {
  const uint32_t count = given.argument_count;
  if (count != kernel.arguments.size()) {
    return failure(WEFT_ERROR_INVALID_ARGUMENT, "kernel '{}' has {} arguments, {} were given", kernel.name,
                   kernel.arguments.size(), count);
  }
  out.arguments.reserve(count + 1);
  for (uint32_t i = 0; i < count; i++) {
    const ExecutableArgument& wanted = kernel.arguments[i];
    const weft_argument& argument = given.arguments[i];
    if (argument.buffer == nullptr)
      return failure(WEFT_ERROR_INVALID_ARGUMENT, "argument {} ('{}') has no buffer", i, wanted.name);
    if (argument.buffer->device != device)
      return failure(WEFT_ERROR_INVALID_ARGUMENT, "argument {} ('{}') belongs to another device", i, wanted.name);
    const Buffer& buffer = *argument.buffer->buffer;
    const uint64_t usable = usable_bytes(buffer);
    if (argument.offset % kArgumentAlignment != 0 || argument.offset > usable ||
        wanted.size_bytes > usable - argument.offset) {
      return failure(
          WEFT_ERROR_INVALID_ARGUMENT,
          "argument {} ('{}') needs {} bytes at an offset that is a multiple of {}: offset {}, buffer of {} bytes", i,
          wanted.name, wanted.size_bytes, kArgumentAlignment, argument.offset, buffer.bytes());
    }
    out.arguments.push_back(
        {buffer.address() + argument.offset, wanted.size_bytes, static_cast<uint32_t>(buffer.space()), 0});
    out.resources.push_back(argument.buffer->buffer);
  }
  if (kernel.scratch_bytes != 0)
    out.arguments.push_back({program.scratch_address(), kernel.scratch_bytes, WEFT_ADDRESS_SPACE_HBM, 0});
  return {};
}

Status prepare_launch(const DeviceHandle& device, const weft_command& given, PreparedCommand& out) {
  const weft_kernel* kernel = given.kernel;
  const weft_argument* arguments = given.arguments;
  WEFT_REQUIRE(kernel);
  if (given.argument_count != 0) WEFT_REQUIRE(arguments);
  if (kernel->device != device) return Status(WEFT_ERROR_INVALID_ARGUMENT, "the kernel belongs to another device");
  const auto program = kernel->program.lock();
  if (program == nullptr) return Status(WEFT_ERROR_INVALID_STATE, "the kernel's program is released");
  if (program->generation() != device->generation()) {
    return failure(WEFT_ERROR_INVALID_STATE,
                   "the program was loaded in generation {}, the device is in {}: load it again", program->generation(),
                   device->generation());
  }
  if (Status s = launch_list(device, *program, program->kernels()[kernel->index], given, out); !s.ok()) return s;
  out.resources.push_back(program);
  out.command.arg0 = program->id();
  out.command.size = kernel->index;
  return {};
}

Status prepare_copy(const DeviceHandle& device, const weft_command& given, PreparedCommand& out) {
  const weft_buffer *destination = given.destination, *source = given.source;
  WEFT_REQUIRE(destination);
  WEFT_REQUIRE(source);
  if (destination->device != device || source->device != device)
    return Status(WEFT_ERROR_INVALID_ARGUMENT, "a buffer belongs to another device");
  const Buffer& to = *destination->buffer;
  const Buffer& from = *source->buffer;
  if (given.bytes == 0) return Status(WEFT_ERROR_INVALID_ARGUMENT, "a copy of 0 bytes");
  if (Status s = check_range("destination", to, given.destination_offset, given.bytes); !s.ok()) return s;
  if (Status s = check_range("source", from, given.source_offset, given.bytes); !s.ok()) return s;
  if (to.on_host() && from.on_host()) return Status(WEFT_ERROR_UNSUPPORTED, "a copy from HOST to HOST: use memcpy");
  if (&to == &from && given.destination_offset < given.source_offset + given.bytes &&
      given.source_offset < given.destination_offset + given.bytes) {
    return Status(WEFT_ERROR_INVALID_ARGUMENT, "source and destination overlap");
  }
  out.command.arg0 = from.tagged_address() + given.source_offset;
  out.command.arg1 = to.tagged_address() + given.destination_offset;
  out.command.size = given.bytes;
  out.resources = {source->buffer, destination->buffer};
  return {};
}

Status prepare_fill(const DeviceHandle& device, const weft_command& given, PreparedCommand& out) {
  const weft_buffer* destination = given.destination;
  WEFT_REQUIRE(destination);
  if (destination->device != device) return Status(WEFT_ERROR_INVALID_ARGUMENT, "the buffer belongs to another device");
  const uint64_t bytes = given.bytes, offset = given.destination_offset;
  if (bytes == 0 || bytes % sizeof given.pattern != 0 || offset % sizeof given.pattern != 0) {
    return failure(WEFT_ERROR_INVALID_ARGUMENT,
                   "a fill of {} bytes at offset {}: both are multiples of 4, and there is something to fill", bytes,
                   offset);
  }
  if (Status s = check_range("destination", *destination->buffer, offset, bytes); !s.ok()) return s;
  out.command.arg0 = given.pattern;
  out.command.arg1 = destination->buffer->tagged_address() + offset;
  out.command.size = bytes;
  out.resources = {destination->buffer};
  return {};
}

/// The semaphore of an option, which the command keeps alive.
Status use_semaphore(const DeviceHandle& device, const weft_semaphore& semaphore, PreparedCommand& out) {
  if (semaphore.device != device) return Status(WEFT_ERROR_INVALID_ARGUMENT, "a semaphore belongs to another device");
  if (semaphore.timeline->generation() != device->generation()) {
    return failure(WEFT_ERROR_INVALID_STATE, "semaphore {} went with the reset of generation {}: create another",
                   semaphore.timeline->id(), semaphore.timeline->generation());
  }
  out.resources.push_back(semaphore.timeline.share());
  return {};
}

Status apply_semaphores(const DeviceHandle& device, const weft_command_options& options, PreparedCommand& out) {
  Command& command = out.command;
  if (options.wait_semaphore != nullptr) {
    if (Status s = use_semaphore(device, *options.wait_semaphore, out); !s.ok()) return s;
    command.wait_id = static_cast<uint16_t>(options.wait_semaphore->timeline->id());
    command.wait_value = options.wait_value;
    out.wait = options.wait_semaphore->timeline.share();
  }
  if (options.signal_semaphore != nullptr) {
    const Timeline& timeline = *options.signal_semaphore->timeline;
    if (Status s = use_semaphore(device, *options.signal_semaphore, out); !s.ok()) return s;
    if (options.signal_value <= timeline.value()) {
      return failure(WEFT_ERROR_INVALID_ARGUMENT, "semaphore {} stands at {} and only grows: a signal of {}",
                     timeline.id(), timeline.value(), options.signal_value);
    }
    command.signal_id = static_cast<uint16_t>(timeline.id());
    command.signal_value = options.signal_value;
    out.signal = options.signal_semaphore->timeline.share();
  }
  return {};
}

Status apply_options(const DeviceHandle& device, const weft_command_options* options, PreparedCommand& out) {
  Command& command = out.command;
  if (options == nullptr) return {};
  if (Status s = apply_semaphores(device, *options, out); !s.ok()) return s;
  command.tag = options->tag;
  command.budget_kcycles = options->budget_kcycles;
  if (options->fence_before != 0) command.flags |= WEFT_SUBMISSION_FLAG_FENCE_BEFORE;
  if (options->chain != 0) command.flags |= WEFT_SUBMISSION_FLAG_CHAIN;
  if (options->profile != 0) {
    if (command.opcode != WEFT_QUEUE_OPCODE_LAUNCH)
      return Status(WEFT_ERROR_INVALID_ARGUMENT, "option 'profile' is for launches");
    command.flags |= WEFT_SUBMISSION_FLAG_PROFILE;
  }
  return {};
}

Status prepare_operands(const DeviceHandle& device, const weft_command& given, PreparedCommand& out) {
  switch (given.opcode) {
    case WEFT_QUEUE_OPCODE_LAUNCH:
      return prepare_launch(device, given, out);
    case WEFT_QUEUE_OPCODE_COPY:
      return prepare_copy(device, given, out);
    case WEFT_QUEUE_OPCODE_FILL:
      return prepare_fill(device, given, out);
    case WEFT_QUEUE_OPCODE_FENCE:
    case WEFT_QUEUE_OPCODE_TIMESTAMP:
    case WEFT_QUEUE_OPCODE_NOP:
      return {};
    case WEFT_QUEUE_OPCODE_SIGNAL:
      if (given.options != nullptr && given.options->signal_semaphore != nullptr) return {};
      return Status(WEFT_ERROR_INVALID_ARGUMENT, "SIGNAL without the option 'signal_semaphore'");
    case WEFT_QUEUE_OPCODE_WAIT:
      if (given.options != nullptr && given.options->wait_semaphore != nullptr) return {};
      return Status(WEFT_ERROR_INVALID_ARGUMENT, "WAIT without the option 'wait_semaphore'");
    case WEFT_QUEUE_OPCODE_COLLECTIVE:
      return failure(WEFT_ERROR_UNSUPPORTED, "opcode {} is not built", static_cast<int>(given.opcode));
  }
  return failure(WEFT_ERROR_INVALID_ARGUMENT, "opcode {} is none", static_cast<int>(given.opcode));
}

}  // namespace

Result<PreparedCommand> prepare_command(const DeviceHandle& device, const weft_command& command) {
  const uint32_t opcode = number_of(command.opcode);
  if (opcode < WEFT_QUEUE_OPCODE_LAUNCH || opcode > WEFT_QUEUE_OPCODE_COLLECTIVE)
    return failure(WEFT_ERROR_INVALID_ARGUMENT, "opcode {} is none", opcode);
  PreparedCommand out;
  out.command.opcode = static_cast<uint8_t>(opcode);
  const auto options = options_or_default(command.options);
  if (!options.ok()) return options.status();
  if (Status s = prepare_operands(device, command, out); !s.ok()) return s;
  if (Status s = apply_options(device, command.options != nullptr ? &options.value() : nullptr, out); !s.ok()) return s;
  return out;
}

Result<const weft_command*> taken_commands(const weft_command* commands, uint32_t count,
                                           std::vector<weft_command>& own) {
  const auto* first = reinterpret_cast<const std::byte*>(commands);
  const size_t stride = count != 0 ? commands->size : sizeof *commands;
  for (uint32_t i = 0; i < count; i++) {
    const auto* command = reinterpret_cast<const weft_command*>(first + i * stride);
    if (Status s = check_size(command, "commands[]"); !s.ok()) return in_batch(s, i, count);
    if (command->size != stride) {
      const Status differs = failure(WEFT_ERROR_INVALID_ARGUMENT, "'commands[]'.size is {}, that of the first is {}",
                                     command->size, stride);
      return in_batch(differs, i, count);
    }
  }
  if (stride == sizeof *commands) return commands;
  own.reserve(count);
  for (uint32_t i = 0; i < count; i++) {
    const auto command = taken(reinterpret_cast<const weft_command*>(first + i * stride), "commands[]");
    if (!command.ok()) return in_batch(command.status(), i, count);
    own.push_back(command.value());
  }
  return own.data();
}

std::shared_ptr<Event> make_event(const Queue& queue, const PreparedCommand& prepared,
                                  std::vector<std::shared_ptr<const void>> resources) {
  auto event = std::make_shared<Event>(queue.id(), prepared.command.tag, prepared.command.opcode);
  event->hold(std::move(resources));
  if (prepared.wait != nullptr) event->set_wait(prepared.wait, prepared.command.wait_value);
  event->set_signal(prepared.signal);
  return event;
}

Status in_batch(Status status, uint32_t index, uint32_t count) {
  if (status.ok() || count == 1) return status;
  Detail detail = status.detail();
  detail.message = fmt::format("command {} of {}: {}", index, count, detail.message);
  return Status(status.code(), std::move(detail));
}

}  // namespace weft::driver::abi
