/// Program images with a control list, for firmware tests.
#pragma once
#include <cstring>
#include <vector>

#include "host_side.hpp"

namespace mock {

/// A list by hand. `commands`: SIGNALs, tags 0, 1, 2, ...
struct ListImage {
  std::vector<weft_control_block> blocks;
  std::vector<weft_control_binding> bindings;
  std::vector<weft_control_entry> entries;
  uint32_t commands = 64;
  uint32_t arguments = 0;
  uint64_t scratch = 0, constants = 0;

  /// `count` commands of queue `queue` from command `first` on.
  uint16_t add_block(uint32_t queue, uint32_t first, uint32_t count) {
    weft_control_block b{};
    b.queue_first[queue] = first;
    b.queue_count[queue] = count;
    blocks.push_back(b);
    return static_cast<uint16_t>(blocks.size() - 1);
  }
  /// Segment `segment` (0: a word) is a window of `argument`, and moves by `stride` with each turn of entry `loop`.
  uint16_t add_binding(uint32_t segment, uint32_t argument, uint64_t offset = 0, int64_t stride = 0,
                       uint16_t loop = WEFT_EXECUTABLE_CONTROL_NO_LOOP) {
    weft_control_binding w{};
    w.segment = segment;
    w.access = segment == 0 ? 0 : WEFT_EXECUTABLE_CONTROL_READABLE;
    w.argument = argument;
    w.offset_bytes = offset;
    w.size_bytes = segment == 0 ? 4 : 16;
    w.stride_bytes[0] = static_cast<uint64_t>(stride);
    w.stride_loop[0] = loop;
    w.stride_loop[1] = w.stride_loop[2] = WEFT_EXECUTABLE_CONTROL_NO_LOOP;
    bindings.push_back(w);
    return static_cast<uint16_t>(bindings.size() - 1);
  }
  uint16_t add(weft_control_opcode opcode, uint32_t first = 0, uint32_t count = 0, uint32_t target = 0) {
    weft_control_entry e{};
    e.opcode = static_cast<uint8_t>(opcode);
    e.first = static_cast<uint16_t>(first);
    e.count = count;
    e.target = static_cast<uint16_t>(target);
    entries.push_back(e);
    return static_cast<uint16_t>(entries.size() - 1);
  }
  /// WHILE or IF.
  uint16_t add_condition(weft_control_opcode opcode, uint16_t word, weft_control_condition condition, uint32_t value,
                         uint32_t turns = 0) {
    const uint16_t at = add(opcode, word, turns);
    entries[at].condition = static_cast<uint8_t>(condition);
    entries[at].value = value;
    return at;
  }
  uint16_t end(uint16_t opener) {
    entries[opener].target = static_cast<uint16_t>(entries.size());
    return add(WEFT_CONTROL_OPCODE_END, 0, 0, opener);
  }
  uint16_t otherwise(uint16_t opener) {
    entries[opener].target = static_cast<uint16_t>(entries.size());
    return add(WEFT_CONTROL_OPCODE_ELSE);
  }

  uint64_t commands_at() const { return sizeof(weft_program_header) + sizeof(weft_program_kernel); }
  uint64_t control_at() const { return (commands_at() + commands * 64 + constants + 63) / 64 * 64; }
  uint64_t blocks_at() const { return control_at() + sizeof(weft_control_header); }
  uint64_t bindings_at() const { return blocks_at() + blocks.size() * sizeof(weft_control_block); }
  uint64_t entries_at() const { return bindings_at() + bindings.size() * sizeof(weft_control_binding); }
  uint64_t control_bytes() const {
    return (entries_at() + entries.size() * sizeof(weft_control_entry) - control_at() + 63) / 64 * 64;
  }

  std::vector<uint8_t> image() const {
    weft_program_kernel kernel{};
    kernel.argument_count = arguments;
    kernel.scratch_bytes = scratch;
    kernel.control_offset = control_at();
    kernel.control_bytes = control_bytes();
    weft_program_header header{};
    header.magic = WEFT_MAGIC;
    header.isa_version = WEFT_ISA_VERSION;
    header.chip_fingerprint = kFingerprint;
    header.kernel_count = 1;
    header.commands_offset = commands_at();
    header.commands_bytes = uint64_t{commands} * 64;
    header.constants_offset = commands_at() + header.commands_bytes;
    header.constants_bytes = constants;
    header.image_bytes = control_at() + control_bytes();
    weft_control_header list{};
    list.version = WEFT_EXECUTABLE_CONTROL_VERSION;
    list.block_count = static_cast<uint32_t>(blocks.size());
    list.binding_count = static_cast<uint32_t>(bindings.size());
    list.entry_count = static_cast<uint32_t>(entries.size());
    list.list_bytes = control_bytes();
    std::vector<uint8_t> bytes(header.image_bytes);
    std::memcpy(&bytes[0], &header, sizeof header);
    std::memcpy(&bytes[sizeof header], &kernel, sizeof kernel);
    for (uint32_t i = 0; i < commands; i++) {
      uint8_t* c = &bytes[header.commands_offset + i * 64];
      c[0] = WEFT_OPCODE_SIGNAL;
      c[2] = static_cast<uint8_t>(i);
      c[4] = c[5] = c[6] = c[7] = WEFT_NO_SEMAPHORE;
    }
    std::memcpy(&bytes[control_at()], &list, sizeof list);
    const auto put = [&](uint64_t at, const auto& table) {
      if (!table.empty()) std::memcpy(&bytes[at], table.data(), table.size() * sizeof table[0]);
    };
    put(blocks_at(), blocks);
    put(bindings_at(), bindings);
    put(entries_at(), entries);
    return bytes;
  }
};

}  // namespace mock
