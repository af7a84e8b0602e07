/// Pieces of data on their way through a chip: loaded into VMEM, added, stored or sent, tile by tile.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "host/compiler/executable/program_builder.hpp"

namespace weft::compiler {

/// A place in a segment of this chip, or of another one.
struct TransferPlace {
  uint8_t segment = 0;
  uint64_t offset = 0;
};

/// Where data are read: at once, or when another chip's tile has arrived there.
struct TransferSource {
  TransferPlace place;
  uint8_t arrival = WEFT_NO_SEMAPHORE;  ///< posted once for each tile
  uint16_t at_once = 0;                 ///< not 0: posts that the first tile waits for, and the others for none
};

/// Where data go. `arrival`: semaphore of the other chip, or of this one if it is not remote.
struct TransferSink {
  TransferPlace place;
  std::optional<uint16_t> chip;  ///< none: this one
  uint8_t arrival = WEFT_NO_SEMAPHORE;
};

/// The sum of the sources, ((first + second) + third), goes to every sink. One to three sources.
struct Transfer {
  uint64_t bytes = 0;  ///< a multiple of 16
  std::vector<TransferSource> sources;
  std::vector<TransferSink> sinks;
};

/// Adds the commands of all transfers, in their order, to `program`: each queue does them one after the other, and a
/// tile is loaded while others are added and sent. Every load comes after `gate`, if there is one, has been posted.
/// `dtype`: of additions, f32, bf16 or i32. `at_once`: tiles between their load and their last sink. Uses semaphores 0 to 23, three for
/// each tile at once. UNSUPPORTED: more than 65535 tiles for one semaphore.
void schedule_transfers(ProgramBuilder& program, const std::vector<Transfer>& transfers, weft_vpu_dtype dtype,
                        std::optional<unsigned> gate, unsigned at_once);

inline constexpr unsigned kTilesAtOnce = 8, kTilesBesideProgram = 4;

/// What the VPU adds. None: it cannot.
[[nodiscard]] std::optional<weft_vpu_dtype> sum_dtype(weft_argument_dtype dtype);

/// Bytes of a tile; both ends of a transfer cut it the same way.
[[nodiscard]] uint64_t transfer_tile_bytes(const spec::Chip& chip);

}  // namespace weft::compiler
