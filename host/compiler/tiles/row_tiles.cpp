// Rows of a table in memory, by indices that lie in VMEM.
#include <algorithm>

#include "base/round_up.hpp"
#include "host/compiler/tiles/chunk_copies.hpp"
#include "host/compiler/tiles/tile_builder.hpp"

namespace weft::compiler::tiles {

/// The rows of a chunk of y, by indices from column `column` on: a GATHER for each piece of the indices that lies
/// together.
void TileBuilder::gather(Matrix& y, uint64_t chunk, const Matrix& indices, uint64_t column, const TableRows& by) {
  const Span rows = y.row_chunks[chunk];
  const uint64_t words = row_words(WEFT_VPU_DTYPE_I32);
  const bool together = indices.block_words == words;
  for (uint64_t done = 0, count = 0; done < rows.count; done += count) {
    const uint64_t at = column + done;
    count = together ? rows.count : std::min(rows.count - done, chip_.n - at % chip_.n);
    spec::IndexedCommand c;
    c.header.opcode = WEFT_OPCODE_GATHER;
    c.header.tag = program_.tag(by.name);
    c.src_seg = by.table.segment;
    c.src_off = by.table.offset_bytes;
    c.src_stride = static_cast<int32_t>(by.table.pitch_bytes);
    c.table_rows = static_cast<uint32_t>(by.table_rows);
    c.row_bytes = static_cast<uint32_t>(
        round_up(by.columns * vpu_element_bytes(by.dtype), uint64_t{WEFT_CORE_DMA_GRANULE_BYTES}));
    c.count = static_cast<uint16_t>(count);
    c.index_off =
        static_cast<uint32_t>(at / chip_.n * indices.block_words * chip_.word_bytes + at % chip_.n * sizeof(int32_t));
    c.dst_off = done * y.row_words * chip_.word_bytes;
    c.dst_stride = static_cast<int32_t>(y.row_words * chip_.word_bytes);
    program_.note_hbm_bytes(uint64_t{c.row_bytes} * c.count);
    graph_.gather(c, indices.chunks[0], y.chunks[chunk]);
  }
}

Matrix TileBuilder::rows_by(Matrix& indices, const TableRows& by) {
  need(indices, 0, {0, blocks(indices.columns)});
  const uint64_t rows = indices.columns, lanes = chip_.word_bytes / sizeof(int32_t);
  Matrix y = new_matrix(by.columns, by.dtype, chunks_of(rows), Blocks::kBeside);
  if (std::ranges::all_of(y.row_chunks, [&](const Span& chunk) { return chunk.first % lanes == 0; })) {
    for (uint64_t chunk = 0; chunk < y.chunks.size(); chunk++) gather(y, chunk, indices, y.row_chunks[chunk].first, by);
    return y;
  }
  // A command's indices begin with a word: those of each chunk move to blocks of their own.
  uint64_t most = 0;
  for (const Span& chunk : y.row_chunks) most = std::max(most, round_up(chunk.count, uint64_t{chip_.n}));
  std::vector<uint32_t> from(y.row_chunks.size() * most);
  for (uint64_t chunk = 0; chunk < y.row_chunks.size(); chunk++)
    for (uint64_t i = 0; i < most; i++)
      from[chunk * most + i] = static_cast<uint32_t>(std::min(y.row_chunks[chunk].first + i, rows - 1));
  const Matrix apart = rearrange({by.name, {&indices}, from, 1, from.size()});
  for (uint64_t chunk = 0; chunk < y.chunks.size(); chunk++) gather(y, chunk, apart, chunk * most, by);
  return y;
}

}  // namespace weft::compiler::tiles
