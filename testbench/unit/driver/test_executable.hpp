// Builds .weft files for tests: valid ones, with room to break them.
#pragma once
#include <cstring>
#include <string>
#include <vector>

#include "driver/queue/crc32c.hpp"
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

inline const spec::Chip& nano() { return *spec::find_chip("nano"); }

}  // namespace weft::driver::test
