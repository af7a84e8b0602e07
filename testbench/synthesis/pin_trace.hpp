/// What goes in and out of the RTL core while a program runs: in every evaluation, for gates to be held against.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/core/tensor_core.hpp"

namespace weft::gates {

/// Ports of weft_core, each with the place of its bits in a record.
struct PortPlace {
  std::string name;
  uint32_t first, bits;
};

/// One evaluation of the core: inputs, and the outputs that follow from them. Bits lie as PortPlace says, from bit 0 of
/// byte 0 up.
struct PinRecord {
  uint64_t cycle = 0;
  bool edge = false;  ///< the clock rises after it
  std::vector<uint8_t> inputs, outputs;
  std::vector<uint8_t>
      meant;  ///< a bit for each of outputs: 0 where it means nothing, such as data beside a valid of 0
};

/// A run of the core, from power-up on, and what its memories hold when it ends.
struct PinTrace {
  std::vector<PortPlace> inputs, outputs;
  std::vector<PinRecord> records;
  std::vector<uint64_t> vmem;       ///< granules of 8 bytes
  std::vector<uint8_t> vmem_check;  ///< of each granule
  std::vector<uint32_t> acc;        ///< row after row, N lanes each
  std::vector<uint8_t> acc_check;
};

/// The RTL core of nano, which writes into `trace` all that it does until it ends. `trace` outlives it. nullptr and a
/// message in `error`: another preset, or the wave file does not open.
[[nodiscard]] std::unique_ptr<core::TensorCore> make_traced_core(const spec::Chip& chip, core::MemoryBus& bus,
                                                                 const core::CoreOptions& options, std::string& error,
                                                                 PinTrace& trace);

}  // namespace weft::gates
