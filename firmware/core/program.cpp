// Program images: a host may write anything into HBM, so every field is checked before it is used.
#include "firmware/core/program.hpp"

#include "firmware/hal.hpp"
#include "firmware/memory_map.hpp"
#include "firmware/state.hpp"

namespace weft::fw {
namespace {

constexpr uint64_t kAlignment = kProgramAlignment;
constexpr uint64_t kGranule = WEFT_CORE_DMA_GRANULE_BYTES;
constexpr uint32_t kSlotBits = 6;
static_assert(WEFT_LIMIT_PROGRAMS == 1u << kSlotBits);

/// `bytes` from `offset` lie in [first, end).
constexpr bool inside(uint64_t offset, uint64_t bytes, uint64_t first, uint64_t end) {
  return offset >= first && offset <= end && bytes <= end - offset;
}

constexpr Status invalid(uint64_t offset, uint64_t value) {
  return refused(WEFT_ERROR_EXECUTABLE_INVALID, offset, value);
}

constexpr uint32_t kRecordStride = 32;
static_assert(sizeof(Program) <= kRecordStride &&
              WEFT_LIMIT_PROGRAMS * kRecordStride <= WEFT_MANAGER_HBM_RESERVED_BYTES / 2);

/// Never 0.
uint32_t make_id(const ProgramSlots& slots, uint32_t slot) {
  constexpr uint32_t kGenerations = UINT32_MAX >> kSlotBits;
  return (slots.unloads % kGenerations + 1) << kSlotBits | slot;
}

uint64_t record_address(const Function& function, uint32_t slot) { return function.hbm_base + slot * kRecordStride; }

/// nullptr: it lies in HBM, and could not be read into `room`.
const Program* read_record(const State& state, const Function& function, uint32_t slot, Program& room) {
  if (slot < state.program_records) return &state.programs[function.index * state.program_records + slot];
  return hal::dma_read(hbm_at(record_address(function, slot)), &room, sizeof room) ? &room : nullptr;
}

bool write_record(State& state, const Function& function, uint32_t slot, const Program& program) {
  if (slot >= state.program_records)
    return hal::dma_write(hbm_at(record_address(function, slot)), &program, sizeof program);
  state.programs[function.index * state.program_records + slot] = program;
  return true;
}

}  // namespace

Status check_program_header(const weft_program_header& h, uint64_t image_bytes, uint64_t fingerprint) {
  using H = weft_program_header;
  if (h.magic != WEFT_MAGIC) return invalid(offsetof(H, magic), h.magic);
  if (h.isa_version < WEFT_ISA_OLDEST || h.isa_version > WEFT_ISA_VERSION)
    return invalid(offsetof(H, isa_version), h.isa_version);
  if (h.chip_fingerprint != fingerprint) return invalid(offsetof(H, chip_fingerprint), h.chip_fingerprint);
  if (h.image_bytes != image_bytes || h.image_bytes % kAlignment != 0)
    return invalid(offsetof(H, image_bytes), h.image_bytes);
  if (h.kernel_count == 0 || h.kernel_count > WEFT_LIMIT_KERNELS_PER_PROGRAM)
    return invalid(offsetof(H, kernel_count), h.kernel_count);
  const uint64_t table_end = kernel_offset(h.kernel_count);
  if (table_end > image_bytes) return invalid(offsetof(H, kernel_count), h.kernel_count);
  if (h.reserved != 0) return invalid(offsetof(H, reserved), h.reserved);
  if (h.commands_offset % kAlignment != 0 || !inside(h.commands_offset, 0, table_end, image_bytes)) {
    return invalid(offsetof(H, commands_offset), h.commands_offset);
  }
  if (h.commands_bytes % WEFT_COMMAND_BYTES != 0 ||
      !inside(h.commands_offset, h.commands_bytes, table_end, image_bytes)) {
    return invalid(offsetof(H, commands_bytes), h.commands_bytes);
  }
  const uint64_t constants_first = h.constants_bytes == 0 ? 0 : table_end;
  if (h.constants_offset % kAlignment != 0 || !inside(h.constants_offset, 0, constants_first, image_bytes)) {
    return invalid(offsetof(H, constants_offset), h.constants_offset);
  }
  if (h.constants_bytes % kGranule != 0 ||
      !inside(h.constants_offset, h.constants_bytes, constants_first, image_bytes)) {
    return invalid(offsetof(H, constants_bytes), h.constants_bytes);
  }
  return kOk;
}

namespace {

/// Every field of a kernel without a control list is as it must be: a launch's check, without a branch a field.
bool kernel_valid(const weft_program_kernel& k, uint32_t commands) {
  bool bad = k.argument_count > WEFT_LIMIT_ARGUMENTS || k.scratch_bytes % kGranule != 0;
#pragma GCC unroll 8
  for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++)
    bad |= (k.queue_first[q] > commands) | (k.queue_count[q] > commands - k.queue_first[q]);
  const uint32_t known = (1u << (k.argument_count & 31)) - 1;
  uint64_t zero = ((k.argument_writable | k.argument_readable) & ~known) | k.control_offset | k.control_bytes;
#pragma GCC unroll 8
  for (const uint64_t word : k.reserved) zero |= word;
  return !bad && zero == 0;
}

}  // namespace

Status check_program_kernel(const weft_program_kernel& k, uint32_t index, uint32_t commands) {
  using K = weft_program_kernel;
  if (kernel_valid(k, commands)) return kOk;
  const uint32_t at = static_cast<uint32_t>(kernel_offset(index));
  for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++) {
    if (k.queue_first[q] > commands) return invalid(at + offsetof(K, queue_first) + 4 * q, k.queue_first[q]);
  }
  for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++) {
    if (k.queue_count[q] > commands - k.queue_first[q])
      return invalid(at + offsetof(K, queue_count) + 4 * q, k.queue_count[q]);
  }
  const bool control = k.control_bytes != 0;
  if (!control && k.control_offset != 0) return invalid(at + offsetof(K, control_offset), k.control_offset);
  for (uint32_t q = 0; q < WEFT_CORE_QUEUES && control; q++) {  // its commands are those of its blocks
    if (k.queue_first[q] != 0) return invalid(at + offsetof(K, queue_first) + 4 * q, k.queue_first[q]);
    if (k.queue_count[q] != 0) return invalid(at + offsetof(K, queue_count) + 4 * q, k.queue_count[q]);
  }
  const uint32_t arguments = control ? WEFT_EXECUTABLE_CONTROL_ARGUMENTS : WEFT_LIMIT_ARGUMENTS;
  if (k.argument_count > arguments) return invalid(at + offsetof(K, argument_count), k.argument_count);
  const uint32_t known = control ? 0 : (1u << k.argument_count) - 1;
  if ((k.argument_writable & ~known) != 0) return invalid(at + offsetof(K, argument_writable), k.argument_writable);
  if ((k.argument_readable & ~known) != 0) return invalid(at + offsetof(K, argument_readable), k.argument_readable);
  if (k.scratch_bytes % kGranule != 0) return invalid(at + offsetof(K, scratch_bytes), k.scratch_bytes);
  for (uint32_t i = 0; i < sizeof k.reserved / sizeof k.reserved[0]; i++) {
    if (k.reserved[i] != 0) return invalid(at + offsetof(K, reserved) + 8 * i, k.reserved[i]);
  }
  return kOk;
}
static_assert(WEFT_LIMIT_ARGUMENTS < 32, "one bit an argument");

Status check_control_place(const weft_program_kernel& k, uint32_t index, uint64_t image_bytes) {
  using K = weft_program_kernel;
  const uint64_t at = kernel_offset(index);
  if (k.control_offset % kAlignment != 0 || !inside(k.control_offset, 0, kernel_offset(1), image_bytes))
    return invalid(at + offsetof(K, control_offset), k.control_offset);
  if (k.control_bytes % kAlignment != 0 || k.control_bytes < sizeof(weft_control_header) ||
      !inside(k.control_offset, k.control_bytes, 0, image_bytes))
    return invalid(at + offsetof(K, control_bytes), k.control_bytes);
  return kOk;
}

Status load_program(State& state, Function& function, uint64_t address, uint64_t bytes, uint32_t* id) {
  using E = weft_submission_entry;
  const Location image = locate(function, WEFT_ADDRESS_SPACE_HBM, address);
  if (address % kAlignment != 0 || !range_valid(function, image, 0)) {
    return refused(WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, arg0), address);
  }
  if (bytes < kernel_offset(1) || !range_valid(function, image, bytes))
    return refused(WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, size), bytes);
  uint32_t slot = 0;
  while (slot < WEFT_LIMIT_PROGRAMS && function.programs.has(slot)) slot++;
  if (slot == WEFT_LIMIT_PROGRAMS) return Status{WEFT_ERROR_NO_DEVICE_MEMORY, WEFT_LIMIT_PROGRAMS, 0};

  weft_program_header header;
  if (!hal::dma_read(image, &header, sizeof header)) return Status{WEFT_ERROR_DMA_FAULT, address, sizeof header};
  Status status = check_program_header(header, bytes, hal::chip_fingerprint());
  if (!status.ok()) return status;

  const uint32_t table_bytes = header.kernel_count * static_cast<uint32_t>(sizeof(weft_program_kernel));
  const uint64_t table = image.address + kernel_offset(0);
  if (!hal::dma_read(hbm_at(table), state.scratch, table_bytes))
    return Status{WEFT_ERROR_DMA_FAULT, address + kernel_offset(0), table_bytes};
  // As many as the record can name: the image lies in HBM that is no larger than kProgramHbmBytes.
  const auto commands = static_cast<uint32_t>(header.commands_bytes / WEFT_COMMAND_BYTES);
  for (uint32_t i = 0; i < header.kernel_count; i++) {
    weft_program_kernel kernel;
    __builtin_memcpy(&kernel, state.scratch + i * sizeof kernel, sizeof kernel);
    hal::charge(WEFT_MANAGER_SRAM_WORD * sizeof kernel / 4);
    status = check_program_kernel(kernel, i, commands);
    if (status.ok() && kernel.control_bytes != 0) status = check_control_place(kernel, i, bytes);
    if (!status.ok()) return status;
  }

  const auto unit = [](uint64_t place) { return static_cast<uint32_t>(place / kAlignment); };
  Program program{};
  program.id = make_id(function.programs, slot);
  program.kernel_count = header.kernel_count;
  program.commands = commands;
  program.image_unit = unit(image.address);
  program.commands_unit = unit(image.address + header.commands_offset);
  program.constants_unit = unit(image.address + header.constants_offset);
  program.constants_granules = static_cast<uint32_t>(header.constants_bytes / kGranule);
  program.image_units = unit(bytes);
  if (!write_record(state, function, slot, program))
    return Status{WEFT_ERROR_DMA_FAULT, record_address(function, slot) - function.hbm_base, sizeof program};
  function.programs.loaded[slot / 32] |= 1u << slot % 32;
  *id = program.id;
  log_event(function, LogLevel::kInfo, WEFT_LOG_EVENT_PROGRAM_LOADED, *id, header.kernel_count);
  return kOk;
}

const Program* find_program(const State& state, const Function& function, uint64_t id, Program& room, Status& status) {
  const uint32_t slot = static_cast<uint32_t>(id) & (WEFT_LIMIT_PROGRAMS - 1);
  if (id <= UINT32_MAX && function.programs.has(slot)) {
    const Program* program = read_record(state, function, slot, room);
    if (program == nullptr) {
      status = {WEFT_ERROR_DMA_FAULT, record_address(function, slot) - function.hbm_base, sizeof *program};
      return nullptr;
    }
    if (program->id == static_cast<uint32_t>(id)) return program;
  }
  status = refused(WEFT_ERROR_INVALID_ARGUMENT, offsetof(weft_submission_entry, arg0), id);
  return nullptr;
}

Status unload_program(State& state, Function& function, uint64_t id) {
  Program room;
  Status status = kOk;
  if (find_program(state, function, id, room, status) == nullptr) return status;
  if (state.launch.active && state.launch.function == function.index && state.launch.program_id == id)
    return Status{WEFT_ERROR_BUSY, offsetof(weft_submission_entry, arg0), id};
  const uint32_t slot = static_cast<uint32_t>(id) & (WEFT_LIMIT_PROGRAMS - 1);
  function.programs.loaded[slot / 32] &= ~(1u << slot % 32);
  function.programs.unloads++;
  log_event(function, LogLevel::kInfo, WEFT_LOG_EVENT_PROGRAM_UNLOADED, id);
  return kOk;
}

}  // namespace weft::fw
