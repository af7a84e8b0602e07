// Slice by slice, chip by chip; a part's owner does not show in the sum.
#include "host/reference/multislice_reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "host/compiler/layout.hpp"

namespace weft::tools {

std::vector<ChipData> multislice_reference(const compiler::SliceShape& slice, const compiler::Collective& collective,
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
  return std::vector<ChipData>(inputs.size(), sums);
}

Comparison check_multislice(const compiler::SliceShape& slice, const compiler::Collective& collective,
                            const std::vector<ChipData>& expected, const std::vector<ChipData>& outputs) {
  const size_t size = compiler::element_bytes(collective.dtype);
  Comparison out;
  for (size_t number = 0; number < expected.size(); number++)
    for (uint32_t chip = 0; chip < slice.chips(); chip++) {
      const uint64_t elements = collective_output_bytes(slice, chip, collective) / size;
      if (elements == 0) continue;
      const std::span<const std::byte> got = number < outputs.size() && chip < outputs[number].size()
                                                 ? std::span(outputs[number][chip])
                                                 : std::span<const std::byte>();
      out.add(fmt::format("slice {}, chip {}", number, chip), {&elements, 1}, expected[number][chip], got, size);
    }
  return out;
}

}  // namespace weft::tools
