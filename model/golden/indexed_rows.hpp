/// What GATHER and SCATTER touch: a table, rows of VMEM, and indices.
#pragma once
#include <cstdint>
#include <cstring>
#include <span>

#include "model/golden/dma_runs.hpp"
#include "weft/spec/commands.hpp"

namespace weft::golden {

/// Rows that lie one behind the other at equal distances.
struct IndexedSide {
  uint8_t segment;
  int64_t offset, stride;  ///< bytes
  int64_t rows;
};
[[nodiscard]] inline bool is_gather(const spec::IndexedCommand& c) { return c.header.opcode == WEFT_OPCODE_GATHER; }
[[nodiscard]] inline IndexedSide indexed_table(const spec::IndexedCommand& c) {
  if (is_gather(c)) return {c.src_seg, static_cast<int64_t>(c.src_off), c.src_stride, int64_t{c.table_rows}};
  return {c.dst_seg, static_cast<int64_t>(c.dst_off), c.dst_stride, int64_t{c.table_rows}};
}
/// In VMEM.
[[nodiscard]] inline IndexedSide indexed_rows(const spec::IndexedCommand& c) {
  if (is_gather(c)) return {0, static_cast<int64_t>(c.dst_off), c.dst_stride, int64_t{c.count}};
  return {0, static_cast<int64_t>(c.src_off), c.src_stride, int64_t{c.count}};
}
/// No product overflows: strides have 32 bits, rows 31.
[[nodiscard]] inline DmaExtent indexed_extent(const IndexedSide& side, const spec::IndexedCommand& c) {
  const int64_t reach = side.stride * (side.rows - 1);
  return {side.offset + (reach < 0 ? reach : 0), side.offset + (reach < 0 ? 0 : reach) + int64_t{c.row_bytes}};
}

inline constexpr int32_t kNoRow = -1;  ///< an index that moves nothing
[[nodiscard]] inline bool index_legal(const spec::IndexedCommand& c, int32_t index) {
  return index == kNoRow || (index >= 0 && static_cast<uint32_t>(index) < c.table_rows);
}
/// Address of the fault INDEX.
[[nodiscard]] constexpr uint64_t index_fault_address(uint32_t number, int32_t index) {
  return uint64_t{number} << 32 | static_cast<uint32_t>(index);
}

}  // namespace weft::golden
