// Rows to one value each: REDUCE of each block of columns, then the blocks as the same tree of neighbours.
#include <fmt/format.h>

#include "host/compiler/chunk_pipeline.hpp"
#include "host/compiler/tiles/tile_builder.hpp"

namespace weft::compiler::tiles {
namespace {

constexpr uint64_t kWords = 2;  // of a row of f32 or i32

/// The operation of two values that a reduction is made of.
weft_vpu_op operation_of(weft_vpu_op op) {
  return op == WEFT_VPU_OP_SUM ? WEFT_VPU_OP_ADD : op == WEFT_VPU_OP_RMAX ? WEFT_VPU_OP_MAX : WEFT_VPU_OP_MIN;
}

}  // namespace

Matrix TileBuilder::reduce(Matrix& a, weft_vpu_op op, const std::string& name) {
  Matrix y = new_uniform(a.rows, a.columns, a.dtype);
  const uint64_t count = a.block_words == 0 ? 1 : blocks(a.columns);
  // Lanes of the last block are all that each block's value is there for.
  const bool whole = count == 1 || a.columns % chip_.n == 0;
  for (uint64_t chunk = 0; chunk < a.chunks.size(); chunk++) {
    need(a, chunk, {0, blocks(a.columns)});
    const uint64_t rows = a.row_chunks[chunk].count;
    const uint16_t tag = program_.tag(fmt::format("{} rows {}..", name, a.row_chunks[chunk].first));
    const auto command = [&](weft_opcode opcode, weft_vpu_op what, uint64_t lanes) {
      spec::VpuCommand c;
      c.header.opcode = static_cast<uint8_t>(opcode);
      c.header.tag = tag;
      c.op = static_cast<uint8_t>(what);
      c.src_dtype = c.dst_dtype = static_cast<uint8_t>(a.dtype);
      c.rows = static_cast<uint16_t>(rows), c.cols = static_cast<uint16_t>(lanes);
      c.a_stride = c.d_stride = kWords;
      return c;
    };
    const auto buffer = [&](uint64_t words) { return graph_.add_buffer(command_graph::BufferSpace::kVmem, words); };
    std::vector<BufferId> values;
    for (uint64_t block = 0; block < count; block++) {
      values.push_back(count == 1 ? y.chunks[chunk] : buffer(rows * kWords));
      auto c = command(WEFT_OPCODE_REDUCE, op, lanes(a.columns, block));
      c.a_addr = static_cast<uint32_t>(block * a.block_words), c.a_stride = static_cast<uint32_t>(a.row_words);
      graph_.vector(c, a.chunks[chunk], command_graph::kNoBuffer, values.back());
    }
    const uint64_t used = whole ? lanes(a.columns, 0) : 1;
    while (values.size() > 1) {
      std::vector<BufferId> pairs;
      for (size_t i = 0; i < values.size(); i += 2) {
        if (i + 1 == values.size()) {
          pairs.push_back(values[i]);
          continue;
        }
        auto c = command(WEFT_OPCODE_ELEMENTWISE, operation_of(op), used);
        c.b_mode = WEFT_VPU_B_MODE_TENSOR, c.b_stride = kWords;
        pairs.push_back(values.size() == 2 && whole ? y.chunks[chunk] : buffer(rows * kWords));
        graph_.vector(c, values[i], values[i + 1], pairs.back());
      }
      values = std::move(pairs);
    }
    if (whole) continue;
    // From lane 0 to all lanes: as a row of values, which is read once for each lane.
    for (uint64_t first = 0; first < rows; first += chip_.n) {
      const uint64_t part = std::min<uint64_t>(chip_.n, rows - first);
      const BufferId row = buffer(kWords);
      auto c = command(WEFT_OPCODE_TRANSPOSE, WEFT_VPU_OP_NONE, 1);
      c.rows = static_cast<uint16_t>(part);
      c.a_addr = static_cast<uint32_t>(first * kWords);
      graph_.vector(c, values[0], command_graph::kNoBuffer, row);
      auto back = command(WEFT_OPCODE_TRANSPOSE, WEFT_VPU_OP_NONE, part);
      back.rows = static_cast<uint16_t>(chip_.n);
      back.a_stride = 0;
      back.d_addr = static_cast<uint32_t>(first * kWords);
      graph_.vector(back, row, command_graph::kNoBuffer, y.chunks[chunk]);
    }
  }
  return y;
}

}  // namespace weft::compiler::tiles
