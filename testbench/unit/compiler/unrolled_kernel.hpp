/// A kernel with a control list as one without: what the firmware makes of blocks, loops and bindings, written out.
#pragma once
#include <cstdint>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "host/compiler/executable/executable_writer.hpp"

namespace weft::test {

/// A kernel without a list as it is. Arguments are bound whole, in their order, and other segments to windows of the
/// constants; blocks overlap, except the first. Throws if the list is of another form.
inline compiler::Kernel unrolled(const compiler::Kernel& kernel) {
  const auto& control = kernel.control;
  if (control.entries.empty()) return kernel;
  compiler::Kernel plain = kernel;
  plain.control = {};
  std::map<uint8_t, weft_control_binding> windows;
  std::map<size_t, uint32_t> turn;  // of open loops, by entry
  bool begun = false;
  const auto expect = [](bool holds) {
    if (!holds) throw std::logic_error("a control list that is not written out");
  };
  const auto run = [&](const weft_control_entry& entry) {
    expect(std::exchange(begun, true) == ((entry.flags & WEFT_EXECUTABLE_CONTROL_OVERLAP) != 0));
    for (size_t q = 0; q < WEFT_CORE_QUEUES; q++)
      for (spec::Command command : control.blocks.at(entry.first)[q]) {
        if (q == WEFT_QUEUE_DMA_IN || q == WEFT_QUEUE_DMA_OUT) {
          auto dma = spec::decode_dma(command);
          expect(!windows.contains(dma.dst_seg));
          if (const auto found = windows.find(dma.src_seg); found != windows.end()) {
            const auto& window = found->second;
            dma.src_seg = 1;
            dma.src_off += window.offset_bytes;
            for (size_t i = 0; i < WEFT_EXECUTABLE_CONTROL_STRIDES; i++)
              if (window.stride_loop[i] != WEFT_EXECUTABLE_CONTROL_NO_LOOP)
                dma.src_off += window.stride_bytes[i] * turn[window.stride_loop[i]];
            command = spec::encode(dma);
          }
        }
        plain.queues[q].push_back(command);
      }
  };
  for (size_t i = 0; i < control.entries.size();) {
    const auto& entry = control.entries[i];
    switch (static_cast<weft_control_opcode>(entry.opcode)) {
      case WEFT_CONTROL_OPCODE_BIND:
        for (uint32_t b = entry.first; b < entry.first + entry.count; b++) {
          const auto& binding = control.bindings.at(b);
          if (binding.argument == WEFT_EXECUTABLE_CONTROL_CONSTANTS)
            windows[static_cast<uint8_t>(binding.segment)] = binding;
          else
            expect(binding.segment == 3 + binding.argument && binding.offset_bytes == 0);
        }
        i++;
        break;
      case WEFT_CONTROL_OPCODE_LOOP:
        turn[i] = 0;
        i++;
        break;
      case WEFT_CONTROL_OPCODE_RUN:
        run(entry);
        i++;
        break;
      case WEFT_CONTROL_OPCODE_END:
        if (++turn[entry.target] < control.entries[entry.target].count) {
          i = entry.target + 1u;
        } else {
          turn[entry.target] = 0;
          i++;
        }
        break;
      default:
        expect(false);
    }
  }
  return plain;
}

}  // namespace weft::test
