// Builds .weft files for tests: valid ones, with room to break them.
#pragma once
#include <cstring>
#include <string>
#include <vector>

#include "base/crc32c.hpp"
#include "weft/spec/chips.hpp"
#include "weft/spec/spec.h"

namespace weft::driver::test {

using Bytes = std::vector<std::byte>;

struct TestSection {
  uint32_t kind;
  Bytes bytes;
};

template <typename T>
void append(Bytes& bytes, const T& value) {
  const auto* first = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), first, first + sizeof value);
}

inline weft_kernel_record kernel_record(const std::string& name, uint32_t arguments, uint32_t commands = 0) {
  weft_kernel_record k{};
  std::memcpy(k.name, name.data(), name.size());
  k.queue_count[WEFT_QUEUE_SYNC] = commands;
  k.argument_count = arguments;
  k.vmem_bytes = 4096;
  k.cycle_estimate = 100;
  k.macs = 64;
  return k;
}

inline weft_argument_record argument_record(const std::string& name, uint32_t direction, uint64_t rows = 4,
                                            uint64_t columns = 16) {
  weft_argument_record a{};
  std::memcpy(a.name, name.data(), name.size());
  a.dtype = WEFT_ARGUMENT_DTYPE_F32;
  a.layout = WEFT_ARGUMENT_LAYOUT_ROWS;
  a.direction = direction;
  a.rank = 2;
  a.shape[0] = rows;
  a.shape[1] = columns;
  a.pitch_bytes = 64 * ((columns * 4 + 63) / 64);
  a.size_bytes = rows * a.pitch_bytes;
  return a;
}

/// Writes the checksums of a file whose sections or header were changed.
inline void fix_checksums(Bytes& file) {
  weft_executable_header h;
  std::memcpy(&h, file.data(), sizeof h);
  for (uint32_t i = 0; i < h.section_count && i < WEFT_EXECUTABLE_MAX_SECTIONS; i++) {
    const size_t at = sizeof h + i * sizeof(weft_section_entry);
    if (at + sizeof(weft_section_entry) > file.size()) break;
    weft_section_entry s;
    std::memcpy(&s, file.data() + at, sizeof s);
    if (s.offset > file.size() || s.size_bytes > file.size() - s.offset) continue;
    s.crc32c = crc32c(file.data() + s.offset, s.size_bytes);
    std::memcpy(file.data() + at, &s, sizeof s);
  }
  h.file_crc32c = 0;
  std::memcpy(file.data(), &h, sizeof h);
  h.file_crc32c = crc32c(file.data(), file.size());
  std::memcpy(file.data(), &h, sizeof h);
}

inline Bytes make_file(const spec::Chip& chip, const std::vector<TestSection>& sections) {
  weft_executable_header h{};
  h.magic = WEFT_EXECUTABLE_MAGIC;
  h.format_version = WEFT_EXECUTABLE_FORMAT_VERSION;
  h.isa_version = WEFT_ISA_VERSION;
  h.chip_fingerprint = chip.fingerprint;
  h.section_count = static_cast<uint32_t>(sections.size());
  std::memcpy(h.chip_name, chip.name.data(), chip.name.size());
  h.chip_n = chip.n;
  h.chip_num_mxu = chip.num_mxu;
  h.chip_vmem_bytes = chip.vmem_bytes;
  h.chip_acc_bank_rows = chip.acc_bank_rows;
  h.chip_vmem_banks = chip.vmem_banks;
  Bytes file(sizeof h + sections.size() * sizeof(weft_section_entry));
  for (size_t i = 0; i < sections.size(); i++) {
    file.resize((file.size() + 63) / 64 * 64);
    const weft_section_entry s{
        sections[i].kind, 0, file.size(), sections[i].bytes.size(), WEFT_EXECUTABLE_SECTION_ALIGNMENT, 0};
    std::memcpy(file.data() + sizeof h + i * sizeof s, &s, sizeof s);
    file.insert(file.end(), sections[i].bytes.begin(), sections[i].bytes.end());
  }
  h.file_bytes = file.size();
  std::memcpy(file.data(), &h, sizeof h);
  fix_checksums(file);
  return file;
}

/// Kernels "empty" (no arguments) and "layer" (x in, y out, 4096 bytes of scratch); two commands, 96 bytes of
/// constants, debug.
inline Bytes make_executable(const spec::Chip& chip, size_t constants_bytes = 96) {
  Bytes kernels;
  append(kernels, kernel_record("empty", 0));
  weft_kernel_record layer = kernel_record("layer", 2, 2);
  layer.scratch_bytes = 4096;
  append(kernels, layer);
  append(kernels, argument_record("x", WEFT_ARGUMENT_DIRECTION_INPUT));
  append(kernels, argument_record("y", WEFT_ARGUMENT_DIRECTION_OUTPUT));
  Bytes commands(2 * WEFT_COMMAND_BYTES, std::byte{0x11});
  Bytes constants(constants_bytes, std::byte{0x22});
  return make_file(chip, {{WEFT_SECTION_KIND_KERNELS, kernels},
                          {WEFT_SECTION_KIND_COMMANDS, commands},
                          {WEFT_SECTION_KIND_CONSTANTS, constants},
                          {WEFT_SECTION_KIND_DEBUG, Bytes(7, std::byte{0x33})}});
}

/// Fields of a test's control list, before they are put together.
struct TestList {
  std::vector<weft_control_block> blocks;
  std::vector<weft_control_binding> bindings;
  std::vector<weft_control_entry> entries;
};

/// Binds segment 3 to a window of x that moves 64 bytes a turn, runs a block 4 times, then once more if a word says so.
inline TestList test_list() {
  TestList list;
  weft_control_block block{};
  block.queue_first[WEFT_QUEUE_SYNC] = 1;
  block.queue_count[WEFT_QUEUE_SYNC] = 1;
  list.blocks = {block};
  weft_control_binding binding{};
  binding.segment = 3;
  binding.access = WEFT_EXECUTABLE_CONTROL_READABLE;
  binding.offset_bytes = 16;
  binding.size_bytes = 48;
  for (uint16_t& loop : binding.stride_loop) loop = WEFT_EXECUTABLE_CONTROL_NO_LOOP;
  binding.stride_bytes[0] = 64;
  binding.stride_loop[0] = 1;
  weft_control_binding word = binding;
  word.segment = word.access = 0;
  word.argument = 1;
  word.size_bytes = 4;
  word.stride_bytes[0] = 0;
  word.stride_loop[0] = WEFT_EXECUTABLE_CONTROL_NO_LOOP;
  list.bindings = {binding, word};
  const auto entry = [](uint8_t opcode, uint16_t target, uint16_t first, uint32_t count) {
    weft_control_entry e{};
    e.opcode = opcode;
    e.target = target;
    e.first = first;
    e.count = count;
    return e;
  };
  list.entries = {entry(WEFT_CONTROL_OPCODE_BIND, 0, 0, 1), entry(WEFT_CONTROL_OPCODE_LOOP, 3, 0, 4),
                  entry(WEFT_CONTROL_OPCODE_RUN, 0, 0, 0),  entry(WEFT_CONTROL_OPCODE_END, 1, 0, 0),
                  entry(WEFT_CONTROL_OPCODE_IF, 6, 1, 0),   entry(WEFT_CONTROL_OPCODE_RUN, 0, 0, 0),
                  entry(WEFT_CONTROL_OPCODE_END, 4, 0, 0)};
  list.entries[4].condition = WEFT_CONTROL_CONDITION_LESS;
  list.entries[4].value = 9;
  return list;
}

/// The bytes of one list in section CONTROL.
inline Bytes list_bytes(const TestList& list, uint32_t kernel) {
  weft_control_header h{};
  h.version = WEFT_EXECUTABLE_CONTROL_VERSION;
  h.kernel = kernel;
  h.block_count = static_cast<uint32_t>(list.blocks.size());
  h.binding_count = static_cast<uint32_t>(list.bindings.size());
  h.entry_count = static_cast<uint32_t>(list.entries.size());
  Bytes bytes;
  append(bytes, h);
  for (const auto& block : list.blocks) append(bytes, block);
  for (const auto& binding : list.bindings) append(bytes, binding);
  for (const auto& entry : list.entries) append(bytes, entry);
  bytes.resize((bytes.size() + 63) / 64 * 64);
  h.list_bytes = bytes.size();
  std::memcpy(bytes.data(), &h, sizeof h);
  return bytes;
}

/// Kernels "plain" (one command) and "listed" (x in, y out, of 256 bytes), which has `list`.
inline Bytes make_listed(const spec::Chip& chip, const TestList& list, uint32_t arguments = 2) {
  Bytes kernels;
  append(kernels, kernel_record("plain", 0, 1));
  append(kernels, kernel_record("listed", arguments));
  append(kernels, argument_record("x", WEFT_ARGUMENT_DIRECTION_INPUT));
  append(kernels, argument_record("y", WEFT_ARGUMENT_DIRECTION_OUTPUT));
  for (uint32_t i = 2; i < arguments; i++)
    append(kernels, argument_record("a" + std::to_string(i), WEFT_ARGUMENT_DIRECTION_INPUT));
  return make_file(chip, {{WEFT_SECTION_KIND_KERNELS, kernels},
                          {WEFT_SECTION_KIND_COMMANDS, Bytes(2 * WEFT_COMMAND_BYTES, std::byte{0x11})},
                          {WEFT_SECTION_KIND_CONTROL, list_bytes(list, 1)}});
}

inline const spec::Chip& nano() { return *spec::find_chip("nano"); }

}  // namespace weft::driver::test
