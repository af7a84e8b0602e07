/// Register writes of the segment table, as the golden model's table.
#pragma once
#include <cstdint>

#include "model/golden/check.hpp"

namespace weft::core {

/// Does to `table` what a write of `value` to the register at `offset` does; nothing if it is no segment register.
inline void write_segment(golden::SegmentTable& table, uint32_t offset, uint64_t value) {
  constexpr uint32_t kStride = WEFT_CSR_SEGMENT_BASE_STRIDE;
  if (offset < WEFT_CSR_SEGMENT_BASE || offset >= WEFT_CSR_SEGMENT_BASE + WEFT_SEGMENTS * kStride) return;
  const uint32_t number = (offset - WEFT_CSR_SEGMENT_BASE) / kStride;
  const uint32_t field = (offset - WEFT_CSR_SEGMENT_BASE) % kStride;
  for (const uint32_t version : {0u, 1u}) {
    if (number == 0 && version == 1) return;  // VMEM has one
    golden::Segment& segment = table[number + version * golden::kSegmentVersion1];
    // The lowest bits of a base say which version it is not for.
    if (field == 0 && (value >> version & 1) == 0) segment.base = value & ~uint64_t{WEFT_CORE_DMA_GRANULE_BYTES - 1};
    if (field == WEFT_CSR_SEGMENT_LIMIT - WEFT_CSR_SEGMENT_BASE) segment.limit = value;
    if (field == WEFT_CSR_SEGMENT_ATTRIBUTES - WEFT_CSR_SEGMENT_BASE) {
      segment.space = static_cast<weft_address_space>(value & WEFT_CSR_SEGMENT_ATTRIBUTES_SPACE);
      segment.readable = (value & WEFT_CSR_SEGMENT_ATTRIBUTES_READABLE) != 0;
      segment.writable = (value & WEFT_CSR_SEGMENT_ATTRIBUTES_WRITABLE) != 0;
    }
  }
}

}  // namespace weft::core
