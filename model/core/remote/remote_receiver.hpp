/// What arrives from other chips at a core's memory, whichever core it is.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "model/core/memory_bus.hpp"
#include "model/core/remote/remote_port.hpp"

namespace weft::core {

/// The core that receives.
struct Receiver {
  const spec::Chip& chip;
  const golden::SegmentTable& segments;  ///< only the command's destination is looked at
  uint32_t here;                         ///< its number in the slice, for faults
  MemoryBus& bus;
  uint64_t cycle;
  /// Writes or adds to VMEM, as the command's flags say: first byte, data.
  std::function<void(uint64_t, std::span<const std::byte>)> combine_vmem;
};

/// Checks the piece's command against the receiver's segment table and writes the piece, or nothing of it. `visible`
/// becomes the cycle in which the data are there; VMEM's ports are not delayed by them.
[[nodiscard]] std::optional<golden::Fault> receive_piece(const RemotePiece& piece, const Receiver& receiver,
                                                         uint64_t& visible);

}  // namespace weft::core
