// Writes the .weft file: header, section table, sections KERNELS, COMMANDS, CONSTANTS, DEBUG.
#include "host/compiler/executable/executable_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/crc32c.hpp"
#include "host/compiler/executable/debug_section.hpp"

namespace weft::compiler {
namespace {

using Bytes = std::vector<std::byte>;

template <typename T>
void append(Bytes& bytes, const T& value) {
  const auto* first = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), first, first + sizeof(T));
}

Bytes kernels_section(const Kernel& kernel) {
  weft_kernel_record record{};
  std::memcpy(record.name, kernel.name.data(), kernel.name.size());
  uint32_t first = 0;
  for (unsigned q = 0; q < 5 && kernel.control.entries.empty(); q++) {
    record.queue_first[q] = first;
    record.queue_count[q] = static_cast<uint32_t>(kernel.queues[q].size());
    first += record.queue_count[q];
  }
  record.argument_count = static_cast<uint32_t>(kernel.arguments.size());
  record.vmem_bytes = static_cast<uint32_t>(kernel.vmem_bytes);
  record.scratch_bytes = kernel.scratch_bytes;
  record.semaphores = kernel.semaphores;
  record.cycle_estimate = kernel.cycle_estimate;
  record.macs = kernel.macs;
  Bytes section;
  append(section, record);
  for (const auto& argument : kernel.arguments) {
    weft_argument_record a{};
    std::memcpy(a.name, argument.name.data(), argument.name.size());
    a.dtype = argument.dtype;
    a.layout = argument.layout;
    a.direction = argument.direction;
    a.rank = 2;
    a.shape[0] = argument.rows;
    a.shape[1] = argument.columns;
    a.pitch_bytes = argument.pitch_bytes;
    a.size_bytes = argument.size_bytes;
    append(section, a);
  }
  return section;
}

/// The version of the commands that a device must have to run them.
uint32_t isa_version_of(const Bytes& commands) {
  uint32_t version = WEFT_ISA_OLDEST;
  for (size_t at = 0; at < commands.size(); at += WEFT_COMMAND_BYTES) {
    spec::Command command;
    std::memcpy(command.bytes.data(), &commands[at], sizeof command.bytes);
    version = std::max(version, spec::isa_version(command));
  }
  return version;
}

/// What a loader takes as a name.
Status check_name(const char* what, const std::string& name) {
  constexpr size_t kNameBytes = sizeof(weft_kernel_record::name) - 1;
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; };
  std::string shown = name.substr(0, kNameBytes);
  std::ranges::replace_if(shown, is_control, '?');
  if (name.empty() || name.size() > kNameBytes)
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("{} name '{}' has {} bytes; 1 to {} are possible", what, shown, name.size(), kNameBytes)};
  if (std::ranges::any_of(name, is_control))
    return Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("{} name '{}' has a control character", what, shown)};
  return Ok{};
}

}  // namespace

Result<Bytes> write_executable(const spec::Chip& chip, const Kernel& kernel) {
  if (auto status = check_name("kernel", kernel.name); !status.ok()) return status.error();
  const bool control = !kernel.control.entries.empty();
  const size_t most = control ? WEFT_EXECUTABLE_CONTROL_ARGUMENTS : WEFT_LIMIT_ARGUMENTS;
  if (kernel.arguments.size() > most)
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("{} arguments, a kernel may have {}", kernel.arguments.size(), most)};
  if (control && std::ranges::any_of(kernel.queues, [](const auto& queue) { return !queue.empty(); }))
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("kernel '{}' has commands beside those of its control list", kernel.name)};
  for (const auto& argument : kernel.arguments)
    if (auto status = check_name("argument", argument.name); !status.ok()) return status.error();

  Bytes commands;
  for (const auto& queue : kernel.queues)
    for (const auto& command : queue) append(commands, command.bytes);
  for (const Block& block : kernel.control.blocks)
    for (const auto& queue : block)
      for (const auto& command : queue) append(commands, command.bytes);
  const Bytes kernels = kernels_section(kernel), tags = write_tags(kernel.tags, kernel.turn_names),
              list = control ? control_section(kernel.control) : Bytes();
  std::vector<std::pair<weft_section_kind, std::span<const std::byte>>> sections{
      {WEFT_SECTION_KIND_KERNELS, kernels},
      {WEFT_SECTION_KIND_COMMANDS, commands},
      {WEFT_SECTION_KIND_CONSTANTS, kernel.constants},
      {WEFT_SECTION_KIND_DEBUG, tags}};
  if (control) sections.emplace_back(WEFT_SECTION_KIND_CONTROL, list);
  size_t most_bytes = sizeof(weft_executable_header) + sections.size() * sizeof(weft_section_entry);
  Bytes file(most_bytes);
  for (const auto& section : sections) most_bytes += section.second.size() + WEFT_EXECUTABLE_SECTION_ALIGNMENT;
  file.reserve(most_bytes);
  for (size_t i = 0; i < sections.size(); i++) {
    file.resize((file.size() + WEFT_EXECUTABLE_SECTION_ALIGNMENT - 1) / WEFT_EXECUTABLE_SECTION_ALIGNMENT *
                WEFT_EXECUTABLE_SECTION_ALIGNMENT);
    weft_section_entry entry{};
    entry.kind = sections[i].first;
    entry.crc32c = crc32c(sections[i].second.data(), sections[i].second.size());
    entry.offset = file.size();
    entry.size_bytes = sections[i].second.size();
    entry.alignment = WEFT_EXECUTABLE_SECTION_ALIGNMENT;
    std::memcpy(&file[sizeof(weft_executable_header) + i * sizeof entry], &entry, sizeof entry);
    file.insert(file.end(), sections[i].second.begin(), sections[i].second.end());
  }
  weft_executable_header header{};
  header.magic = WEFT_EXECUTABLE_MAGIC;
  header.format_version = WEFT_EXECUTABLE_FORMAT_VERSION;
  header.isa_version = isa_version_of(commands);
  header.chip_fingerprint = chip.fingerprint;
  header.file_bytes = file.size();
  header.section_count = static_cast<uint32_t>(sections.size());
  std::memcpy(header.chip_name, chip.name.data(), chip.name.size());
  header.chip_n = chip.n;
  header.chip_num_mxu = chip.num_mxu;
  header.chip_vmem_bytes = chip.vmem_bytes;
  header.chip_acc_bank_rows = chip.acc_bank_rows;
  header.chip_vmem_banks = chip.vmem_banks;
  std::memcpy(file.data(), &header, sizeof header);
  header.file_crc32c = crc32c(file.data(), file.size());
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

}  // namespace weft::compiler
