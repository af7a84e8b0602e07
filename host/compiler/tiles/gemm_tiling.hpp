/// Cuts a matrix product into what VMEM and ACC hold at a time.
#pragma once
#include <cstdint>
#include <vector>

#include "host/compiler/result.hpp"
#include "host/compiler/step.hpp"
#include "weft/spec/chips.hpp"

namespace weft::compiler {

/// A range of rows, of K tiles.
struct Span {
  uint64_t first = 0;
  uint64_t count = 0;

  bool operator==(const Span&) const = default;
};

/// The plan of one DenseStep. Sizes in VMEM words unless the name says otherwise.
///
/// Output blocks are (row chunk, column block), rows outermost; a block's sums stay in one ACC bank while K streams
/// by. The first row chunk has N rows and the last about N, so that neither the first load nor the last store stands
/// alone for long; those between have up to 2 N, so that the weights of the next tile have twice the time they need.
/// Where HBM brings the weights of the first chunk more slowly than N rows use them, it has 2 N rows too.
/// A tile takes max(rows, L N) cycles: from a PE latency L of 3 on, chunks are as few as 4 N rows each allow, and
/// equal.
///
/// Results leave by groups of column blocks: a store takes HBM's write latency however small it is, so blocks that are
/// computed faster than stores of one block can follow each other lie side by side in a slot and leave together.
struct GemmTiling {
  uint64_t tile_k = 0;         ///< k values of a weight tile
  uint64_t tiles = 0;          ///< K tiles
  uint64_t column_blocks = 0;  ///< blocks of N columns
  std::vector<Span> row_chunks;
  std::vector<Span> k_chunks;  ///< in tiles; one if all of K fits
  uint64_t x_row_stride =
      0;  ///< of a chunk of x in VMEM: banks - 1 (mod banks), so that x and weights never meet in a bank twice
  uint64_t x_slots = 2, x_slot_words = 0;
  bool weights_resident = false;  ///< all of W stays in VMEM; otherwise chunks stream through slots
  uint64_t weight_slots = 0, weight_slot_words = 0;
  bool bias_resident = false;  ///< all bias rows loaded at once; otherwise a slot a block
  uint64_t bias_slots = 0;
  uint64_t acc_blocks = 1;    ///< blocks that one ACC bank holds at a time
  uint64_t store_blocks = 1;  ///< column blocks of a store, side by side in its slot
  uint64_t output_row_words = 1, output_slot_words = 0;
  uint64_t words_used = 0;
};

/// NO_DEVICE_MEMORY if even the smallest plan does not fit `vmem_words`; the message gives both sizes.
[[nodiscard]] Result<GemmTiling> plan_gemm(const spec::Chip& chip, const DenseStep& step, uint64_t vmem_words);

/// Column blocks of a store: as few as let two channels of DMA, each busy for HBM's write latency and the transfer, keep
/// up with the blocks. `rows`: of a block, each of `row_words`.
[[nodiscard]] uint64_t blocks_of_store(const spec::Chip& chip, uint64_t tiles, uint64_t column_blocks, uint64_t rows,
                                       uint64_t row_words);

/// The smallest stride >= tiles that is banks - 1 modulo banks: rows of x then walk the banks downwards like the
/// weights do.
[[nodiscard]] uint64_t conflict_free_stride(uint64_t tiles, uint64_t banks);

/// Cuts `total` rows into chunks. PE latency 1 and 2: of `first_rows` (the first; 0: N; at most 2 N) to 2 N rows; a
/// total below 2 N is one chunk. Else: of up to 4 N rows, as few and as equal as that allows.
[[nodiscard]] std::vector<Span> cut_rows(const spec::Chip& chip, uint64_t total, uint64_t first_rows = 0);

}  // namespace weft::compiler
