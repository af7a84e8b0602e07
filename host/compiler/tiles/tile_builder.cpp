// Loads on demand, elementwise operators and stores; products stand in product_tiles.cpp.
#include "host/compiler/tiles/tile_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/round_up.hpp"
#include "host/compiler/chunk_pipeline.hpp"

namespace weft::compiler::tiles {
namespace {

constexpr uint64_t kApartShare = 32;
constexpr uint64_t kMostWeightRows = 2048;  // of one load
constexpr uint64_t kManyChunks = 8;         // of N rows

/// Words from one row of two-word elements to the next, at least `words`, so that the rows of a group of the vector
/// unit lie in different banks. Not a whole round of banks: what is read would meet what is written.
uint64_t sublane_stride(const spec::Chip& chip, uint64_t words) {
  const uint64_t apart = chip.vmem_banks / std::max(chip.vpu_sublanes, 2U);
  while (std::gcd(words, uint64_t{chip.vmem_banks}) > apart) words += 2;
  return words;
}

}  // namespace

std::vector<Span> row_chunks(const spec::Chip& chip, uint64_t rows) {
  // Of many rows twice as many: weights then have time to meet others in a bank.
  const uint64_t least = std::max<uint64_t>(chip.pe_latency, rows >= kManyChunks * chip.n ? 2 : 1) * chip.n;
  const uint64_t count = std::max<uint64_t>(rows / least, (rows + chip.acc_bank_rows - 1) / chip.acc_bank_rows);
  std::vector<Span> chunks;
  for (uint64_t i = 0, parts = std::max<uint64_t>(count, 1); i < parts; i++) {
    const uint64_t first = rows * i / parts;
    chunks.push_back({first, rows * (i + 1) / parts - first});
  }
  return chunks;
}

Matrix TileBuilder::new_matrix(uint64_t rows, uint64_t columns, weft_vpu_dtype dtype) {
  return new_matrix(columns, dtype, row_chunks(chip_, rows));
}

Matrix TileBuilder::new_matrix(uint64_t columns, weft_vpu_dtype dtype, std::vector<Span> chunks) {
  const uint64_t rows = chunks.back().first + chunks.back().count;
  Matrix matrix{.rows = rows, .columns = columns, .dtype = dtype};
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

Matrix TileBuilder::from_memory(uint64_t rows, uint64_t columns, weft_vpu_dtype dtype, const TensorPlace& place) {
  return lying_at(new_matrix(rows, columns, dtype), place);
}

Matrix TileBuilder::weights_from_memory(uint64_t rows, uint64_t columns, uint64_t batch, const TensorPlace& place) {
  const uint64_t k = rows / batch;
  if (k > kMostWeightRows) return from_memory(rows, columns, WEFT_VPU_DTYPE_F32, place);
  std::vector<Span> chunks;
  for (uint64_t b = 0; b < batch; b++) chunks.push_back({b * k, k});
  return lying_at(new_matrix(columns, WEFT_VPU_DTYPE_F32, std::move(chunks)), place);
}

void TileBuilder::need(Matrix& matrix, uint64_t chunk, Span column_blocks) {
  if (!matrix.source) return;
  auto& loaded = matrix.loaded[chunk];
  const uint64_t end = column_blocks.first + column_blocks.count;
  for (uint64_t first = column_blocks.first; first < end;) {
    uint64_t next = first;
    while (next < end && loaded[next] == 0) next++;
    if (next == first) {
      first++;
      continue;
    }
    std::fill(loaded.begin() + static_cast<ptrdiff_t>(first), loaded.begin() + static_cast<ptrdiff_t>(next),
              uint8_t{1});
    const Span rows = matrix.row_chunks[chunk];
    const uint64_t element = vpu_element_bytes(matrix.dtype), from = first * chip_.n;
    const uint64_t bytes = (std::min(next * chip_.n, matrix.columns) - from) * element;
    TensorPlace place = *matrix.source;
    place.offset_bytes += from * element;
    auto load = chunk_load(chip_, program_.tag(fmt::format("load rows {}.. columns {}..", rows.first, from)), place,
                           rows.first, rows.count, bytes, first * row_words(matrix.dtype), matrix.row_words);
    program_.note_hbm_bytes(uint64_t{load.size0} * load.size1);
    graph_.load(load, matrix.chunks[chunk]);
    first = next;
  }
}

void TileBuilder::load_all(Matrix& matrix) {
  for (uint64_t chunk = 0; chunk < matrix.chunks.size(); chunk++) need(matrix, chunk, {0, blocks(matrix.columns)});
}

Matrix TileBuilder::elementwise(Matrix& a, const Elementwise& by) {
  Matrix d = by.uniform ? new_uniform(a.rows, a.columns, by.dtype) : new_matrix(a.rows, a.columns, by.dtype);
  const bool cast = by.dtype != a.dtype;
  // The operation's result before its cast.
  Matrix before = cast ? new_matrix(a.rows, a.columns, a.dtype) : d;
  Matrix* b = by.b;
  for (uint64_t chunk = 0; chunk < a.chunks.size(); chunk++) {
    need(a, chunk, {0, blocks(a.columns)});
    if (b != nullptr) need(*b, by.b_mode == WEFT_VPU_B_MODE_ROW ? 0 : chunk, {0, blocks(a.columns)});
    for (uint64_t block = 0; block < (by.uniform ? 1 : blocks(a.columns)); block++) {
      spec::VpuCommand c;
      c.header.opcode = WEFT_OPCODE_ELEMENTWISE;
      c.header.tag = program_.tag(fmt::format("{} rows {}..", by.name, a.row_chunks[chunk].first));
      c.op = static_cast<uint8_t>(by.op);
      c.src_dtype = c.dst_dtype = static_cast<uint8_t>(a.dtype);
      c.rows = static_cast<uint16_t>(a.row_chunks[chunk].count);
      c.cols = static_cast<uint16_t>(lanes(a.columns, block));
      c.a_addr = static_cast<uint32_t>(block * a.block_words), c.a_stride = static_cast<uint32_t>(a.row_words);
      c.b_mode = static_cast<uint8_t>(by.b_mode);
      if (b != nullptr) c.b_addr = static_cast<uint32_t>(block * b->block_words);
      if (by.b_mode == WEFT_VPU_B_MODE_TENSOR) c.b_stride = static_cast<uint32_t>(b->row_words);
      c.scalar = by.scalar, c.scalar2 = by.scalar2;
      c.d_addr = static_cast<uint32_t>(block * before.block_words),
      c.d_stride = static_cast<uint32_t>(before.row_words);
      const BufferId b_buffer =
          b == nullptr ? command_graph::kNoBuffer : b->chunks[by.b_mode == WEFT_VPU_B_MODE_ROW ? 0 : chunk];
      graph_.vector(c, a.chunks[chunk], b_buffer, before.chunks[chunk]);
      if (!cast) continue;
      spec::VpuCommand convert;
      convert.header.opcode = WEFT_OPCODE_CAST;
      convert.header.tag = c.header.tag;
      convert.src_dtype = c.src_dtype, convert.dst_dtype = static_cast<uint8_t>(by.dtype);
      convert.rows = c.rows, convert.cols = c.cols;
      convert.a_addr = c.d_addr, convert.a_stride = c.d_stride;
      convert.d_addr = static_cast<uint32_t>(block * d.block_words),
      convert.d_stride = static_cast<uint32_t>(d.row_words);
      graph_.vector(convert, before.chunks[chunk], command_graph::kNoBuffer, d.chunks[chunk]);
    }
  }
  return d;
}

Matrix TileBuilder::cast(Matrix& a, weft_vpu_dtype dtype, const std::string& name) {
  Matrix d = new_matrix(a.rows, a.columns, dtype);
  for (uint64_t chunk = 0; chunk < a.chunks.size(); chunk++) {
    need(a, chunk, {0, blocks(a.columns)});
    for (uint64_t block = 0; block < blocks(a.columns); block++) {
      spec::VpuCommand c;
      c.header.opcode = WEFT_OPCODE_CAST;
      c.header.tag = program_.tag(fmt::format("{} rows {}..", name, a.row_chunks[chunk].first));
      c.src_dtype = static_cast<uint8_t>(a.dtype), c.dst_dtype = static_cast<uint8_t>(dtype);
      c.rows = static_cast<uint16_t>(a.row_chunks[chunk].count);
      c.cols = static_cast<uint16_t>(lanes(a.columns, block));
      c.a_addr = static_cast<uint32_t>(block * a.block_words), c.a_stride = static_cast<uint32_t>(a.row_words);
      c.d_addr = static_cast<uint32_t>(block * d.block_words), c.d_stride = static_cast<uint32_t>(d.row_words);
      graph_.vector(c, a.chunks[chunk], command_graph::kNoBuffer, d.chunks[chunk]);
    }
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

void TileBuilder::store_blocks(const TensorPlace& to, Span rows, Span column_blocks, uint64_t columns,
                               weft_vpu_dtype dtype, BufferId buffer, uint64_t word, uint64_t stride, uint16_t tag) {
  const uint64_t from = column_blocks.first * chip_.n,
                 end = std::min((column_blocks.first + column_blocks.count) * chip_.n, columns);
  TensorPlace place = to;
  place.offset_bytes += from * vpu_element_bytes(dtype);
  auto store =
      chunk_store(chip_, tag, place, rows.first, rows.count, (end - from) * vpu_element_bytes(dtype), word, stride);
  program_.note_hbm_bytes(uint64_t{store.size0} * store.size1);
  graph_.store(store, buffer);
}

void TileBuilder::store(const Matrix& from, const TensorPlace& to, const std::string& name) {
  for (uint64_t chunk = 0; chunk < from.chunks.size(); chunk++)
    store_blocks(to, from.row_chunks[chunk], {0, blocks(from.columns)}, from.columns, from.dtype, from.chunks[chunk], 0,
                 from.row_words, program_.tag(fmt::format("{} store rows {}..", name, from.row_chunks[chunk].first)));
}

BufferId TileBuilder::load_row(const TensorPlace& from, uint64_t bytes, const std::string& name) {
  const BufferId buffer =
      graph_.add_buffer(command_graph::BufferSpace::kVmem, round_up(bytes, chip_.word_bytes) / chip_.word_bytes);
  graph_.load(chunk_load(chip_, program_.tag(name), from, 0, 1, bytes, 0, 0), buffer);
  program_.note_hbm_bytes(bytes);
  return buffer;
}

}  // namespace weft::compiler::tiles
