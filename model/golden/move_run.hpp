/// Contiguous bytes between VMEM and memory.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

#include "model/golden/check.hpp"

namespace weft::golden {

/// Does `transfer(bus_address, offset_in_run, bytes)` for a whole run, or for its beats until the one that fails.
template <class Transfer>
std::optional<Fault> move_run(const spec::Chip& chip, uint64_t bus_address, uint64_t bytes, Transfer&& transfer) {
  if (transfer(bus_address, uint64_t{0}, bytes)) return std::nullopt;
  const uint64_t beat = uint64_t{chip.dma_words} * chip.word_bytes;
  for (uint64_t done = 0; done < bytes; done += beat) {
    const uint64_t size = std::min(beat, bytes - done);
    if (!transfer(bus_address + done, done, size)) return Fault{WEFT_FAULT_DMA_BUS, bus_address + done};
  }
  return std::nullopt;
}

}  // namespace weft::golden
