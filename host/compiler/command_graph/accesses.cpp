// Runs of words, rows and granules of each kind of command (docs/command_checks.md has the extents).
#include "host/compiler/command_graph/accesses.hpp"

#include <algorithm>
#include <cstdlib>

namespace weft::compiler::command_graph {
namespace {

using Visit = std::function<void(const Access&)>;

uint64_t up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit; }

/// One side of a DMA: buffer and words, or segment and granules.
void visit_side(const spec::Chip& chip, const spec::DmaCommand& c, bool writes, BufferId buffer, const Visit& visit) {
  const bool vmem = (writes ? c.dst_seg : c.src_seg) == 0;
  const auto offset = static_cast<int64_t>(writes ? c.dst_off : c.src_off);
  const int64_t s1 = writes ? c.dst_stride1 : c.src_stride1, s2 = writes ? c.dst_stride2 : c.src_stride2,
                s3 = writes ? c.dst_stride3 : c.src_stride3;
  const uint64_t unit = vmem ? chip.word_bytes : kGranuleBytes;
  for (int64_t i3 = 0; i3 < c.size3; i3++)
    for (int64_t i2 = 0; i2 < c.size2; i2++)
      for (int64_t i1 = 0; i1 < c.size1; i1++)
        visit({vmem ? buffer : kNoBuffer, writes ? c.dst_seg : c.src_seg, writes,
               static_cast<uint64_t>(offset + i1 * s1 + i2 * s2 + i3 * s3) / unit, up(c.size0, unit)});
}

void visit_dma(const spec::Chip& chip, const GraphCommand& command, const spec::DmaCommand& c, const Visit& visit) {
  if (c.header.opcode == WEFT_OPCODE_COPY) visit_side(chip, c, false, command.a, visit);
  if (!is_remote(c)) visit_side(chip, c, true, command.d, visit);
}

void visit_arrival(const Arrival& arrival, const Visit& visit) {
  for (const Landing& landing : arrival.landings)
    for (uint64_t r = 0; r < landing.rows; r++)
      visit({landing.buffer, landing.segment, true, landing.first + r * landing.stride, landing.words});
}

/// The indices, the rows in VMEM, and all of the table.
void visit_indexed(const spec::Chip& chip, const GraphCommand& command, const spec::IndexedCommand& c,
                   const Visit& visit) {
  const bool gathers = c.header.opcode == WEFT_OPCODE_GATHER;
  const uint64_t word = chip.word_bytes;
  visit({command.b, 0, false, c.index_off / word, up(sizeof(int32_t) * c.count, word)});
  const auto first = static_cast<int64_t>(gathers ? c.dst_off : c.src_off);
  const int64_t stride = gathers ? c.dst_stride : c.src_stride;
  for (int64_t i = 0; i < c.count; i++)
    visit({gathers ? command.d : command.a, 0, gathers, static_cast<uint64_t>(first + i * stride) / word,
           up(c.row_bytes, word)});
  const auto table = static_cast<int64_t>(gathers ? c.src_off : c.dst_off);
  const int64_t reach = (gathers ? c.src_stride : c.dst_stride) * (int64_t{c.table_rows} - 1);
  const auto low = static_cast<uint64_t>(table + std::min<int64_t>(reach, 0));
  visit({kNoBuffer, gathers ? c.src_seg : c.dst_seg, !gathers, low / kGranuleBytes,
         up(static_cast<uint64_t>(std::abs(reach)) + c.row_bytes, kGranuleBytes)});
}

void visit_mxu(const spec::Chip& chip, const GraphCommand& command, const spec::MxuCommand& c, const Visit& visit) {
  const uint64_t tile_k = c.dtype == WEFT_MXU_DTYPE_INT8 ? 2ull * chip.n : chip.n, tiles = up(c.k, tile_k);
  const uint64_t rest = c.k - (tiles - 1) * tile_k, last = c.dtype == WEFT_MXU_DTYPE_INT8 ? up(rest, 2) : rest;
  for (uint64_t r = 0; r < c.m; r++) {
    if (c.x_tile_stride == 1) {
      visit({command.a, 0, false, c.x_addr + r * c.x_row_stride, tiles});
      continue;
    }
    for (uint64_t t = 0; t < tiles; t++)
      visit({command.a, 0, false, c.x_addr + r * c.x_row_stride + t * c.x_tile_stride, 1});
  }
  for (uint64_t t = 0; t < tiles; t++)
    visit({command.b, 0, false, c.w_addr + t * c.w_tile_stride, t + 1 < tiles ? chip.n : last});
  if (c.seed == WEFT_MXU_SEED_KEEP) visit({command.d, 0, false, c.acc_row, c.m});
  visit({command.d, 0, true, c.acc_row, c.m});
}

uint64_t words_of(uint8_t dtype) { return dtype == WEFT_VPU_DTYPE_F32 || dtype == WEFT_VPU_DTYPE_I32 ? 2 : 1; }

void visit_vpu(const spec::Chip& chip, const GraphCommand& command, const spec::VpuCommand& c, const Visit& visit) {
  const bool across = c.header.opcode == WEFT_OPCODE_REDUCE && c.axis == WEFT_VPU_AXIS_ROWS;
  const uint64_t from = words_of(c.src_dtype), to = words_of(c.dst_dtype);
  const uint64_t a_words = c.src_space == WEFT_VPU_SPACE_ACC ? 1 : from;
  if (c.op != WEFT_VPU_OP_IOTA)
    for (uint64_t r = 0; r < c.rows; r++)
      for (uint64_t k = 0; k < (across ? c.window : 1u); k++)
        visit({command.a, 0, false, c.a_addr + r * c.a_stride + k * c.b_stride, a_words});
  const bool residual = c.b_mode == WEFT_VPU_B_MODE_RESIDUAL, scaled = c.b_mode == WEFT_VPU_B_MODE_SCALED;
  const uint64_t b_rows = c.b_mode == WEFT_VPU_B_MODE_TENSOR || residual ? c.rows
                          : c.b_mode == WEFT_VPU_B_MODE_ROW || scaled    ? 1
                          : c.b_mode == WEFT_VPU_B_MODE_COLUMN           ? up(c.rows, chip.n)
                                                                         : 0;
  if (residual || scaled) visit({command.kept, 0, false, c.scalar2, 2});
  for (uint64_t r = 0; r < b_rows; r++) visit({command.b, 0, false, c.b_addr + r * c.b_stride, from});
  const uint64_t d_rows = c.header.opcode == WEFT_OPCODE_TRANSPOSE ? c.cols : c.rows;
  for (uint64_t r = 0; r < d_rows; r++) visit({command.d, 0, true, c.d_addr + r * c.d_stride, to});
}

}  // namespace

void for_each_access(const spec::Chip& chip, const GraphCommand& command, const Visit& visit) {
  if (const auto* dma = std::get_if<spec::DmaCommand>(&command.body)) return visit_dma(chip, command, *dma, visit);
  if (const auto* rows = std::get_if<spec::IndexedCommand>(&command.body))
    return visit_indexed(chip, command, *rows, visit);
  if (const auto* mxu = std::get_if<spec::MxuCommand>(&command.body)) return visit_mxu(chip, command, *mxu, visit);
  if (const auto* arrival = std::get_if<Arrival>(&command.body)) return visit_arrival(*arrival, visit);
  if (const auto* vpu = std::get_if<spec::VpuCommand>(&command.body)) visit_vpu(chip, command, *vpu, visit);
}

}  // namespace weft::compiler::command_graph
