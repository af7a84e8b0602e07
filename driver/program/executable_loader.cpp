// Checks of an executable file, outermost first: header, checksum, chip, section table, sections, kernels.
#include "driver/program/executable_loader.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "base/crc32c.hpp"
#include "driver/program/section_reading.hpp"
#include "weft/spec/names.hpp"

namespace weft::driver {
namespace {

using Bytes = std::span<const std::byte>;
using H = weft_executable_header;
using S = weft_section_entry;
using K = weft_kernel_record;
using A = weft_argument_record;

constexpr uint64_t kGranule = WEFT_CORE_DMA_GRANULE_BYTES;

template <typename... Args>
Status invalid(std::string_view section, uint64_t offset, fmt::format_string<Args...> reason, Args&&... args) {
  return failure(WEFT_ERROR_EXECUTABLE_INVALID, "section {}, offset {}: {}", section, offset,
                 fmt::format(reason, std::forward<Args>(args)...));
}

/// A name field: terminated, not empty, printable, nothing behind the end.
template <size_t Count>
std::optional<std::string> name_of(const uint8_t (&field)[Count]) {
  const auto* end = std::find(std::begin(field), std::end(field), 0);
  if (end == std::end(field) || end == std::begin(field)) return std::nullopt;
  if (std::any_of(std::begin(field), end, [](uint8_t c) { return c < 0x20 || c == 0x7f; })) return std::nullopt;
  if (std::any_of(end, std::end(field), [](uint8_t c) { return c != 0; })) return std::nullopt;
  return std::string(std::begin(field), end);
}

Status check_chip(const H& h, const spec::Chip& chip) {
  if (h.chip_fingerprint == chip.fingerprint) return {};
  std::string differences;
  const auto compare = [&](const char* what, uint64_t theirs, uint64_t ours) {
    if (theirs != ours)
      differences += fmt::format("{}{} {} instead of {}", differences.empty() ? "" : ", ", what, theirs, ours);
  };
  compare("N", h.chip_n, chip.n);
  compare("MXUs", h.chip_num_mxu, chip.num_mxu);
  compare("VMEM bytes", h.chip_vmem_bytes, chip.vmem_bytes);
  compare("ACC bank rows", h.chip_acc_bank_rows, chip.acc_bank_rows);
  compare("VMEM banks", h.chip_vmem_banks, chip.vmem_banks);
  if (differences.empty()) differences = "a parameter that the header does not name";
  const auto name = name_of(h.chip_name);
  return invalid("HEADER", offsetof(H, chip_fingerprint), "built for chip '{}' ({:#x}), this is '{}' ({:#x}): {}",
                 name.value_or("?"), h.chip_fingerprint, chip.name, chip.fingerprint, differences);
}

Status check_header(Bytes file, const H& h, const spec::Chip& chip) {
  if (h.magic != WEFT_EXECUTABLE_MAGIC)
    return invalid("HEADER", offsetof(H, magic), "not a .weft file: magic {:#018x}", h.magic);
  if (h.format_version != WEFT_EXECUTABLE_FORMAT_VERSION) {
    return invalid("HEADER", offsetof(H, format_version), "format version {}, this driver reads {}", h.format_version,
                   WEFT_EXECUTABLE_FORMAT_VERSION);
  }
  if (h.isa_version < WEFT_ISA_OLDEST || h.isa_version > WEFT_ISA_VERSION)
    return invalid("HEADER", offsetof(H, isa_version), "ISA version {}, this driver knows {} to {}", h.isa_version,
                   WEFT_ISA_OLDEST, WEFT_ISA_VERSION);
  if (h.file_bytes != file.size())
    return invalid("HEADER", offsetof(H, file_bytes), "the file should have {} bytes and has {}", h.file_bytes,
                   file.size());
  if (h.section_count == 0 || h.section_count > WEFT_EXECUTABLE_MAX_SECTIONS) {
    return invalid("HEADER", offsetof(H, section_count), "{} sections, 1 to {} are possible", h.section_count,
                   WEFT_EXECUTABLE_MAX_SECTIONS);
  }
  if (sizeof(H) + h.section_count * sizeof(S) > file.size())
    return invalid("HEADER", offsetof(H, section_count), "the table of {} sections exceeds the file", h.section_count);
  H zeroed = h;
  zeroed.file_crc32c = 0;
  const uint32_t crc = crc32c(file.data() + sizeof(H), file.size() - sizeof(H), crc32c(&zeroed, sizeof zeroed));
  if (crc != h.file_crc32c)
    return invalid("HEADER", offsetof(H, file_crc32c),
                   "the file is damaged: CRC-32C {:#010x}, its header says {:#010x}", crc, h.file_crc32c);
  if (!name_of(h.chip_name))
    return invalid("HEADER", offsetof(H, chip_name), "the chip's name is not a terminated text");
  if (!all_zero(h.reserved)) return invalid("HEADER", offsetof(H, reserved), "reserved bytes are not 0");
  return check_chip(h, chip);
}

/// The section of `kind`, if the file has it.
struct Sections {
  std::array<std::optional<Bytes>, WEFT_SECTION_KIND_CONTROL + 1> by_kind;
};

Result<Sections> find_sections(Bytes file, uint32_t count) {
  Sections sections;
  uint64_t end = sizeof(H) + count * sizeof(S);  // of what came before
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t at = sizeof(H) + i * sizeof(S);
    const S s = read_at<S>(file, at);
    const std::string_view name = spec::section_kind_name(s.kind);
    if (name.empty()) return invalid("TABLE", at + offsetof(S, kind), "section kind {} is unknown", s.kind);
    if (sections.by_kind[s.kind]) return invalid("TABLE", at + offsetof(S, kind), "section {} occurs twice", name);
    if (s.alignment != WEFT_EXECUTABLE_SECTION_ALIGNMENT)
      return invalid("TABLE", at + offsetof(S, alignment), "alignment {} instead of {}", s.alignment,
                     WEFT_EXECUTABLE_SECTION_ALIGNMENT);
    if (s.reserved != 0) return invalid("TABLE", at + offsetof(S, reserved), "reserved bytes are not 0");
    if (s.offset % WEFT_EXECUTABLE_SECTION_ALIGNMENT != 0 || s.offset < end || s.offset > file.size()) {
      return invalid("TABLE", at + offsetof(S, offset), "section {} starts at {}: not aligned, or outside of {} to {}",
                     name, s.offset, end, file.size());
    }
    if (s.size_bytes > file.size() - s.offset)
      return invalid("TABLE", at + offsetof(S, size_bytes), "section {} of {} bytes exceeds the file", name,
                     s.size_bytes);
    const Bytes padding = file.subspan(end, s.offset - end);
    if (padding.size() >= WEFT_EXECUTABLE_SECTION_ALIGNMENT ||
        std::any_of(padding.begin(), padding.end(), [](std::byte b) { return b != std::byte{0}; })) {
      return invalid(name, end, "{} bytes before the section: padding is short and 0", padding.size());
    }
    const Bytes section = file.subspan(s.offset, s.size_bytes);
    const uint32_t crc = crc32c(section.data(), section.size());
    if (crc != s.crc32c)
      return invalid(name, s.offset, "the section is damaged: CRC-32C {:#010x}, the table says {:#010x}", crc,
                     s.crc32c);
    sections.by_kind[s.kind] = section;
    end = s.offset + s.size_bytes;
  }
  if (end != file.size()) return invalid("TABLE", end, "{} bytes behind the last section", file.size() - end);
  return sections;
}

uint64_t element_bytes(weft_argument_dtype dtype) {
  switch (dtype) {
    case WEFT_ARGUMENT_DTYPE_F32:
    case WEFT_ARGUMENT_DTYPE_I32:
      return 4;
    case WEFT_ARGUMENT_DTYPE_BF16:
      return 2;
    case WEFT_ARGUMENT_DTYPE_I8:
      return 1;
  }
  return 0;
}

Result<ExecutableArgument> read_argument(Bytes section, uint64_t at) {
  constexpr uint64_t kMaxBytes = WEFT_EXECUTABLE_MAX_FILE_BYTES * 4096ull;  // 16 TiB: no product below overflows
  const A a = read_at<A>(section, at);
  const auto name = name_of(a.name);
  if (!name) return invalid("kernels", at + offsetof(A, name), "the argument's name is not a terminated text");
  if (spec::argument_dtype_name(a.dtype).empty())
    return invalid("kernels", at + offsetof(A, dtype), "argument '{}': dtype {}", *name, a.dtype);
  if (spec::argument_layout_name(a.layout).empty())
    return invalid("kernels", at + offsetof(A, layout), "argument '{}': layout {}", *name, a.layout);
  if (spec::argument_direction_name(a.direction).empty())
    return invalid("kernels", at + offsetof(A, direction), "argument '{}': direction {}", *name, a.direction);
  if (a.rank != 1 && a.rank != 2)
    return invalid("kernels", at + offsetof(A, rank), "argument '{}': rank {}", *name, a.rank);
  for (size_t i = 0; i < 2; i++) {
    if (a.shape[i] == 0 || a.shape[i] > UINT32_MAX)
      return invalid("kernels", at + offsetof(A, shape) + 8 * i, "argument '{}': {} elements", *name, a.shape[i]);
  }
  if (a.size_bytes == 0 || a.size_bytes > kMaxBytes || a.size_bytes % kGranule != 0) {
    return invalid("kernels", at + offsetof(A, size_bytes), "argument '{}': {} bytes, a multiple of {} is due", *name,
                   a.size_bytes, kGranule);
  }
  const auto dtype = static_cast<weft_argument_dtype>(a.dtype);
  if (a.layout == WEFT_ARGUMENT_LAYOUT_ROWS) {
    const uint64_t row_bytes = a.shape[1] * element_bytes(dtype);
    if (a.pitch_bytes % kGranule != 0 || a.pitch_bytes < row_bytes || a.pitch_bytes > kMaxBytes) {
      return invalid("kernels", at + offsetof(A, pitch_bytes), "argument '{}': a pitch of {} bytes for rows of {}",
                     *name, a.pitch_bytes, row_bytes);
    }
    const unsigned __int128 last = static_cast<unsigned __int128>(a.shape[0] - 1) * a.pitch_bytes + row_bytes;
    if (last > a.size_bytes)
      return invalid("kernels", at + offsetof(A, size_bytes), "argument '{}': {} bytes do not hold {} rows of pitch {}",
                     *name, a.size_bytes, a.shape[0], a.pitch_bytes);
  }
  if (!all_zero(a.reserved)) return invalid("kernels", at + offsetof(A, reserved), "reserved bytes are not 0");
  return ExecutableArgument{*name,
                            dtype,
                            static_cast<weft_argument_layout>(a.layout),
                            static_cast<weft_argument_direction>(a.direction),
                            a.rank,
                            {a.shape[0], a.shape[1]},
                            a.pitch_bytes,
                            a.size_bytes};
}

/// `max_arguments`: more with a control list.
Result<ExecutableKernel> read_kernel(Bytes section, uint64_t at, uint64_t commands, uint32_t max_arguments,
                                     const spec::Chip& chip) {
  const K k = read_at<K>(section, at);
  const auto name = name_of(k.name);
  if (!name) return invalid("kernels", at + offsetof(K, name), "the kernel's name is not a terminated text");
  ExecutableKernel kernel{*name, {}, {}, k.vmem_bytes, k.scratch_bytes, k.cycle_estimate, k.macs, {}, {}};
  for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++) {
    if (k.queue_first[q] > commands || k.queue_count[q] > commands - k.queue_first[q]) {
      return invalid("kernels", at + offsetof(K, queue_first) + 4 * q,
                     "kernel '{}', queue {}: {} commands from {}, the section has {}", *name, spec::queue_name(q),
                     k.queue_count[q], k.queue_first[q], commands);
    }
    kernel.queue_first[q] = k.queue_first[q];
    kernel.queue_count[q] = k.queue_count[q];
  }
  if (k.argument_count > max_arguments)
    return invalid("kernels", at + offsetof(K, argument_count), "kernel '{}': {} arguments, {} are possible", *name,
                   k.argument_count, max_arguments);
  if (k.vmem_bytes > chip.vmem_bytes)
    return invalid("kernels", at + offsetof(K, vmem_bytes), "kernel '{}' needs {} bytes of VMEM, the chip has {}",
                   *name, k.vmem_bytes, chip.vmem_bytes);
  if (k.scratch_bytes % kGranule != 0 || k.scratch_bytes > chip.hbm_bytes) {
    return invalid("kernels", at + offsetof(K, scratch_bytes),
                   "kernel '{}': {} bytes of scratch: a multiple of {} up to {} is due", *name, k.scratch_bytes,
                   kGranule, chip.hbm_bytes);
  }
  if (!all_zero(k.reserved)) return invalid("kernels", at + offsetof(K, reserved), "reserved bytes are not 0");
  if (section.size() - at - sizeof(K) < k.argument_count * sizeof(A))
    return invalid("kernels", at + offsetof(K, argument_count), "kernel '{}': its {} arguments exceed the section",
                   *name, k.argument_count);
  for (uint32_t i = 0; i < k.argument_count; i++) {
    auto argument = read_argument(section, at + sizeof(K) + i * sizeof(A));
    if (!argument.ok()) return argument.status();
    kernel.arguments.push_back(std::move(argument.value()));
  }
  return kernel;
}

}  // namespace

uint64_t ExecutableKernel::command_count() const {
  uint64_t count = std::accumulate(queue_count.begin(), queue_count.end(), uint64_t{0});
  if (!control) return count;
  for (const weft_control_block& block : control->blocks)
    count = std::accumulate(std::begin(block.queue_count), std::end(block.queue_count), count);
  return count;
}

Result<Executable> load_executable(Bytes file, const spec::Chip& chip) {
  if (file.size() < sizeof(H))
    return invalid("HEADER", file.size(), "the file ends inside the header of {} bytes", sizeof(H));
  if (file.size() > WEFT_EXECUTABLE_MAX_FILE_BYTES)
    return invalid("HEADER", 0, "the file has {} bytes, {} are possible", file.size(), WEFT_EXECUTABLE_MAX_FILE_BYTES);
  const H header = read_at<H>(file, 0);
  if (Status s = check_header(file, header, chip); !s.ok()) return s;
  auto sections = find_sections(file, header.section_count);
  if (!sections.ok()) return sections.status();
  const auto& by_kind = sections.value().by_kind;
  for (const auto kind : {WEFT_SECTION_KIND_KERNELS, WEFT_SECTION_KIND_COMMANDS}) {
    if (!by_kind[kind]) return invalid("TABLE", sizeof(H), "there is no section {}", spec::section_kind_name(kind));
  }
  Executable executable;
  executable.isa_version = header.isa_version;
  executable.commands = *by_kind[WEFT_SECTION_KIND_COMMANDS];
  executable.constants = by_kind[WEFT_SECTION_KIND_CONSTANTS].value_or(Bytes());
  if (executable.commands.size() % WEFT_COMMAND_BYTES != 0)
    return invalid("commands", 0, "{} bytes are not whole commands", executable.commands.size());
  if (executable.constants.size() % kGranule != 0)
    return invalid("constants", 0, "{} bytes are no multiple of {}", executable.constants.size(), kGranule);
  executable.control = by_kind[WEFT_SECTION_KIND_CONTROL].value_or(Bytes());
  auto lists = find_control_lists(executable.control, WEFT_LIMIT_KERNELS_PER_PROGRAM);
  if (!lists.ok()) return lists.status();
  const uint64_t commands = executable.commands.size() / WEFT_COMMAND_BYTES;
  auto next_list = lists.value().begin();
  const Bytes kernels = *by_kind[WEFT_SECTION_KIND_KERNELS];
  for (uint64_t at = 0; at != kernels.size();) {
    if (kernels.size() - at < sizeof(K)) return invalid("kernels", at, "the section ends inside a kernel");
    if (executable.kernels.size() == WEFT_LIMIT_KERNELS_PER_PROGRAM)
      return invalid("kernels", at, "more than {} kernels", WEFT_LIMIT_KERNELS_PER_PROGRAM);
    const bool listed = next_list != lists.value().end() && next_list->first == executable.kernels.size();
    auto kernel =
        read_kernel(kernels, at, commands, listed ? WEFT_EXECUTABLE_CONTROL_ARGUMENTS : WEFT_LIMIT_ARGUMENTS, chip);
    if (!kernel.ok()) return kernel.status();
    if (listed) {
      ControlList& list = next_list++->second;
      const Status status =
          read_control_list(executable.control, kernel.value(), {commands, executable.constants.size()}, list);
      if (!status.ok()) return status;
      kernel.value().control = std::move(list);
    }
    for (const auto& other : executable.kernels) {
      if (other.name == kernel.value().name) return invalid("kernels", at, "kernel '{}' occurs twice", other.name);
    }
    at += sizeof(K) + kernel.value().arguments.size() * sizeof(A);
    executable.kernels.push_back(std::move(kernel.value()));
  }
  if (executable.kernels.empty()) return invalid("kernels", 0, "there is no kernel");
  if (next_list != lists.value().end())
    return invalid("control", next_list->second.offset, "a list of kernel {}, there are {}", next_list->first,
                   executable.kernels.size());
  return executable;
}

}  // namespace weft::driver
