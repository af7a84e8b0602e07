// Checks and translation of commands, one function an opcode.
#include "driver/abi_command.hpp"

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
Status launch_list(const weft_queue& queue, const Program& program, const ExecutableKernel& kernel,
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
    if (argument.buffer->device != queue.device)
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

Status prepare_launch(const weft_queue& queue, const weft_command& given, PreparedCommand& out) {
  const weft_kernel* kernel = given.kernel;
  const weft_argument* arguments = given.arguments;
  WEFT_REQUIRE(kernel);
  if (given.argument_count != 0) WEFT_REQUIRE(arguments);
  if (kernel->device != queue.device)
    return Status(WEFT_ERROR_INVALID_ARGUMENT, "the kernel belongs to another device");
  const auto program = kernel->program.lock();
  if (program == nullptr) return Status(WEFT_ERROR_INVALID_STATE, "the kernel's program is released");
  if (program->generation() != queue.device->generation()) {
    return failure(WEFT_ERROR_INVALID_STATE,
                   "the program was loaded in generation {}, the device is in {}: load it again", program->generation(),
                   queue.device->generation());
  }
  if (Status s = launch_list(queue, *program, program->kernels()[kernel->index], given, out); !s.ok()) return s;
  out.resources.push_back(program);
  out.command.arg0 = program->id();
  out.command.size = kernel->index;
  return {};
}

Status prepare_copy(const weft_queue& queue, const weft_command& given, PreparedCommand& out) {
  const weft_buffer *destination = given.destination, *source = given.source;
  WEFT_REQUIRE(destination);
  WEFT_REQUIRE(source);
  if (destination->device != queue.device || source->device != queue.device)
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

Status prepare_fill(const weft_queue& queue, const weft_command& given, PreparedCommand& out) {
  const weft_buffer* destination = given.destination;
  WEFT_REQUIRE(destination);
  if (destination->device != queue.device)
    return Status(WEFT_ERROR_INVALID_ARGUMENT, "the buffer belongs to another device");
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

Status apply_options(const weft_command_options* options, Command& command) {
  if (options == nullptr) return {};
  if (Status s = check_size(options, "options"); !s.ok()) return s;
  command.tag = options->tag;
  command.budget_kcycles = options->budget_kcycles;
  if (options->fence_before != 0) command.flags |= WEFT_SUBMISSION_FLAG_FENCE_BEFORE;
  if (options->profile != 0) {
    if (command.opcode != WEFT_QUEUE_OPCODE_LAUNCH)
      return Status(WEFT_ERROR_INVALID_ARGUMENT, "option 'profile' is for launches");
    command.flags |= WEFT_SUBMISSION_FLAG_PROFILE;
  }
  return {};
}

Status prepare_operands(const weft_queue& queue, const weft_command& given, PreparedCommand& out) {
  switch (given.opcode) {
    case WEFT_QUEUE_OPCODE_LAUNCH:
      return prepare_launch(queue, given, out);
    case WEFT_QUEUE_OPCODE_COPY:
      return prepare_copy(queue, given, out);
    case WEFT_QUEUE_OPCODE_FILL:
      return prepare_fill(queue, given, out);
    case WEFT_QUEUE_OPCODE_FENCE:
    case WEFT_QUEUE_OPCODE_TIMESTAMP:
    case WEFT_QUEUE_OPCODE_NOP:
      return {};
    case WEFT_QUEUE_OPCODE_SIGNAL:
    case WEFT_QUEUE_OPCODE_WAIT:
    case WEFT_QUEUE_OPCODE_COLLECTIVE:
      return failure(WEFT_ERROR_UNSUPPORTED, "opcode {} is not built", static_cast<int>(given.opcode));
  }
  return failure(WEFT_ERROR_INVALID_ARGUMENT, "opcode {} is none", static_cast<int>(given.opcode));
}

}  // namespace

Result<PreparedCommand> prepare_command(const weft_queue& queue, const weft_command& command) {
  PreparedCommand out;
  out.command.opcode = static_cast<uint8_t>(command.opcode);
  if (Status s = prepare_operands(queue, command, out); !s.ok()) return s;
  if (Status s = apply_options(command.options, out.command); !s.ok()) return s;
  return out;
}

}  // namespace weft::driver::abi
