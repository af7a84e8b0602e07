// Slice by slice, chip by chip; a part's owner does not show in the sum.
#include "host/reference/multislice_reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "host/compiler/layout.hpp"

namespace weft::tools {
namespace {

using compiler::CollectiveKind;

constexpr uint64_t kGranule = 16;

/// Of a chip's share, that of slice `number`.
uint64_t part_bytes(uint64_t share, uint32_t slices, uint32_t number) {
  const uint64_t granules = share / kGranule;
  return kGranule * (granules / slices + (number < granules % slices ? 1 : 0));
}

/// By chip: the sum over all slices of what the collective gives in each.
ChipData sums_of(const compiler::SliceShape& slice, const compiler::Collective& collective,
                 const std::vector<ChipData>& inputs) {
  ChipData sums;
  for (const ChipData& of_slice : inputs) {
    ChipData within = collective_reference(slice, collective, of_slice);
    if (sums.empty()) {
      sums = std::move(within);
      continue;
    }
    for (size_t chip = 0; chip < sums.size(); chip++) add_elements(collective.dtype, sums[chip], within[chip]);
  }
  return sums;
}

}  // namespace

uint64_t multislice_input_bytes(const compiler::SliceShape& slice, uint32_t chip,
                                const compiler::Collective& collective, uint32_t slices, uint32_t number) {
  const uint64_t bytes = collective_input_bytes(slice, chip, collective);
  return collective.kind == CollectiveKind::kAllGather ? part_bytes(bytes, slices, number) : bytes;
}

std::vector<ChipData> multislice_reference(const compiler::SliceShape& slice, const compiler::Collective& collective,
                                           const std::vector<ChipData>& inputs) {
  const auto slices = static_cast<uint32_t>(inputs.size());
  if (collective.kind == CollectiveKind::kAllGather) {
    ChipData shares(slice.chips());
    for (const ChipData& of_slice : inputs)
      for (size_t chip = 0; chip < shares.size(); chip++)
        shares[chip].insert(shares[chip].end(), of_slice[chip].begin(), of_slice[chip].end());
    return std::vector<ChipData>(slices, collective_reference(slice, collective, shares));
  }
  std::vector<ChipData> out(slices, sums_of(slice, collective, inputs));
  if (collective.kind != CollectiveKind::kReduceScatter) return out;
  for (size_t chip = 0; chip < slice.chips(); chip++) {
    uint64_t begin = 0;
    for (uint32_t number = 0; number < slices; number++) {
      const std::vector<std::byte> share = std::move(out[number][chip]);
      const uint64_t end = begin + part_bytes(share.size(), slices, number);
      out[number][chip].assign(share.begin() + static_cast<ptrdiff_t>(begin),
                               share.begin() + static_cast<ptrdiff_t>(end));
      begin = end;
    }
  }
  return out;
}

Comparison check_multislice(const compiler::Collective& collective, const std::vector<ChipData>& expected,
                            const std::vector<ChipData>& outputs) {
  const size_t size = compiler::element_bytes(collective.dtype);
  Comparison out;
  for (size_t number = 0; number < expected.size(); number++)
    for (size_t chip = 0; chip < expected[number].size(); chip++) {
      const uint64_t elements = expected[number][chip].size() / size;
      if (elements == 0) continue;
      const std::span<const std::byte> got = number < outputs.size() && chip < outputs[number].size()
                                                 ? std::span(outputs[number][chip])
                                                 : std::span<const std::byte>();
      out.add(fmt::format("slice {}, chip {}", number, chip), {&elements, 1}, expected[number][chip], got, size);
    }
  return out;
}

}  // namespace weft::tools
