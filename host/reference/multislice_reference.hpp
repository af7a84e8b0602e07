/// What a hierarchical collective over several slices must give, to the bit: docs/collectives.md, Several slices.
#pragma once
#include <vector>

#include "host/compiler/collectives/collective.hpp"
#include "host/reference/collective_reference.hpp"

namespace weft::tools {

/// Bytes of a chip's input in slice `number` of `slices`; 0: it has none. all-gather: of the block that it would have in
/// its slice's collective, cut among the slices in granules of 16 bytes, the first ones one longer.
[[nodiscard]] uint64_t multislice_input_bytes(const compiler::SliceShape& slice, uint32_t chip,
                                              const compiler::Collective& collective, uint32_t slices, uint32_t number);

/// Outputs by slice and chip from inputs by slice and chip, of an all-reduce, a reduce-scatter or an all-gather. Sums are
/// what each slice's reduction gives, ((slice 0 + slice 1) + slice 2) + .... Of what a chip has of a slice's sum, slice s
/// has part s; what it gives to a slice's gathering is the parts of all slices, slice 0 first. At least one slice.
[[nodiscard]] std::vector<ChipData> multislice_reference(const compiler::SliceShape& slice,
                                                         const compiler::Collective& collective,
                                                         const std::vector<ChipData>& inputs);

/// Compares the bits of every chip that has an output, in elements of the collective's type.
[[nodiscard]] Comparison check_multislice(const compiler::Collective& collective, const std::vector<ChipData>& expected,
                                          const std::vector<ChipData>& outputs);

}  // namespace weft::tools
