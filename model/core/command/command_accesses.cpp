// Where a command reads and writes.
#include "model/core/command/command_accesses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "model/golden/core_state.hpp"
#include "model/golden/dma_runs.hpp"
#include "model/golden/indexed_rows.hpp"

namespace weft::core {
namespace {

AccessSpace space_of(weft_address_space space) {
  return space == WEFT_ADDRESS_SPACE_HOST ? AccessSpace::kHost : AccessSpace::kHbm;
}

/// Sorts and merges what touches or overlaps.
void normalise(std::vector<AccessRange>& ranges) {
  std::ranges::sort(ranges, {}, [](const AccessRange& r) { return std::tuple(r.space, r.first); });
  size_t kept = 0;
  for (const AccessRange& range : ranges) {
    if (kept != 0 && ranges[kept - 1].space == range.space && range.first <= ranges[kept - 1].end)
      ranges[kept - 1].end = std::max(ranges[kept - 1].end, range.end);
    else
      ranges[kept++] = range;
  }
  ranges.resize(kept);
}

/// `count` accesses of `words` VMEM words, `stride` words apart.
void add_words(std::vector<AccessRange>& out, const spec::Chip& chip, uint64_t first, uint64_t count, uint64_t stride,
               uint64_t words) {
  if (stride <= words) {  // one piece
    out.push_back(
        {AccessSpace::kVmem, first * chip.word_bytes, (first + (count - 1) * stride + words) * chip.word_bytes});
    return;
  }
  for (uint64_t i = 0; i < count; i++)
    out.push_back(
        {AccessSpace::kVmem, (first + i * stride) * chip.word_bytes, (first + i * stride + words) * chip.word_bytes});
}

void add_dma_reads(std::vector<AccessRange>& out, const spec::DmaCommand& c, const golden::SegmentTable& segments) {
  if (c.header.opcode != WEFT_OPCODE_COPY) return;
  const golden::Segment& segment = segments[c.src_seg];
  golden::for_each_run(c, [&](int64_t source, int64_t) {
    const uint64_t at = static_cast<uint64_t>(source) + (c.src_seg == 0 ? 0 : segment.base);
    out.push_back({c.src_seg == 0 ? AccessSpace::kVmem : space_of(segment.space), at, at + c.size0});
    return true;
  });
}

/// The indices, and all of the table or the rows in VMEM.
void add_indexed_reads(std::vector<AccessRange>& out, const spec::IndexedCommand& c,
                       const golden::SegmentTable& segments) {
  out.push_back({AccessSpace::kVmem, c.index_off, uint64_t{c.index_off} + sizeof(int32_t) * c.count});
  if (golden::is_gather(c)) {
    const golden::Segment& segment = segments[c.src_seg];
    const golden::DmaExtent extent = golden::indexed_extent(golden::indexed_table(c), c);
    out.push_back({space_of(segment.space), segment.base + static_cast<uint64_t>(extent.first),
                   segment.base + static_cast<uint64_t>(extent.end)});
    return;
  }
  const golden::IndexedSide rows = golden::indexed_rows(c);
  for (int64_t i = 0; i < rows.rows; i++) {
    const auto at = static_cast<uint64_t>(rows.offset + i * rows.stride);
    out.push_back({AccessSpace::kVmem, at, at + c.row_bytes});
  }
}

void add_mxu_reads(std::vector<AccessRange>& out, const spec::MxuCommand& c, const spec::Chip& chip) {
  const golden::MatmulTiles tiles = golden::matmul_tiles(c, chip);
  // tiles that lie in one place are read once: with a stride, VMEM bounds their number; without, nothing does
  for (uint64_t t = 0; t < (c.x_tile_stride == 0 ? 1 : tiles.count); t++)
    add_words(out, chip, c.x_addr + t * c.x_tile_stride, c.m, c.x_row_stride, 1);
  for (uint64_t t = 0; t < (c.w_tile_stride == 0 ? 1 : tiles.count); t++)
    add_words(out, chip, c.w_addr + t * c.w_tile_stride, 1, 0, t + 1 < tiles.count ? chip.n : tiles.last_words);
}

void add_vpu_reads(std::vector<AccessRange>& out, const spec::VpuCommand& c, const spec::Chip& chip) {
  const unsigned words = golden::words_per_row(c.src_dtype);
  const golden::VpuRows rows = golden::vpu_rows(c, chip);
  if (c.src_space == WEFT_VPU_SPACE_ACC) {
    for (uint64_t r = 0; r < c.rows; r++)
      out.push_back({AccessSpace::kAcc, c.a_addr + r * c.a_stride, c.a_addr + r * c.a_stride + 1});
  } else if (rows.a != 0) {
    for (uint64_t k = 0; k < rows.window; k++)
      add_words(out, chip, c.a_addr + k * c.b_stride, c.rows, c.a_stride, words);
  }
  if (rows.b != 0) add_words(out, chip, c.b_addr, rows.b, c.b_stride, words);
  if (rows.kept != 0) add_words(out, chip, c.scalar2, 1, 0, 2);
}

}  // namespace

CommandAccesses command_accesses(const spec::Command& command, const spec::Chip& chip,
                                 const golden::SegmentTable& segments) {
  CommandAccesses out;
  const spec::OpcodeInfo* opcode = spec::find_opcode(command.bytes[0]);
  if (opcode == nullptr) return out;
  switch (opcode->body) {
    case spec::Body::kDma:
      add_dma_reads(out.reads, spec::decode_dma(command), segments);
      break;
    case spec::Body::kIndexed:
      add_indexed_reads(out.reads, spec::decode_indexed(command), segments);
      break;
    case spec::Body::kMxu:
      add_mxu_reads(out.reads, spec::decode_mxu(command), chip);
      break;
    case spec::Body::kVpu:
      add_vpu_reads(out.reads, spec::decode_vpu(command), chip);
      break;
    case spec::Body::kBarrier:
    case spec::Body::kNone:
      break;
  }
  const golden::WrittenRanges written = golden::written_ranges(command, chip, segments);
  for (const auto& range : written.vmem)
    out.writes.push_back({AccessSpace::kVmem, range.address, range.address + range.bytes});
  for (const auto& range : written.acc)
    out.writes.push_back({AccessSpace::kAcc, range.row, uint64_t{range.row} + range.rows});
  for (const auto& range : written.memory)
    out.writes.push_back({space_of(range.space), range.address, range.address + range.bytes});
  normalise(out.reads);
  normalise(out.writes);
  return out;
}

std::optional<AccessRange> find_overlap(const std::vector<AccessRange>& a, const std::vector<AccessRange>& b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].space == b[j].space) {
      const uint64_t first = std::max(a[i].first, b[j].first), end = std::min(a[i].end, b[j].end);
      if (first < end) return AccessRange{a[i].space, first, end};
    }
    if (std::tuple(a[i].space, a[i].end) < std::tuple(b[j].space, b[j].end))
      i++;
    else
      j++;
  }
  return std::nullopt;
}

std::optional<AccessRange> find_conflict(const CommandAccesses& a, const CommandAccesses& b) {
  if (const auto overlap = find_overlap(a.writes, b.writes)) return overlap;
  if (const auto overlap = find_overlap(a.writes, b.reads)) return overlap;
  return find_overlap(a.reads, b.writes);
}

std::string range_text(const AccessRange& range) {
  switch (range.space) {
    case AccessSpace::kVmem:
      return fmt::format("VMEM bytes {:#x} to {:#x}", range.first, range.end - 1);
    case AccessSpace::kAcc:
      return fmt::format("ACC rows {} to {}", range.first, range.end - 1);
    case AccessSpace::kHbm:
      return fmt::format("HBM bytes {:#x} to {:#x}", range.first, range.end - 1);
    case AccessSpace::kHost:
      return fmt::format("host bytes {:#x} to {:#x}", range.first, range.end - 1);
  }
  return {};
}

}  // namespace weft::core
