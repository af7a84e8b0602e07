/// The runs of a 4-D copy or fill, in the order in which they are done: dimension 1 fastest.
#pragma once
#include <cstdint>
#include <utility>

#include "weft/spec/commands.hpp"

namespace weft::golden {

/// One side of a DMA command: a segment, and where in it the runs lie.
struct DmaSide {
  uint8_t segment;
  int64_t offset;                     ///< bytes
  int64_t stride1, stride2, stride3;  ///< bytes
};
[[nodiscard]] inline DmaSide dma_source(const spec::DmaCommand& c) {
  return {c.src_seg, static_cast<int64_t>(c.src_off), c.src_stride1, c.src_stride2, c.src_stride3};
}
[[nodiscard]] inline DmaSide dma_destination(const spec::DmaCommand& c) {
  return {c.dst_seg, static_cast<int64_t>(c.dst_off), c.dst_stride1, c.dst_stride2, c.dst_stride3};
}

/// First byte touched, and the one behind the last. No sum overflows: offsets have 40 bits, strides 32, sizes 16.
struct DmaExtent {
  int64_t first, end;
};
[[nodiscard]] inline DmaExtent dma_extent(const DmaSide& side, const spec::DmaCommand& c) {
  DmaExtent extent{side.offset, side.offset + int64_t{c.size0}};
  for (const auto& [stride, size] :
       {std::pair{side.stride1, c.size1}, std::pair{side.stride2, c.size2}, std::pair{side.stride3, c.size3}}) {
    const int64_t reach = stride * (int64_t{size} - 1);
    (reach < 0 ? extent.first : extent.end) += reach;
  }
  return extent;
}

[[nodiscard]] inline uint64_t dma_run_count(const spec::DmaCommand& c) { return uint64_t{c.size1} * c.size2 * c.size3; }

/// Calls visit(source_offset, destination_offset) for every run until it returns false. True if all were visited.
template <class Visit>
bool for_each_run(const spec::DmaCommand& c, Visit&& visit) {
  const DmaSide s = dma_source(c);
  const DmaSide d = dma_destination(c);
  for (int64_t i3 = 0; i3 < c.size3; i3++) {
    for (int64_t i2 = 0; i2 < c.size2; i2++) {
      for (int64_t i1 = 0; i1 < c.size1; i1++) {
        const int64_t source = s.offset + i1 * s.stride1 + i2 * s.stride2 + i3 * s.stride3;
        const int64_t destination = d.offset + i1 * d.stride1 + i2 * d.stride2 + i3 * d.stride3;
        if (!visit(source, destination)) return false;
      }
    }
  }
  return true;
}

}  // namespace weft::golden
