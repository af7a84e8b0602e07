// i8, two values to a lane: a word has the columns of two blocks of a matrix of f32 or i32.
#include <fmt/format.h>

#include <bit>

#include "host/compiler/tiles/tile_builder.hpp"

namespace weft::compiler::tiles {

/// Rows `row` to row + rows - 1 of a chunk of `a`, those columns that word `word` of a row of i8 has.
spec::VpuCommand TileBuilder::i8_cast(const Matrix& a, uint64_t row, uint64_t rows, uint64_t word, const ToBytes& by,
                                      uint16_t tag) const {
  const uint64_t block = 2 * word;
  const bool two = block + 1 < blocks(a.columns);
  spec::VpuCommand c;
  c.header.opcode = WEFT_OPCODE_CAST;
  c.header.tag = tag;
  c.src_dtype = static_cast<uint8_t>(a.dtype), c.dst_dtype = WEFT_VPU_DTYPE_I8;
  c.rows = static_cast<uint16_t>(rows);
  c.cols = static_cast<uint16_t>(lanes(a.columns, block));  // of the second block those beyond meet no weight
  c.a_addr = static_cast<uint32_t>(row * a.row_words + block * a.block_words);
  c.a_stride = static_cast<uint32_t>(a.row_words);
  if (two) {
    c.b_mode = WEFT_VPU_B_MODE_TENSOR;
    c.b_addr = static_cast<uint32_t>(c.a_addr + a.block_words), c.b_stride = c.a_stride;
  }
  c.scalar = static_cast<uint32_t>(by.zero_point), c.scalar2 = std::bit_cast<uint32_t>(by.scale);
  return c;
}

Matrix TileBuilder::cast_to_i8(Matrix& a, const ToBytes& by, const std::string& name) {
  Matrix d = new_matrix(a.rows, (a.columns + 1) / 2, WEFT_VPU_DTYPE_BF16);
  for (uint64_t chunk = 0; chunk < a.chunks.size(); chunk++) {
    need(a, chunk, {0, blocks(a.columns)});
    const uint16_t tag = program_.tag(fmt::format("{} rows {}..", name, a.row_chunks[chunk].first));
    for (uint64_t word = 0; word < blocks(d.columns); word++) {
      auto c = i8_cast(a, 0, a.row_chunks[chunk].count, word, by, tag);
      c.d_addr = static_cast<uint32_t>(word), c.d_stride = static_cast<uint32_t>(d.row_words);
      graph_.vector(c, a.chunks[chunk], c.b_mode == WEFT_VPU_B_MODE_TENSOR ? a.chunks[chunk] : command_graph::kNoBuffer,
                    d.chunks[chunk]);
    }
  }
  return d;
}

Matrix TileBuilder::cast_from_i8(Matrix& a, uint64_t columns, const std::string& name) {
  Matrix d = new_matrix(a.rows, columns, WEFT_VPU_DTYPE_F32);
  for (uint64_t chunk = 0; chunk < a.chunks.size(); chunk++) {
    need(a, chunk, {0, blocks(a.columns)});
    const uint16_t tag = program_.tag(fmt::format("{} rows {}..", name, a.row_chunks[chunk].first));
    for (uint64_t block = 0; block < blocks(columns); block++) {
      spec::VpuCommand c;
      c.header.opcode = WEFT_OPCODE_CAST;
      c.header.tag = tag;
      c.op = block % 2 == 0 ? WEFT_VPU_OP_NONE : WEFT_VPU_OP_UPPER;
      c.src_dtype = WEFT_VPU_DTYPE_I8, c.dst_dtype = WEFT_VPU_DTYPE_F32;
      c.rows = static_cast<uint16_t>(a.row_chunks[chunk].count);
      c.cols = static_cast<uint16_t>(lanes(columns, block));
      c.a_addr = static_cast<uint32_t>(block / 2 * a.block_words), c.a_stride = static_cast<uint32_t>(a.row_words);
      c.d_addr = static_cast<uint32_t>(block * d.block_words), c.d_stride = static_cast<uint32_t>(d.row_words);
      graph_.vector(c, a.chunks[chunk], command_graph::kNoBuffer, d.chunks[chunk]);
    }
  }
  return d;
}

}  // namespace weft::compiler::tiles
