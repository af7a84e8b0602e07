/// A program that sends one block over every link of a chip, again and again: for tests of links.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "host/compiler/collectives/collective.hpp"
#include "host/compiler/executable/executable_writer.hpp"
#include "host/compiler/result.hpp"

namespace weft::compiler {

struct NeighborExchange {
  static constexpr uint32_t kPorts = 6;                   ///< +x, -x, +y, -y, +z, -z
  std::array<std::optional<uint32_t>, kPorts> neighbors;  ///< of this chip
  uint64_t block_bytes = 8192;                            ///< a multiple of 16
  uint32_t rounds = 32;                                   ///< times that each neighbour gets the block

  /// Where the block of round `round` lands that came in by `port`, in the second argument.
  [[nodiscard]] uint64_t offset(uint32_t port, uint32_t round) const {
    return (port * uint64_t{rounds} + round) * block_bytes;
  }
  [[nodiscard]] uint64_t received_bytes() const { return kPorts * uint64_t{rounds} * block_bytes; }
};

/// The kernel of one chip; all chips of the slice launch theirs together, with the same block and rounds. Arguments:
/// {input: the block; output: what came in, by port and round}. It begins with a BARRIER of all chips and ends when
/// every neighbour's last block is there. INVALID_ARGUMENT: a block that does not fit VMEM, is no multiple of 16, or no
/// rounds.
[[nodiscard]] Result<Kernel> compile_neighbor_exchange(const spec::Chip& chip, const SliceShape& slice,
                                                       const NeighborExchange& exchange);

}  // namespace weft::compiler
