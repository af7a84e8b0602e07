// Products: row chunk by row chunk, so that the next operator begins with the first one while this one goes on with the
// second. Of a chunk, output blocks in waves of as many column blocks as there are MXUs, K group by K group, so that
// the MXUs run side by side on the same rows of x. Weights are loaded for the first chunk and stay for the others.
#include <fmt/format.h>

#include <algorithm>

#include "host/compiler/chunk_pipeline.hpp"
#include "host/compiler/command_graph/unit_times.hpp"
#include "host/compiler/tiles/tile_builder.hpp"

namespace weft::compiler::tiles {
namespace {

constexpr uint64_t kFineCycles = 256, kCoarseCycles = 512;  // of a MATMUL
constexpr uint64_t kStoreBlocks = 2;
constexpr uint64_t kChunksAhead = 4;    // row chunks of x that are loaded beside the first one
constexpr uint64_t kFewRows = 4;        // up to N by so much, memory is what a product waits for
constexpr uint64_t kLoadCycles = 1024;  // of memory, of a load of weights for few rows

}  // namespace

/// How many tiles a load has where few rows are multiplied: there are only so many loads under way, and what they have
/// brought lasts until the next product, however long the operators between take. Before the first product: one by one.
uint64_t TileBuilder::tiles_of_load(uint64_t rows) const {
  if (!begun_ || rows * kFewRows > chip_.n) return 1;
  return kLoadCycles / std::max<uint64_t>(1, command_graph::hbm_cycles(chip_, uint64_t{chip_.n} * chip_.word_bytes));
}

std::vector<Span> TileBuilder::tile_groups(uint64_t tiles, uint64_t rows, bool fine) const {
  const uint64_t tile_cycles = std::max<uint64_t>(rows, uint64_t{chip_.pe_latency} * chip_.n);
  uint64_t size = std::max<uint64_t>(1, (fine ? kFineCycles : kCoarseCycles) / tile_cycles);
  if (const uint64_t most = tiles_of_load(rows); most > size) {
    const uint64_t parts = (tiles + most - 1) / most;
    size = (tiles + parts - 1) / parts;
  }
  std::vector<Span> groups;
  for (uint64_t first = 0; first < tiles; first += size) groups.push_back({first, std::min(size, tiles - first)});
  return groups;
}

/// K tiles `group` of column blocks, which lie one behind the other.
void TileBuilder::load_weights(const Product& by, Span column_blocks, Span group, uint64_t tiles, Weights& weights) {
  const uint64_t words = column_blocks.count * group.count * chip_.n;
  const BufferId buffer = graph_.add_buffer(command_graph::BufferSpace::kVmem, words);
  spec::DmaCommand load;
  load.header.opcode = WEFT_OPCODE_COPY;
  load.header.tag = program_.tag(fmt::format("{} weights columns {}..", by.name, column_blocks.first * chip_.n));
  load.src_seg = by.weights.segment;
  load.src_off = by.weights.offset_bytes + (column_blocks.first * tiles + group.first) * chip_.n * chip_.word_bytes;
  load.size0 = static_cast<uint32_t>(words * chip_.word_bytes);
  program_.note_hbm_bytes(load.size0);
  graph_.load(load, buffer);
  for (uint64_t i = 0; i < column_blocks.count; i++)
    weights[column_blocks.first + i].push_back({group.first, buffer, i * group.count * chip_.n});
}

/// Sums of a block += K tiles `group`.
void TileBuilder::multiply(Matrix& x, uint64_t chunk, const Product& by, uint64_t block, Span group, Weights& weights,
                           BufferId sums) {
  const uint64_t tiles = blocks(x.columns);
  const auto loaded = [&] { return std::ranges::find(weights[block], group.first, &WeightGroup::first); };
  auto found = loaded();
  if (found == weights[block].end()) {
    // x of the first chunks comes with the first weights: what is there goes on while more weights come.
    for (uint64_t c = 0; c < std::min<uint64_t>(x.chunks.size(), kChunksAhead); c++) need(x, c, group);
    const bool whole = group.count == tiles;
    const uint64_t count = whole ? std::max<uint64_t>(1, tiles_of_load(x.rows) / tiles) : 1;
    load_weights(by, {block, std::min(count, blocks(by.n) - block)}, group, tiles, weights);
    found = loaded();
  }
  need(x, chunk, group);
  spec::MxuCommand c;
  c.header.opcode = WEFT_OPCODE_MATMUL;
  c.header.tag =
      program_.tag(fmt::format("{} rows {}.. columns {}..", by.name, x.row_chunks[chunk].first, block * chip_.n));
  c.x_addr = static_cast<uint32_t>(group.first);
  c.x_row_stride = static_cast<uint32_t>(x.row_words), c.x_tile_stride = 1;
  c.w_addr = static_cast<uint32_t>(found->word), c.w_tile_stride = chip_.n;
  c.k = static_cast<uint32_t>(std::min(group.count * chip_.n, x.columns - group.first * chip_.n));
  c.m = static_cast<uint16_t>(x.row_chunks[chunk].count);
  c.cols = static_cast<uint16_t>(lanes(by.n, block));
  c.seed = group.first == 0 ? WEFT_MXU_SEED_ZERO : WEFT_MXU_SEED_KEEP;
  c.dtype = WEFT_MXU_DTYPE_BF16;
  graph_.product(c, x.chunks[chunk], found->buffer, sums);
}

/// Bias, activation and rounding of a block's sums.
void TileBuilder::finish(Matrix& y, uint64_t chunk, const Product& by, uint64_t block, BufferId sums, BufferId bias) {
  spec::VpuCommand c;
  c.header.opcode = WEFT_OPCODE_EPILOGUE;
  c.header.tag = program_.tag(
      fmt::format("{} epilogue rows {}.. columns {}..", by.name, y.row_chunks[chunk].first, block * chip_.n));
  c.src_space = WEFT_VPU_SPACE_ACC;
  c.src_dtype = WEFT_VPU_DTYPE_F32, c.dst_dtype = static_cast<uint8_t>(by.dtype);
  c.rows = static_cast<uint16_t>(y.row_chunks[chunk].count);
  c.cols = static_cast<uint16_t>(lanes(by.n, block));
  c.a_stride = 1;
  if (by.bias) c.b_mode = WEFT_VPU_B_MODE_ROW, c.b_addr = static_cast<uint32_t>(2 * block);
  c.activation = static_cast<uint8_t>(by.activation);
  c.d_addr = static_cast<uint32_t>(block * y.block_words), c.d_stride = static_cast<uint32_t>(y.row_words);
  graph_.vector(c, sums, bias, y.chunks[chunk]);
}

/// The blocks of a wave, some side by side.
void TileBuilder::store_wave(const Matrix& y, uint64_t chunk, const Product& by, Span wave) {
  for (uint64_t i = 0; i < wave.count; i += kStoreBlocks) {
    const Span part{wave.first + i, std::min(kStoreBlocks, wave.count - i)};
    store_blocks(y, chunk, *by.store, part,
                 program_.tag(fmt::format("{} store rows {}.. columns {}..", by.name, y.row_chunks[chunk].first,
                                          part.first * chip_.n)));
  }
}

Matrix TileBuilder::product(Matrix& x, const Product& by, bool last) {
  const uint64_t k = x.columns, tiles = blocks(k), column_blocks = blocks(by.n);
  Matrix y = new_matrix(by.n, by.dtype, row_chunks(chip_, x.rows), by.store ? Blocks::kBeside : Blocks::kBehind);
  const BufferId bias =
      by.bias ? load_row(*by.bias, column_blocks * 4ull * chip_.n, by.name + " bias") : command_graph::kNoBuffer;
  uint64_t most_rows = 0;
  for (const Span& chunk : x.row_chunks) most_rows = std::max(most_rows, chunk.count);
  Weights own(column_blocks);
  // Weights of another shape can be the same bytes at the same place (zeros), but their tiles are others.
  const std::array key{uint64_t{by.weights.segment}, by.weights.offset_bytes, most_rows, tiles, column_blocks};
  Weights& weights = by.again ? kept_.try_emplace(key, own).first->second : own;
  for (uint64_t chunk = 0; chunk < x.chunks.size(); chunk++)
    for (uint64_t first = 0; first < column_blocks; first += chip_.num_mxu) {
      const Span wave{first, std::min<uint64_t>(chip_.num_mxu, column_blocks - first)};
      const bool fine = !by.again && (!begun_ || last);
      std::vector<BufferId> sums;
      for (uint64_t i = 0; i < wave.count; i++)
        sums.push_back(graph_.add_buffer(command_graph::BufferSpace::kAcc, x.row_chunks[chunk].count));
      for (const Span& group : tile_groups(tiles, most_rows, fine))
        for (uint64_t i = 0; i < wave.count; i++) multiply(x, chunk, by, first + i, group, weights, sums[i]);
      for (uint64_t i = 0; i < wave.count; i++) finish(y, chunk, by, first + i, sums[i], bias);
      if (by.store) store_wave(y, chunk, by, wave);
    }
  begun_ = true;
  if (by.of_model) program_.note_macs(x.rows * k * by.n);
  return y;
}

}  // namespace weft::compiler::tiles
