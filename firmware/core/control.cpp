// Control lists: what is read and checked before anything runs. Entries and arguments stay in SRAM; blocks and bindings
// are read again when they are used, and then checked again: the host can write into the image.
#include "firmware/core/control.hpp"

#include "firmware/admin/hbm_scrub.hpp"
#include "firmware/core/control_parts.hpp"
#include "firmware/core/core.hpp"

namespace weft::fw {

namespace {

using namespace control;
using W = weft_control_binding;
using B = weft_control_block;
using C = weft_control_entry;

constexpr uint32_t kPieceBytes = 4096;  // of one DMA
static_assert(sizeof(Control::entries) <= kPieceBytes);

/// A bit for each binding that is a condition's word.
struct Words {
  uint32_t bits[WEFT_EXECUTABLE_CONTROL_BINDINGS / 32] = {};
  bool has(uint32_t binding) const { return (bits[binding / 32] >> (binding & 31) & 1) != 0; }
};

/// Elements `first` on of a table of `total` elements, as many as scratch takes. Returns how many.
template <typename T>
Status read_piece(State& state, const Function& function, uint32_t table_at, uint32_t first, uint32_t total,
                  uint32_t* count) {
  constexpr uint32_t kFits = kScratchBytes / sizeof(T);
  *count = total - first < kFits ? total - first : kFits;
  return read_list(function, state.control, table_at + first * static_cast<uint32_t>(sizeof(T)), state.scratch,
                   *count * static_cast<uint32_t>(sizeof(T)));
}

Status check_blocks(State& state, const Function& function) {
  const Control& control = state.control;
  for (uint32_t first = 0, count = 0; first < control.shape.blocks; first += count) {
    Status status = read_piece<B>(state, function, control.shape.blocks_at(), first, control.shape.blocks, &count);
    for (uint32_t i = 0; i < count && status.ok(); i++)
      status = check_control_block(control.shape, first + i, from_scratch<B>(state, i), control.commands);
    if (!status.ok()) return status;
  }
  return kOk;
}

/// Binding `index` by itself and in its argument.
Status check_binding(const Function& function, const Control& control, uint32_t index, const W& w, BindingUse use) {
  Status status = check_control_binding(control.shape, control.entries, index, w, use);
  if (status.ok())
    status = check_control_window(control.shape, control.entries, index, w, room_of(function, control, w).bytes);
  return status;
}

Status check_bindings(State& state, const Function& function, Words& words) {
  const Control& control = state.control;
  for (uint32_t first = 0, count = 0; first < control.shape.bindings; first += count) {
    Status status = read_piece<W>(state, function, control.shape.bindings_at(), first, control.shape.bindings, &count);
    for (uint32_t i = 0; i < count && status.ok(); i++) {
      const W w = from_scratch<W>(state, i);
      const bool word = w.segment == 0;
      if (word) words.bits[(first + i) / 32] |= 1u << ((first + i) & 31);
      status = check_binding(function, control, first + i, w, word ? BindingUse::kWord : BindingUse::kSegment);
    }
    if (!status.ok()) return status;
  }
  return kOk;
}

/// Bindings are used as what they are.
Status check_uses(const Control& control, const Words& words) {
  for (uint32_t i = 0; i < control.shape.entries; i++) {
    const C& e = control.entries[i];
    const bool word = e.opcode == WEFT_CONTROL_OPCODE_WHILE || e.opcode == WEFT_CONTROL_OPCODE_IF;
    const uint32_t uses = word ? 1 : e.opcode == WEFT_CONTROL_OPCODE_BIND ? e.count : 0;
    for (uint32_t n = 0; n < uses; n++) {
      if (words.has(e.first + n) != word)
        return refused(WEFT_ERROR_EXECUTABLE_INVALID,
                       control.shape.at + control.shape.entries_at() + i * sizeof(C) + offsetof(C, first), e.first);
    }
  }
  return kOk;
}

}  // namespace

Status control_prepare(State& state, const Function& function, const Program& program,
                       const weft_program_kernel& kernel, uint32_t index, uint64_t iova) {
  Control& control = state.control;
  control.list_address = program.image_address() + kernel.control_offset;
  control.commands_address = program.commands_address();
  control.constants_address = program.constants_address();
  control.constants_bytes = program.constants_bytes();
  control.commands = program.commands;
  control.shape.at = kernel.control_offset;
  control.shape.arguments = static_cast<uint16_t>(kernel.argument_count);
  control.shape.scratch = kernel.scratch_bytes != 0;

  weft_control_header header;
  Status status = read_list(function, control, 0, &header, sizeof header);
  if (status.ok()) status = check_control_header(header, index, kernel.control_bytes, &control.shape);
  if (status.ok())
    status = read_list(function, control, control.shape.entries_at(), control.entries,
                       control.shape.entries * static_cast<uint32_t>(sizeof(C)));
  if (status.ok()) status = check_control_entries(control.shape, control.entries);
  if (status.ok()) status = check_blocks(state, function);
  if (status.ok() && list_entries(kernel) != 0) status = read_arguments(function, iova, kernel, control.arguments);
  Words words;
  if (status.ok()) status = check_bindings(state, function, words);
  if (status.ok()) status = check_uses(control, words);
  if (!status.ok()) return status;

  control.step = ControlStep::kFollow;
  control.running = false;
  control.loops = 0;
  control.current = control.next = 0;
  control.entry = 0;
  control.newest = 0;
  control.overlaps = false;
  control.version = 0;
  StartedBlock& none = control.started[0];
  none.place = {0, kNoBlock, {}};
  for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++) none.first[q] = none.total[q] = none.before[q] = 0;
  control.started_cycle = 0;
  for (KnownBlock& known : control.known) known.index = kNoBlock;
  control.bound = control.moving = control.rebound = control.moved = control.behind = control.written = 0;
  control.word_index = kNoBinding;
  control.last_bind = WEFT_EXECUTABLE_CONTROL_ENTRIES;  // none
  return kOk;
}

uint32_t control_map(Function& function, const Control& control) {
  uint32_t mapped = 0;
  if (control.constants_bytes != 0) {
    core::map_segment(kConstantsSegment, WEFT_ADDRESS_SPACE_HBM, control.constants_address, control.constants_bytes,
                      WEFT_CSR_SEGMENT_ATTRIBUTES_READABLE);
    mapped |= 1u << kConstantsSegment;
  }
  if (control.shape.scratch) {
    W scratch{};
    scratch.argument = WEFT_EXECUTABLE_CONTROL_SCRATCH;
    const Room room = room_of(function, control, scratch);
    note_written(function, room.where.address + room.bytes);
    core::map_segment(kScratchSegment, WEFT_ADDRESS_SPACE_HBM, room.where.address, room.bytes,
                      WEFT_CSR_SEGMENT_ATTRIBUTES_READABLE | WEFT_CSR_SEGMENT_ATTRIBUTES_WRITABLE);
    mapped |= 1u << kScratchSegment;
  }
  return mapped;
}

}  // namespace weft::fw
