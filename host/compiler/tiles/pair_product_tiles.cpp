// Products of two computed matrices. w is rounded into weight tiles of its own; of x and of the result the rows stay
// where they are, so a product is cut where x's chunks are.
#include <fmt/format.h>

#include <algorithm>

#include "host/compiler/command_graph/unit_times.hpp"
#include "host/compiler/tiles/chunk_copies.hpp"
#include "host/compiler/tiles/tile_builder.hpp"

namespace weft::compiler::tiles {
namespace {

constexpr uint64_t kLoadCycles = 1024;  // of memory, of a load of weights, at least, if there are so many

}  // namespace

Matrix TileBuilder::new_weights(uint64_t rows, uint64_t columns, uint64_t batch) {
  const uint64_t k = rows / batch;
  Matrix weights{.rows = rows, .columns = columns, .dtype = WEFT_VPU_DTYPE_BF16, .row_words = 1, .block_words = k};
  for (uint64_t b = 0; b < batch; b++) {
    weights.row_chunks.push_back({b * k, k});
    weights.chunks.push_back(graph_.add_buffer(command_graph::BufferSpace::kVmem, blocks(columns) * k));
  }
  return weights;
}

Matrix TileBuilder::as_weights(Matrix& w, uint64_t batch, const std::string& name) {
  const uint64_t k = w.rows / batch;
  const bool rounded = w.dtype == WEFT_VPU_DTYPE_BF16;
  if (rounded && w.row_words == 1 && w.block_words == k && w.chunks.size() == batch) {
    const uint64_t block_cycles = std::max<uint64_t>(1, command_graph::hbm_cycles(chip_, k * chip_.word_bytes));
    const uint64_t together = std::max<uint64_t>(1, kLoadCycles / block_cycles);
    for (uint64_t chunk = 0; chunk < batch; chunk++)
      for (uint64_t block = 0; block < blocks(w.columns); block += together)
        need(w, chunk, {block, std::min(together, blocks(w.columns) - block)});
    return w;
  }
  Matrix weights = new_weights(w.rows, w.columns, batch);
  const uint16_t tag = program_.tag(name + " weights");
  for (uint64_t chunk = 0; chunk < w.chunks.size(); chunk++) {
    need(w, chunk, {0, blocks(w.columns)});
    const Span rows = w.row_chunks[chunk];
    for (uint64_t r = rows.first; r < rows.first + rows.count;) {
      const uint64_t b = r / k, count = std::min(rows.first + rows.count, (b + 1) * k) - r;
      for (uint64_t block = 0; block < blocks(w.columns); block++) {
        spec::VpuCommand c;
        c.header.opcode = rounded ? WEFT_OPCODE_ELEMENTWISE : WEFT_OPCODE_CAST;
        c.header.tag = tag;
        c.src_dtype = static_cast<uint8_t>(w.dtype), c.dst_dtype = WEFT_VPU_DTYPE_BF16;
        c.rows = static_cast<uint16_t>(count), c.cols = static_cast<uint16_t>(lanes(w.columns, block));
        c.a_addr = static_cast<uint32_t>((r - rows.first) * w.row_words + block * w.block_words);
        c.a_stride = static_cast<uint32_t>(w.row_words);
        c.d_addr = static_cast<uint32_t>(block * k + r - b * k), c.d_stride = 1;
        graph_.vector(c, w.chunks[chunk], command_graph::kNoBuffer, weights.chunks[b]);
      }
      r += count;
    }
  }
  return weights;
}

Matrix TileBuilder::pair_product(Matrix& x, const Matrix& weights, weft_vpu_dtype dtype, const std::string& name) {
  const uint64_t m = x.rows / weights.chunks.size(), n = weights.columns;
  Matrix y = new_matrix(x.rows, n, dtype);
  for (uint64_t chunk = 0; chunk < x.chunks.size(); chunk++) {
    need(x, chunk, {0, blocks(x.columns)});
    const Span rows = x.row_chunks[chunk];
    for (uint64_t r = rows.first; r < rows.first + rows.count;) {
      const uint64_t b = r / m, count = std::min(rows.first + rows.count, (b + 1) * m) - r;
      for (uint64_t block = 0; block < blocks(n); block++) {
        const BufferId sums = graph_.add_buffer(command_graph::BufferSpace::kAcc, count);
        spec::MxuCommand c;
        c.header.opcode = WEFT_OPCODE_MATMUL;
        c.header.tag = program_.tag(fmt::format("{} rows {}.. columns {}..", name, r, block * chip_.n));
        c.x_row_stride = static_cast<uint32_t>(x.row_words), c.x_tile_stride = 1;
        c.w_tile_stride = chip_.n;
        c.m = static_cast<uint16_t>(count), c.cols = static_cast<uint16_t>(lanes(n, block));
        c.dtype = WEFT_MXU_DTYPE_BF16;
        // MXUs retire in the order of their queue: one long command would hold up the others' results.
        for (const Span& group : tile_groups(blocks(x.columns), count, false)) {
          c.x_addr = static_cast<uint32_t>((r - rows.first) * x.row_words + group.first);
          c.w_addr = static_cast<uint32_t>(block * weights.block_words + group.first * chip_.n);
          c.k = static_cast<uint32_t>(std::min(group.count * chip_.n, x.columns - group.first * chip_.n));
          c.seed = group.first == 0 ? WEFT_MXU_SEED_ZERO : WEFT_MXU_SEED_KEEP;
          graph_.product(c, x.chunks[chunk], weights.chunks[b], sums);
        }
        spec::VpuCommand e;
        e.header.opcode = WEFT_OPCODE_EPILOGUE;
        e.header.tag = c.header.tag;
        e.src_space = WEFT_VPU_SPACE_ACC;
        e.src_dtype = WEFT_VPU_DTYPE_F32, e.dst_dtype = static_cast<uint8_t>(dtype);
        e.rows = c.m, e.cols = c.cols, e.a_stride = 1;
        e.d_addr = static_cast<uint32_t>((r - rows.first) * y.row_words + block * y.block_words);
        e.d_stride = static_cast<uint32_t>(y.row_words);
        graph_.vector(e, sums, command_graph::kNoBuffer, y.chunks[chunk]);
      }
      r += count;
    }
  }
  program_.note_macs(x.rows * x.columns * n);
  return y;
}

}  // namespace weft::compiler::tiles
