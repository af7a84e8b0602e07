// Loads on demand, elementwise operators and stores; products stand in product_tiles.cpp.
#include "host/compiler/tiles/tile_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/round_up.hpp"
#include "host/compiler/tiles/chunk_copies.hpp"

namespace weft::compiler::tiles {
namespace {

constexpr uint64_t kApartShare = 32;
constexpr uint64_t kMostWeightRows = 2048;  // of one load
constexpr uint64_t kManyChunks = 8;         // of N rows
constexpr uint64_t kMostGroups = 128;       // of sublanes, of one command over several blocks of columns
constexpr uint64_t kColumnBlocks = 8;       // of columns, that make a column of values worth its TRANSPOSE

/// Words from one row of two-word elements to the next, at least `words`, so that the rows of a group of the vector
/// unit lie in different banks. Not a whole round of banks: what is read would meet what is written.
uint64_t sublane_stride(const spec::Chip& chip, uint64_t words) {
  const uint64_t apart = chip.vmem_banks / std::max(chip.vpu_sublanes, 2U);
  while (std::gcd(words, uint64_t{chip.vmem_banks}) > apart) words += 2;
  return words;
}

}  // namespace

std::vector<Span> row_chunks(const spec::Chip& chip, uint64_t rows) {
  if (chip.num_mxu == 1 && chip.pe_latency <= 2 && rows > 4 * kManyChunks * chip.n) return cut_rows(chip, rows);
  // Of many rows twice as many: weights then have time to meet others in a bank.
  const bool many = chip.num_mxu > 1 ? rows >= kManyChunks / 2 * chip.n : rows > kManyChunks * chip.n;
  const uint64_t least = std::max<uint64_t>(chip.pe_latency, many ? 2 : 1) * chip.n;
  const uint64_t count = std::max<uint64_t>(rows / least, (rows + chip.acc_bank_rows - 1) / chip.acc_bank_rows);
  std::vector<Span> chunks;
  for (uint64_t i = 0, parts = std::max<uint64_t>(count, 1); i < parts; i++) {
    const uint64_t first = rows * i / parts;
    chunks.push_back({first, rows * (i + 1) / parts - first});
  }
  return chunks;
}

/// A product alone has no operator behind it that could begin with the first rows.
std::vector<Span> TileBuilder::chunks_of(uint64_t rows) const {
  auto chunks = one_product_ && chip_.num_mxu == 1 ? cut_rows(chip_, rows) : row_chunks(chip_, rows);
  const auto limit = most_rows_.find(rows);
  if (limit == most_rows_.end() || std::ranges::max(chunks, {}, &Span::count).count <= limit->second) return chunks;
  chunks.clear();
  for (uint64_t first = 0; first < rows; first += limit->second)
    chunks.push_back({first, std::min(limit->second, rows - first)});
  return chunks;
}

Matrix TileBuilder::new_matrix(uint64_t rows, uint64_t columns, weft_vpu_dtype dtype) {
  return new_matrix(columns, dtype, chunks_of(rows));
}

Matrix TileBuilder::new_matrix(uint64_t columns, weft_vpu_dtype dtype, std::vector<Span> chunks, Blocks lie) {
  const uint64_t rows = chunks.back().first + chunks.back().count;
  Matrix matrix{.rows = rows, .columns = columns, .dtype = dtype};
  if (dtype != WEFT_VPU_DTYPE_BF16 && chip_.vpu_sublanes > 1 && lie == Blocks::kBehind) {
    // A group of rows is consecutive words, whichever operands are read beside each other.
    uint64_t most = 0;
    for (const Span& chunk : chunks) most = std::max(most, chunk.count);
    matrix.row_words = row_words(dtype);
    matrix.block_words = round_up(most, uint64_t{chip_.vpu_sublanes}) * matrix.row_words;
    matrix.row_chunks = std::move(chunks);
    for (size_t i = 0; i < matrix.row_chunks.size(); i++)
      matrix.chunks.push_back(
          graph_.add_buffer(command_graph::BufferSpace::kVmem, blocks(columns) * matrix.block_words));
    return matrix;
  }
  const uint64_t words = blocks(columns) * row_words(dtype);
  // Rows that the MXU reads walk the banks downwards, as weights do; rows of f32 and i32 begin at even words.
  // Where that would take much of VMEM for rows of few words, they lie side by side.
  const uint64_t apart = conflict_free_stride(words, chip_.vmem_banks);
  const bool dense = apart >= 2 * words && rows * apart > chip_.vmem_words / kApartShare;
  matrix.row_words = dtype != WEFT_VPU_DTYPE_BF16 ? sublane_stride(chip_, words) : dense ? words : apart;
  matrix.block_words = row_words(dtype);
  matrix.row_chunks = std::move(chunks);
  for (const Span& chunk : matrix.row_chunks)
    matrix.chunks.push_back(graph_.add_buffer(command_graph::BufferSpace::kVmem, chunk.count * matrix.row_words));
  return matrix;
}

Matrix TileBuilder::new_uniform(uint64_t rows, uint64_t columns, weft_vpu_dtype dtype) {
  Matrix matrix = new_matrix(rows, 1, dtype);
  matrix.columns = columns, matrix.block_words = 0;
  return matrix;
}

Matrix TileBuilder::lying_at(Matrix matrix, const TensorPlace& place) const {
  matrix.source = place;
  matrix.loaded.assign(matrix.chunks.size(), std::vector<uint8_t>(blocks(matrix.columns)));
  return matrix;
}

Matrix TileBuilder::from_memory(uint64_t rows, uint64_t columns, weft_vpu_dtype dtype, const TensorPlace& place,
                                Blocks lie) {
  return lying_at(new_matrix(columns, dtype, chunks_of(rows), lie), place);
}

Matrix TileBuilder::weights_from_memory(uint64_t rows, uint64_t columns, uint64_t batch, weft_vpu_dtype dtype,
                                        const TensorPlace& place) {
  const uint64_t k = rows / batch;
  if (k > kMostWeightRows) return from_memory(rows, columns, dtype, place);
  if (dtype == WEFT_VPU_DTYPE_BF16) return lying_at(new_weights(rows, columns, batch), place);
  std::vector<Span> chunks;
  for (uint64_t b = 0; b < batch; b++) chunks.push_back({b * k, k});
  return lying_at(new_matrix(columns, dtype, std::move(chunks), Blocks::kBeside), place);
}

/// Columns from .. end - 1 of a matrix as runs that one command of a DMA has: first column, columns, and how many
/// blocks of so many.
template <typename F>
void TileBuilder::for_each_run(const Matrix& matrix, uint64_t from, uint64_t end, F run) const {
  if (matrix.block_words == row_words(matrix.dtype)) return run(from, end - from, 1);
  const uint64_t whole = (end - from) / chip_.n;
  if (whole != 0) run(from, chip_.n, whole);
  if (const uint64_t rest = from + whole * chip_.n; rest != end) run(rest, end - rest, 1);
}

void TileBuilder::need(Matrix& matrix, uint64_t chunk, Span column_blocks) {
  if (!matrix.source) return;
  auto& loaded = matrix.loaded[chunk];
  const uint64_t end = column_blocks.first + column_blocks.count;
  for (uint64_t first = column_blocks.first; first < end;) {
    const void* missing = std::memchr(&loaded[first], 0, end - first);  // most are there: a call for each product
    if (missing == nullptr) return;
    first = static_cast<uint64_t>(static_cast<const uint8_t*>(missing) - loaded.data());
    uint64_t next = first;
    while (next < end && loaded[next] == 0) next++;
    std::fill(loaded.begin() + static_cast<ptrdiff_t>(first), loaded.begin() + static_cast<ptrdiff_t>(next),
              uint8_t{1});
    const Span rows = matrix.row_chunks[chunk];
    const uint64_t element = vpu_element_bytes(matrix.dtype), from = first * chip_.n;
    const uint16_t tag = program_.tag(fmt::format("load rows {}.. columns {}..", rows.first, from));
    for_each_run(matrix, from, std::min(next * chip_.n, matrix.columns),
                 [&](uint64_t column, uint64_t columns, uint64_t times) {
                   TensorPlace place = *matrix.source;
                   place.offset_bytes += column * element;
                   auto load = chunk_load(chip_, tag, place, rows.first, rows.count, columns * element,
                                          column / chip_.n * matrix.block_words, matrix.row_words);
                   if (times > 1) {
                     load.size2 = static_cast<uint16_t>(times);
                     load.src_stride2 = static_cast<int32_t>(columns * element);
                     load.dst_stride2 = static_cast<int32_t>(matrix.block_words * chip_.word_bytes);
                   }
                   program_.note_hbm_bytes(uint64_t{load.size0} * load.size1 * load.size2);
                   graph_.load(load, matrix.chunks[chunk]);
                 });
    first = next;
  }
}

void TileBuilder::load_all(Matrix& matrix) {
  for (uint64_t chunk = 0; chunk < matrix.chunks.size(); chunk++) need(matrix, chunk, {0, blocks(matrix.columns)});
}

/// How many blocks of columns of a chunk lie one behind the other without a gap, all lanes of which count.
uint64_t TileBuilder::joined_blocks(const Matrix& matrix, uint64_t chunk) const {
  const uint64_t rows = matrix.row_chunks[chunk].count, words = row_words(matrix.dtype);
  const bool gapless = matrix.row_words == words && matrix.block_words == rows * words;
  return gapless && matrix.columns % chip_.n == 0
             ? std::clamp<uint64_t>(kMostGroups * chip_.vpu_sublanes / rows, 1, blocks(matrix.columns))
             : 1;
}

Matrix TileBuilder::elementwise(Matrix& a, const Elementwise& by) {
  Matrix d = by.uniform ? new_uniform(a.rows, a.columns, by.dtype) : new_matrix(a.rows, a.columns, by.dtype);
  // Only f32 is rounded to bf16 by the operation itself.
  const bool rounds = a.dtype == WEFT_VPU_DTYPE_F32 && by.dtype == WEFT_VPU_DTYPE_BF16;
  const bool cast = by.dtype != a.dtype && !rounds;
  // The operation's result before its cast.
  Matrix before = cast ? new_matrix(a.rows, a.columns, a.dtype) : d;
  Matrix* b = by.b;
  // What is the same in all lanes of a row is read once for N rows, so that the MXUs meet fewer reads.
  const bool column = by.b_mode == WEFT_VPU_B_MODE_TENSOR && b->block_words == 0 && chip_.vpu_sublanes > 1 &&
                      !by.uniform && blocks(a.columns) >= kColumnBlocks;
  for (uint64_t chunk = 0; chunk < a.chunks.size(); chunk++) {
    need(a, chunk, {0, blocks(a.columns)});
    if (b != nullptr) need(*b, by.b_mode == WEFT_VPU_B_MODE_ROW ? 0 : chunk, {0, blocks(a.columns)});
    const uint16_t tag = program_.tag(fmt::format("{} rows {}..", by.name, a.row_chunks[chunk].first));
    const BufferId b_buffer = b == nullptr ? command_graph::kNoBuffer
                              : column     ? column_of(*b, chunk, tag)
                                           : b->chunks[by.b_mode == WEFT_VPU_B_MODE_ROW ? 0 : chunk];
    const uint64_t count = by.uniform ? 1 : blocks(a.columns), rows = a.row_chunks[chunk].count;
    uint64_t joined =
        by.b_mode == WEFT_VPU_B_MODE_ROW ? 1 : std::min(joined_blocks(a, chunk), joined_blocks(before, chunk));
    if (by.b_mode == WEFT_VPU_B_MODE_TENSOR) joined = std::min(joined, joined_blocks(*b, chunk));
    for (uint64_t block = 0, some = 0; block < count; block += some) {
      some = std::min(joined, count - block);
      spec::VpuCommand c;
      c.header.opcode = WEFT_OPCODE_ELEMENTWISE;
      c.header.tag = tag;
      c.op = static_cast<uint8_t>(by.op);
      c.src_dtype = static_cast<uint8_t>(a.dtype), c.dst_dtype = static_cast<uint8_t>(before.dtype);
      c.rows = static_cast<uint16_t>(some * rows);
      c.cols = static_cast<uint16_t>(lanes(a.columns, block));
      c.a_addr = static_cast<uint32_t>(block * a.block_words), c.a_stride = static_cast<uint32_t>(a.row_words);
      c.b_mode = static_cast<uint8_t>(column ? WEFT_VPU_B_MODE_COLUMN : by.b_mode);
      if (b != nullptr) c.b_addr = static_cast<uint32_t>(block * b->block_words);
      if (by.b_mode == WEFT_VPU_B_MODE_TENSOR)
        c.b_stride = static_cast<uint32_t>(column ? row_words(b->dtype) : b->row_words);
      c.scalar = by.scalar, c.scalar2 = by.scalar2;
      c.d_addr = static_cast<uint32_t>(block * before.block_words),
      c.d_stride = static_cast<uint32_t>(before.row_words);
      graph_.vector(c, a.chunks[chunk], b_buffer, before.chunks[chunk]);
      for (uint64_t i = block; cast && i < block + some; i++) cast_block(before, chunk, i, d, c.header.tag);
    }
  }
  return d;
}

BufferId TileBuilder::column_of(const Matrix& uniform, uint64_t chunk, uint16_t tag) {
  const uint64_t rows = uniform.row_chunks[chunk].count, words = row_words(uniform.dtype);
  const BufferId column = graph_.add_buffer(command_graph::BufferSpace::kVmem, (rows + chip_.n - 1) / chip_.n * words);
  for (uint64_t first = 0; first < rows; first += chip_.n) {
    spec::VpuCommand c;
    c.header.opcode = WEFT_OPCODE_TRANSPOSE;
    c.header.tag = tag;
    c.src_dtype = c.dst_dtype = static_cast<uint8_t>(uniform.dtype);
    c.rows = static_cast<uint16_t>(std::min<uint64_t>(chip_.n, rows - first)), c.cols = 1;
    c.a_addr = static_cast<uint32_t>(first * uniform.row_words), c.a_stride = static_cast<uint32_t>(uniform.row_words);
    c.d_addr = static_cast<uint32_t>(first / chip_.n * words);
    graph_.vector(c, uniform.chunks[chunk], command_graph::kNoBuffer, column);
  }
  return column;
}

void TileBuilder::cast_block(const Matrix& a, uint64_t chunk, uint64_t block, const Matrix& d, uint16_t tag,
                             uint64_t joined) {
  spec::VpuCommand c;
  c.header.opcode = WEFT_OPCODE_CAST;
  c.header.tag = tag;
  c.src_dtype = static_cast<uint8_t>(a.dtype), c.dst_dtype = static_cast<uint8_t>(d.dtype);
  c.rows = static_cast<uint16_t>(joined * a.row_chunks[chunk].count);
  c.cols = static_cast<uint16_t>(lanes(a.columns, block));
  c.a_addr = static_cast<uint32_t>(block * a.block_words), c.a_stride = static_cast<uint32_t>(a.row_words);
  c.d_addr = static_cast<uint32_t>(block * d.block_words), c.d_stride = static_cast<uint32_t>(d.row_words);
  graph_.vector(c, a.chunks[chunk], command_graph::kNoBuffer, d.chunks[chunk]);
}

Matrix TileBuilder::cast(Matrix& a, weft_vpu_dtype dtype, const std::string& name) {
  Matrix d = new_matrix(a.rows, a.columns, dtype);
  for (uint64_t chunk = 0; chunk < a.chunks.size(); chunk++) {
    need(a, chunk, {0, blocks(a.columns)});
    const uint16_t tag = program_.tag(fmt::format("{} rows {}..", name, a.row_chunks[chunk].first));
    const uint64_t count = blocks(a.columns), joined = std::min(joined_blocks(a, chunk), joined_blocks(d, chunk));
    for (uint64_t block = 0; block < count; block += joined)
      cast_block(a, chunk, block, d, tag, std::min(joined, count - block));
  }
  return d;
}

Matrix TileBuilder::bits_as(Matrix& a, weft_vpu_dtype dtype) {
  for (uint64_t chunk = 0; chunk < a.chunks.size(); chunk++) need(a, chunk, {0, blocks(a.columns)});
  Matrix d = a;
  d.dtype = dtype;
  d.source.reset(), d.loaded.clear();
  return d;
}

std::vector<spec::DmaCommand> TileBuilder::stores_of(const Matrix& from, uint64_t chunk, const TensorPlace& to,
                                                     Span column_blocks, uint16_t tag) const {
  const uint64_t first = column_blocks.first * chip_.n, element = vpu_element_bytes(from.dtype),
                 end = std::min((column_blocks.first + column_blocks.count) * chip_.n, from.columns);
  std::vector<spec::DmaCommand> stores;
  for_each_run(from, first, end, [&](uint64_t column, uint64_t columns, uint64_t times) {
    TensorPlace place = to;
    place.offset_bytes += (column - first) * element;
    auto store = chunk_store(chip_, tag, place, from.row_chunks[chunk].first, from.row_chunks[chunk].count,
                             columns * element, column / chip_.n * from.block_words, from.row_words);
    if (times > 1) {
      store.size2 = static_cast<uint16_t>(times);
      store.src_stride2 = static_cast<int32_t>(from.block_words * chip_.word_bytes);
      store.dst_stride2 = static_cast<int32_t>(columns * element);
    }
    stores.push_back(store);
  });
  return stores;
}

void TileBuilder::store_blocks(const Matrix& from, uint64_t chunk, const TensorPlace& to, Span column_blocks,
                               uint16_t tag) {
  TensorPlace first = to;
  first.offset_bytes += column_blocks.first * chip_.n * vpu_element_bytes(from.dtype);
  for (const auto& store : stores_of(from, chunk, first, column_blocks, tag)) {
    program_.note_hbm_bytes(uint64_t{store.size0} * store.size1 * store.size2);
    graph_.store(store, from.chunks[chunk]);
  }
}

void TileBuilder::store(const Matrix& from, const TensorPlace& to, const std::string& name) {
  for (uint64_t chunk = 0; chunk < from.chunks.size(); chunk++)
    store_blocks(from, chunk, to, {0, blocks(from.columns)},
                 program_.tag(fmt::format("{} store rows {}..", name, from.row_chunks[chunk].first)));
}

BufferId TileBuilder::load_row(const TensorPlace& from, uint64_t bytes, const std::string& name) {
  const BufferId buffer =
      graph_.add_buffer(command_graph::BufferSpace::kVmem, round_up(bytes, chip_.word_bytes) / chip_.word_bytes);
  graph_.load(chunk_load(chip_, program_.tag(name), from, 0, 1, bytes, 0, 0), buffer);
  program_.note_hbm_bytes(bytes);
  return buffer;
}

}  // namespace weft::compiler::tiles
