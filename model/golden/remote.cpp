// Remote writes at their receiver, and groups of chips.
#include "model/golden/remote.hpp"

#include <algorithm>
#include <cstring>

#include "model/golden/arith.hpp"
#include "model/golden/dma_runs.hpp"

namespace weft::golden {
namespace {

template <class Element, class Add>
void add_elements(std::span<std::byte> there, std::span<const std::byte> data, Add add) {
  for (size_t at = 0; at + sizeof(Element) <= there.size(); at += sizeof(Element)) {
    Element a, b;
    std::memcpy(&a, &there[at], sizeof a);
    std::memcpy(&b, &data[at], sizeof b);
    a = add(a, b);
    std::memcpy(&there[at], &a, sizeof a);
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
    add_elements<uint32_t>(there, data, add_f32);
  } else if ((flags & WEFT_COMMAND_FLAG_REDUCE_BF16) != 0) {
    add_elements<uint16_t>(there, data,
                           [](uint16_t a, uint16_t b) { return f32_to_bf16(add_f32(bf16_to_f32(a), bf16_to_f32(b))); });
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
