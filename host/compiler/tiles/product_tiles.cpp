// Products: row chunk by row chunk, so that the next operator begins with the first one while this one goes on with the
// second. Of a chunk, output blocks in waves of as many column blocks as there are MXUs, K group by K group, so that
// the MXUs run side by side on the same rows of x. Weights are loaded for the first chunk and stay for the others.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/round_up.hpp"
#include "host/compiler/command_graph/unit_times.hpp"
#include "host/compiler/tiles/chunk_copies.hpp"
#include "host/compiler/tiles/tile_builder.hpp"

namespace weft::compiler::tiles {
namespace {

constexpr uint64_t kFineCycles = 256, kCoarseCycles = 512;  // of a MATMUL
constexpr uint64_t kStoreBlocks = 2;
constexpr uint64_t kFewRows = 4;        // up to N by so much, memory is what a product waits for
constexpr uint64_t kLoadCycles = 1024;  // of memory, of a load of weights for few rows
constexpr uint64_t kFirstTiles = 2;     // of the first load: runs of x are two words then

}  // namespace

/// Tiles of weights that memory brings in so many cycles.
uint64_t TileBuilder::tiles_in(uint64_t cycles) const {
  return cycles / std::max<uint64_t>(1, command_graph::hbm_cycles(chip_, uint64_t{chip_.n} * chip_.word_bytes));
}

/// How many tiles a load has where few rows are multiplied: there are only so many loads under way, and what they have
/// brought lasts until the next product, however long the operators between take. Before the first product: one by one.
uint64_t TileBuilder::tiles_of_load(uint64_t rows) const {
  if (!begun_ || rows * kFewRows > chip_.n) return 1;
  return tiles_in(kLoadCycles);
}

/// `first`: nothing goes on while the first ones come, so these are small, and each at most half of all before it.
std::vector<Span> TileBuilder::tile_groups(uint64_t tiles, uint64_t rows, bool fine, bool first) const {
  const uint64_t tile_cycles = std::max<uint64_t>(rows, uint64_t{chip_.pe_latency} * chip_.n);
  uint64_t size = std::max<uint64_t>(one_product_ && chip_.num_mxu == 1 ? kFirstTiles : 1,
                                     (fine ? kFineCycles : kCoarseCycles) / tile_cycles);
  if (const uint64_t most = tiles_of_load(rows); most > size) {
    const uint64_t parts = (tiles + most - 1) / most;
    size = (tiles + parts - 1) / parts;
  }
  if (first) size = std::max(size, kFirstTiles);
  std::vector<Span> groups;
  for (uint64_t done = 0; done < tiles;) {
    const uint64_t most = first ? std::min(size, std::max(done / 2, kFirstTiles)) : size;
    groups.push_back({done, std::min(most, tiles - done)});
    done += groups.back().count;
  }
  return groups;
}

/// Row chunks that go on with the weights of a wave while those of the next one come.
uint64_t TileBuilder::chunks_ahead(const Matrix& x) const {
  const uint64_t rows = std::max<uint64_t>(x.row_chunks.front().count, uint64_t{chip_.pe_latency} * chip_.n);
  const uint64_t load = command_graph::hbm_cycles(chip_, uint64_t{chip_.n} * chip_.word_bytes * chip_.num_mxu);
  return std::clamp<uint64_t>((load + rows - 1) / rows, 1, x.chunks.size());
}

/// `words` of a column block's weights from tile `first_tile` on, and of those behind it.
void TileBuilder::load_weights(const Product& by, uint64_t block, uint64_t first_tile, uint64_t words, uint64_t tiles,
                               const WeightTiles& to) {
  spec::DmaCommand load;
  load.header.opcode = WEFT_OPCODE_COPY;
  load.header.tag = program_.tag(fmt::format("{} weights columns {}..", by.name, block * chip_.n));
  load.src_seg = by.weights.segment;
  load.src_off = by.weights.offset_bytes + (block * tiles + first_tile) * chip_.n * chip_.word_bytes;
  load.dst_off = (to.word + (first_tile - to.tiles.first) * chip_.n) * chip_.word_bytes;
  load.size0 = static_cast<uint32_t>(words * chip_.word_bytes);
  program_.note_hbm_bytes(load.size0);
  graph_.load(load, to.buffer);
}

/// K tiles `group` of a column block, which are loaded if they have not been. What several row chunks or products
/// multiply by lies together, whatever groups each has; else each group has a buffer.
TileBuilder::WeightTiles& TileBuilder::need_weights(const Matrix& x, const Product& by, uint64_t block, Span group,
                                                    Weights& weights) {
  const uint64_t tiles = blocks(x.columns), end = group.first + group.count;
  const auto found = std::ranges::find_if(weights[block], [&](const WeightTiles& held) {
    return held.tiles.first <= group.first && end <= held.tiles.first + held.tiles.count;
  });
  if (found != weights[block].end()) {
    if (const uint64_t loaded = found->tiles.first + found->loaded; loaded < end) {
      load_weights(by, block, loaded, (end - loaded) * chip_.n, tiles, *found);
      found->loaded = end - found->tiles.first;
    }
    return *found;
  }
  const Span held = x.chunks.size() > 1 || by.again ? Span{0, tiles} : group;
  const uint64_t most = group.count == tiles ? std::max<uint64_t>(1, tiles_of_load(x.rows) / tiles) : 1;
  const uint64_t count = std::min(most, blocks(by.n) - block), loaded = end - held.first;
  const BufferId buffer = graph_.add_buffer(command_graph::BufferSpace::kVmem, count * held.count * chip_.n);
  for (uint64_t i = 0; i < count; i++) weights[block + i].push_back({held, loaded, buffer, i * held.count * chip_.n});
  load_weights(by, block, held.first, count * loaded * chip_.n, tiles, weights[block].back());
  return weights[block].back();
}

/// Sums of a block += K tiles `group`.
void TileBuilder::multiply(Matrix& x, uint64_t chunk, const Product& by, uint64_t block, Span group, Weights& weights,
                           BufferId sums) {
  // In a network few rows come before the weights, of a product alone behind the first ones.
  if (!one_product_ && x.rows * kFewRows <= chip_.n) need(x, chunk, group);
  const WeightTiles& by_tiles = need_weights(x, by, block, group, weights);
  for (uint64_t c = chunk; c < (chunk == 0 ? chunks_ahead(x) : chunk + 1); c++) need(x, c, group);
  spec::MxuCommand c;
  c.header.opcode = WEFT_OPCODE_MATMUL;
  c.header.tag =
      program_.tag(fmt::format("{} rows {}.. columns {}..", by.name, x.row_chunks[chunk].first, block * chip_.n));
  c.x_addr = static_cast<uint32_t>(group.first);
  c.x_row_stride = static_cast<uint32_t>(x.row_words), c.x_tile_stride = 1;
  c.w_addr = static_cast<uint32_t>(by_tiles.word + (group.first - by_tiles.tiles.first) * chip_.n);
  c.w_tile_stride = chip_.n;
  const uint64_t of_column = by.int8_k != 0 ? 2 : 1, k = by.int8_k != 0 ? by.int8_k : x.columns;
  c.k = static_cast<uint32_t>(std::min(group.count * chip_.n * of_column, k - group.first * chip_.n * of_column));
  c.m = static_cast<uint16_t>(x.row_chunks[chunk].count);
  c.cols = static_cast<uint16_t>(lanes(by.n, block));
  c.seed = group.first == 0 ? WEFT_MXU_SEED_ZERO : WEFT_MXU_SEED_KEEP;
  c.dtype = by.int8_k != 0 ? WEFT_MXU_DTYPE_INT8 : WEFT_MXU_DTYPE_BF16;
  graph_.product(c, x.chunks[chunk], by_tiles.buffer, sums);
}

/// Where a block's EPILOGUE has its rows, and how it makes bytes.
void TileBuilder::add_operands(spec::VpuCommand& c, const Product& by, uint64_t block) const {
  c.activation = static_cast<uint8_t>(by.activation);
  const auto row = static_cast<uint32_t>(2 * block);
  if (by.bias) c.b_mode = WEFT_VPU_B_MODE_ROW, c.b_addr = row;
  if (by.residual != nullptr) {
    c.b_mode = by.bias ? WEFT_VPU_B_MODE_RESIDUAL : WEFT_VPU_B_MODE_TENSOR;
    c.scalar2 = by.bias ? row : 0;
    c.b_stride = static_cast<uint32_t>(by.residual->row_words);
  }
  if (by.dtype != WEFT_VPU_DTYPE_I8) return;
  c.op = block % 2 == 0 ? WEFT_VPU_OP_NONE : WEFT_VPU_OP_UPPER;
  c.scalar = static_cast<uint32_t>(by.bytes.zero_point);
  c.scalar2 = by.scales ? row : std::bit_cast<uint32_t>(by.bytes.scale);
  if (by.scales) c.b_mode = WEFT_VPU_B_MODE_SCALED;
}

/// Bias, residual, activation and rounding of a block's sums.
void TileBuilder::finish(Matrix& y, uint64_t chunk, const Product& by, uint64_t block, BufferId sums,
                         const EpilogueRows& rows) {
  spec::VpuCommand c;
  c.header.opcode = WEFT_OPCODE_EPILOGUE;
  c.header.tag = program_.tag(
      fmt::format("{} epilogue rows {}.. columns {}..", by.name, y.row_chunks[chunk].first, block * chip_.n));
  c.src_space = WEFT_VPU_SPACE_ACC;
  c.src_dtype = by.int8_k != 0 ? WEFT_VPU_DTYPE_I32 : WEFT_VPU_DTYPE_F32, c.dst_dtype = static_cast<uint8_t>(by.dtype);
  c.rows = static_cast<uint16_t>(y.row_chunks[chunk].count);
  c.cols = static_cast<uint16_t>(lanes(by.n, block));
  c.a_stride = 1;
  add_operands(c, by, block);
  const uint64_t to = by.dtype == WEFT_VPU_DTYPE_I8 ? block / 2 : block;
  c.d_addr = static_cast<uint32_t>(((by.into ? by.into->first_block : 0) + to) * y.block_words),
  c.d_stride = static_cast<uint32_t>(y.row_words);
  if (by.residual == nullptr) return graph_.vector(c, sums, rows.bias, y.chunks[chunk], rows.scales);
  need(*by.residual, chunk, {0, blocks(by.n)});
  c.b_addr = static_cast<uint32_t>(block * by.residual->block_words);
  graph_.vector(c, sums, by.residual->chunks[chunk], y.chunks[chunk], rows.bias);
}

EpilogueRows TileBuilder::epilogue_rows(const Product& by) {
  EpilogueRows rows;
  if (by.bias) rows.bias = load_row(*by.bias, blocks(by.n) * 4ull * chip_.n, by.name + " bias");
  if (by.scales) rows.scales = load_row(*by.scales, round_up(by.n * 4, uint64_t{16}), by.name + " scales");
  return rows;
}

void TileBuilder::store_columns(const Matrix& y, uint64_t chunk, const Product& by, Span column_blocks) {
  store_blocks(y, chunk, *by.store, column_blocks,
               program_.tag(fmt::format("{} store rows {}.. columns {}..", by.name, y.row_chunks[chunk].first,
                                        column_blocks.first * chip_.n)));
}

Matrix TileBuilder::product(Matrix& x, const Product& by, bool last) {
  const uint64_t k = x.columns, tiles = blocks(k), column_blocks = blocks(by.n);
  Matrix y = by.into ? by.into->all
             : by.dtype == WEFT_VPU_DTYPE_I8
                 ? new_matrix(x.rows, (by.n + 1) / 2, WEFT_VPU_DTYPE_BF16)
                 : new_matrix(by.n, by.dtype, chunks_of(x.rows), by.store ? Blocks::kBeside : Blocks::kBehind);
  if (by.into) y.columns = by.n, y.first_block = by.into->first_block;
  const auto block_at = [&](uint64_t i) { return by.order.empty() ? i : by.order[i]; };
  const EpilogueRows rows = epilogue_rows(by);
  uint64_t most_rows = 0;
  for (const Span& chunk : x.row_chunks) most_rows = std::max(most_rows, chunk.count);
  Weights own(column_blocks);
  // Weights of another shape can be the same bytes at the same place (zeros), but their tiles are others.
  const std::array key{uint64_t{by.weights.segment}, by.weights.offset_bytes, tiles, column_blocks};
  Weights& weights = by.again ? kept_.try_emplace(key, own).first->second : own;
  const uint64_t of_wave = std::min<uint64_t>(kStoreBlocks, chip_.num_mxu);
  const uint64_t of_store =
      std::max(of_wave, blocks_of_store(chip_, tiles, column_blocks, most_rows, row_words(by.dtype)));
  for (uint64_t chunk = 0; chunk < x.chunks.size(); chunk++) {
    uint64_t stored = 0;
    for (uint64_t first = 0; first < column_blocks; first += chip_.num_mxu) {
      const Span wave{first, std::min<uint64_t>(chip_.num_mxu, column_blocks - first)};
      const bool fine = !by.again && (!begun_ || last);
      std::vector<BufferId> sums;
      for (uint64_t i = 0; i < wave.count; i++)
        sums.push_back(graph_.add_buffer(command_graph::BufferSpace::kAcc, x.row_chunks[chunk].count));
      const bool alone = !begun_ && chunk == 0 && first == 0 && x.rows * kFewRows > chip_.n;
      for (const Span& group : tile_groups(tiles, x.row_chunks[chunk].count, fine, alone))
        for (uint64_t i = 0; i < wave.count; i++) multiply(x, chunk, by, block_at(first + i), group, weights, sums[i]);
      for (uint64_t i = 0; i < wave.count; i++) finish(y, chunk, by, block_at(first + i), sums[i], rows);
      const uint64_t end = first + wave.count;
      while (by.store && (stored + of_store <= end || (end == column_blocks && stored < end))) {
        // Nothing hides the last ones.
        const bool hidden = chunk + 1 != x.chunks.size() || stored + of_store < column_blocks;
        const uint64_t count = std::min(hidden ? of_store : of_wave, end - stored);
        store_columns(y, chunk, by, {stored, count});
        stored += count;
      }
    }
  }
  begun_ = true;
  if (by.of_model) program_.note_macs(x.rows * (by.int8_k != 0 ? by.int8_k : k) * by.n);
  return y;
}

}  // namespace weft::compiler::tiles
