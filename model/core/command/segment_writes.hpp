/// Register writes of the segment table, as the golden model's table.
#pragma once
#include <cstdint>

#include "model/golden/check.hpp"

namespace weft::core {

/// Does to `table` what a write of `value` to the register at `offset` does; nothing if it is no segment register.
inline void write_segment(golden::SegmentTable& table, uint32_t offset, uint64_t value) {
  constexpr uint32_t kStride = WEFT_CSR_SEGMENT_BASE_STRIDE;
  if (offset < WEFT_CSR_SEGMENT_BASE || offset >= WEFT_CSR_SEGMENT_BASE + WEFT_SEGMENTS * kStride) return;
  golden::Segment& segment = table[(offset - WEFT_CSR_SEGMENT_BASE) / kStride];
  const uint32_t field = (offset - WEFT_CSR_SEGMENT_BASE) % kStride;
  if (field == 0) segment.base = value;
  if (field == WEFT_CSR_SEGMENT_LIMIT - WEFT_CSR_SEGMENT_BASE) segment.limit = value;
  if (field == WEFT_CSR_SEGMENT_ATTRIBUTES - WEFT_CSR_SEGMENT_BASE) {
    segment.space = static_cast<weft_address_space>(value & 3);
    segment.readable = (value >> 2 & 1) != 0;
    segment.writable = (value >> 3 & 1) != 0;
  }
}

}  // namespace weft::core
