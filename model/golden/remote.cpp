// Remote writes at their receiver, and groups of chips.
#include "model/golden/remote.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "model/golden/dma_runs.hpp"
#include "model/golden/rows.hpp"

namespace weft::golden {
namespace {

/// Elements that are added at once.
constexpr size_t kPiece = 1024;
using Piece = std::array<float, kPiece>;

void load(std::span<const std::byte> bytes, Piece& values) { std::memcpy(values.data(), bytes.data(), bytes.size()); }
void store(const Piece& values, std::span<std::byte> bytes) { std::memcpy(bytes.data(), values.data(), bytes.size()); }

void load_bf16(std::span<const std::byte> bytes, Piece& values) {
  std::array<uint16_t, kPiece> narrow;
  std::memcpy(narrow.data(), bytes.data(), bytes.size());
  const size_t count = bytes.size() / sizeof(uint16_t);
  cast_bf16_to_f32(std::span(narrow).first(count), std::span(values).first(count));
}
void store_bf16(const Piece& values, std::span<std::byte> bytes) {
  std::array<uint16_t, kPiece> narrow;
  const size_t count = bytes.size() / sizeof(uint16_t);
  cast_f32_to_bf16(std::span(values).first(count), std::span(narrow).first(count));
  std::memcpy(bytes.data(), narrow.data(), bytes.size());
}

/// Adds a piece after the other as fp32, which the host's float unit does where that has the same bits.
void add_elements(std::span<std::byte> there, std::span<const std::byte> data, size_t element_bytes,
                  void (*read)(std::span<const std::byte>, Piece&), void (*write)(const Piece&, std::span<std::byte>)) {
  Piece a, b;
  while (there.size() >= element_bytes) {
    const size_t count = std::min(there.size() / element_bytes, kPiece), bytes = count * element_bytes;
    read(there.first(bytes), a);
    read(data.first(bytes), b);
    const std::span sum = std::span(a).first(count);
    elementwise_f32(WEFT_VPU_OP_ADD, sum, std::span(b).first(count), sum);
    write(a, there.first(bytes));
    there = there.subspan(bytes);
    data = data.subspan(bytes);
  }
}

}  // namespace

std::optional<Fault> check_remote_destination(const spec::DmaCommand& c, const spec::Chip& chip,
                                              const SegmentTable& segments, uint32_t here) {
  const Segment& segment = segments[c.dst_seg];
  const bool vmem = c.dst_seg == 0;
  if (!vmem && (segment.space != WEFT_ADDRESS_SPACE_HBM || !segment.writable))
    return ici_fault(WEFT_ICI_CAUSE_SEGMENT, here, c.dst_seg);
  const DmaExtent extent = dma_extent(dma_destination(c), c);
  if (extent.first < 0 || static_cast<uint64_t>(extent.end) > (vmem ? chip.vmem_bytes : segment.limit))
    return ici_fault(WEFT_ICI_CAUSE_RANGE, here, c.dst_seg);
  return std::nullopt;
}

void combine(uint8_t flags, std::span<std::byte> there, std::span<const std::byte> data) {
  if ((flags & WEFT_COMMAND_FLAG_REDUCE_F32) != 0) {
    add_elements(there, data, sizeof(uint32_t), load, store);
  } else if ((flags & WEFT_COMMAND_FLAG_REDUCE_BF16) != 0) {
    add_elements(there, data, sizeof(uint16_t), load_bf16, store_bf16);
  } else {
    std::memcpy(there.data(), data.data(), there.size());
  }
}

std::vector<uint32_t> barrier_group(const spec::BarrierCommand& c) {
  std::vector<uint32_t> group;
  for (uint32_t k = 0; k < c.count2; k++)
    for (uint32_t j = 0; j < c.count1; j++)
      for (uint32_t i = 0; i < c.count0; i++)
        group.push_back(uint32_t{c.base} + i * c.stride0 + j * c.stride1 + k * c.stride2);
  return group;
}

bool barrier_legal(const spec::BarrierCommand& c, const SlicePlace& place) {
  if (uint64_t{c.count0} * c.count1 * c.count2 > place.chips) return false;
  std::vector<uint32_t> group = barrier_group(c);
  std::ranges::sort(group);
  if (group.back() >= place.chips || std::ranges::adjacent_find(group) != group.end()) return false;
  return std::ranges::binary_search(group, place.chip);
}

}  // namespace weft::golden
