/// What GATHER and SCATTER must do and when they must be refused, written from docs/command_checks.md.
#pragma once
#include "testbench/rtl/dma/dma_reference.hpp"

namespace weft::bench {

/// Section 2b of docs/command_checks.md.
inline Refusal check(const spec::IndexedCommand& c, bool out, const std::array<Segment, 32>& segments) {
  const auto illegal = [](uint64_t at) { return Refusal{WEFT_FAULT_ILLEGAL_FIELD, at}; };
  if (c.src_seg >= 64 || (c.src_seg == 0) != out) return illegal(16);
  if (c.dst_seg >= 64 || (c.dst_seg != 0) != out) return illegal(17);
  if (c.row_bytes == 0) return illegal(30);
  if (c.count == 0) return illegal(34);
  if (c.table_rows == 0 || c.table_rows >> 31 != 0) return illegal(36);

  const auto misaligned = [](uint64_t at) { return Refusal{WEFT_FAULT_ALIGNMENT, at}; };
  const int64_t word = kWordBytes, src = out ? word : 16, dst = out ? 16 : word;
  if (static_cast<int64_t>(c.src_off) % src) return misaligned(20);
  if (static_cast<int64_t>(c.dst_off) % dst) return misaligned(25);
  if (c.row_bytes % 16) return misaligned(30);
  if (c.src_stride % src) return misaligned(40);
  if (c.index_off % word) return misaligned(44);
  if (c.dst_stride % dst) return misaligned(52);

  const unsigned number = (out ? c.dst_seg : c.src_seg) % 32;
  const Segment& table = segments[number];
  if (table.space == 0 || !(out ? table.writable : table.readable)) return {WEFT_FAULT_SEGMENT, number};
  const auto range = [&](uint64_t off, int64_t stride, uint64_t rows, uint64_t limit) -> Refusal {
    const __int128 first = off, last = first + static_cast<__int128>(stride) * (rows - 1);
    if (std::min(first, last) < 0) return {WEFT_FAULT_RANGE, static_cast<uint64_t>(std::min(first, last))};
    if (std::max(first, last) + c.row_bytes > static_cast<__int128>(limit)) return {WEFT_FAULT_RANGE, limit};
    return {};
  };
  const Refusal source =
      range(c.src_off, c.src_stride, out ? c.count : c.table_rows, out ? kChip.vmem_bytes : table.limit);
  if (source.code) return source;
  const Refusal target =
      range(c.dst_off, c.dst_stride, out ? c.table_rows : c.count, out ? table.limit : kChip.vmem_bytes);
  if (target.code) return target;
  if (uint64_t{c.index_off} + 4ull * c.count > kChip.vmem_bytes) return {WEFT_FAULT_RANGE, kChip.vmem_bytes};
  return {};
}

/// Moves the rows of a legal command on images of VMEM and of the segment; of a refused index the rows before it.
inline Refusal execute(const spec::IndexedCommand& c, bool out, uint8_t* vmem, uint8_t* segment) {
  for (unsigned i = 0; i < c.count; i++) {
    int32_t index = 0;
    std::memcpy(&index, vmem + c.index_off + 4ull * i, 4);
    if (index < -1 || index >= static_cast<int64_t>(c.table_rows))
      return {WEFT_FAULT_INDEX, uint64_t{i} << 32 | static_cast<uint32_t>(index)};
    uint8_t* row = vmem + (out ? c.src_off + i * static_cast<uint64_t>(c.src_stride)
                               : c.dst_off + i * static_cast<uint64_t>(c.dst_stride));
    if (index < 0) {
      if (!out) std::memset(row, 0, c.row_bytes);
      continue;
    }
    uint8_t* entry = segment + (out ? c.dst_off + static_cast<uint64_t>(index) * static_cast<uint64_t>(c.dst_stride)
                                    : c.src_off + static_cast<uint64_t>(index) * static_cast<uint64_t>(c.src_stride));
    out ? std::memcpy(entry, row, c.row_bytes) : std::memcpy(row, entry, c.row_bytes);
  }
  return {};
}

}  // namespace weft::bench
