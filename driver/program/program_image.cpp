// Layout of a program image.
#include "driver/program/program_image.hpp"

#include <algorithm>
#include <cstring>

namespace weft::driver {
namespace {

constexpr uint64_t align(uint64_t value) {
  return (value + WEFT_COMMAND_BYTES - 1) / WEFT_COMMAND_BYTES * WEFT_COMMAND_BYTES;
}

/// `control_offset`: of the section CONTROL in the image.
weft_program_kernel kernel_entry(const ExecutableKernel& kernel, uint64_t control_offset) {
  weft_program_kernel entry{};
  std::copy(kernel.queue_first.begin(), kernel.queue_first.end(), entry.queue_first);
  std::copy(kernel.queue_count.begin(), kernel.queue_count.end(), entry.queue_count);
  entry.argument_count = static_cast<uint32_t>(kernel.arguments.size());
  entry.vmem_bytes = kernel.vmem_bytes;
  entry.scratch_bytes = kernel.scratch_bytes;
  if (kernel.control) {
    entry.control_offset = control_offset + kernel.control->offset;
    entry.control_bytes = kernel.control->bytes;
    return entry;  // its bindings say what is read and written
  }
  for (uint32_t i = 0; i < kernel.arguments.size(); i++) {
    entry.argument_readable |= 1u << i;  // a later layer may read what an earlier one has put out
    if (kernel.arguments[i].direction != WEFT_ARGUMENT_DIRECTION_INPUT) entry.argument_writable |= 1u << i;
  }
  return entry;
}

}  // namespace

ProgramImage::ProgramImage(const Executable& executable, const spec::Chip& chip) {
  weft_program_header header{};
  header.magic = WEFT_MAGIC;
  header.isa_version = executable.isa_version;
  header.chip_fingerprint = chip.fingerprint;
  header.kernel_count = static_cast<uint32_t>(executable.kernels.size());
  header.commands_offset = align(sizeof header + executable.kernels.size() * sizeof(weft_program_kernel));
  header.commands_bytes = executable.commands.size();
  header.constants_offset = align(header.commands_offset + header.commands_bytes);
  header.constants_bytes = executable.constants.size();
  const uint64_t control_offset = align(header.constants_offset + header.constants_bytes);
  header.image_bytes = control_offset + align(executable.control.size());
  bytes_ = header.image_bytes;
  head_.resize(header.commands_offset);
  std::memcpy(head_.data(), &header, sizeof header);
  for (size_t i = 0; i < executable.kernels.size(); i++) {
    const weft_program_kernel entry = kernel_entry(executable.kernels[i], control_offset);
    std::memcpy(head_.data() + sizeof header + i * sizeof entry, &entry, sizeof entry);
  }
  pieces_ = {{{0, head_},
              {header.commands_offset, executable.commands},
              {header.constants_offset, executable.constants},
              {control_offset, executable.control}}};
}

void ProgramImage::read(uint64_t offset, std::byte* out, uint64_t count) const {
  std::memset(out, 0, count);
  for (const Piece& piece : pieces_) {
    const uint64_t first = std::max(offset, piece.offset);
    const uint64_t end = std::min(offset + count, piece.offset + piece.data.size());
    if (first < end) std::memcpy(out + (first - offset), piece.data.data() + (first - piece.offset), end - first);
  }
}

}  // namespace weft::driver
