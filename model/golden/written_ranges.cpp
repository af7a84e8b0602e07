/// What a command writes, as ranges.
#include "model/golden/core_state.hpp"
#include "model/golden/dma_runs.hpp"
#include "model/golden/indexed_rows.hpp"
#include "model/golden/remote.hpp"

namespace weft::golden {
namespace {

template <class Range>
void append(std::vector<Range>& ranges, const Range& next) {
  if (!ranges.empty() && ranges.back().address + ranges.back().bytes == next.address) {
    ranges.back().bytes += next.bytes;
  } else {
    ranges.push_back(next);
  }
}

void add_dma(WrittenRanges& out, const spec::DmaCommand& c, const SegmentTable& segments) {
  if (is_remote(c.header)) return;  // nothing of this chip
  const Segment& segment = segments[c.dst_seg];
  for_each_run(c, [&](int64_t, int64_t destination) {
    const auto at = static_cast<uint64_t>(destination);
    if (c.dst_seg == 0) {
      append(out.vmem, WrittenRanges::Vmem{at, c.size0});
    } else {
      append(out.memory, WrittenRanges::Memory{segment.space, segment.base + at, c.size0});
    }
    return true;
  });
}

/// Of a table: all of it.
void add_indexed(WrittenRanges& out, const spec::IndexedCommand& c, const SegmentTable& segments) {
  if (!is_gather(c)) {
    const DmaExtent extent = indexed_extent(indexed_table(c), c);
    const Segment& segment = segments[c.dst_seg];
    out.memory.push_back({segment.space, segment.base + static_cast<uint64_t>(extent.first),
                          static_cast<uint64_t>(extent.end - extent.first)});
    return;
  }
  const IndexedSide rows = indexed_rows(c);
  for (int64_t i = 0; i < rows.rows; i++)
    append(out.vmem, WrittenRanges::Vmem{static_cast<uint64_t>(rows.offset + i * rows.stride), c.row_bytes});
}

void add_vpu(WrittenRanges& out, const spec::VpuCommand& c, const spec::Chip& chip) {
  const uint64_t skipped = writes_upper_half(c) ? chip.word_bytes / 2 : 0;
  const uint64_t row_bytes = uint64_t{words_per_row(c.dst_dtype)} * chip.word_bytes - skipped;
  for (uint64_t r = 0; r < vpu_rows(c, chip).d; r++)
    append(out.vmem, WrittenRanges::Vmem{(c.d_addr + r * c.d_stride) * chip.word_bytes + skipped, row_bytes});
}

}  // namespace

WrittenRanges written_ranges(const spec::Command& command, const spec::Chip& chip, const SegmentTable& segments) {
  WrittenRanges out;
  const spec::OpcodeInfo* opcode = spec::find_opcode(command.bytes[0]);
  if (opcode == nullptr) return out;
  switch (opcode->body) {
    case spec::Body::kDma:
      add_dma(out, spec::decode_dma(command), segments);
      break;
    case spec::Body::kIndexed:
      add_indexed(out, spec::decode_indexed(command), segments);
      break;
    case spec::Body::kMxu: {
      const auto c = spec::decode_mxu(command);
      out.acc.push_back({first_acc_row(c, chip), c.m});
      break;
    }
    case spec::Body::kVpu:
      add_vpu(out, spec::decode_vpu(command), chip);
      break;
    case spec::Body::kBarrier:
    case spec::Body::kNone:
      break;
  }
  return out;
}

}  // namespace weft::golden
