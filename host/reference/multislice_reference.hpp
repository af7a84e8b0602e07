/// What a hierarchical all-reduce over several slices must give, to the bit: docs/multislice.md.
#pragma once
#include <vector>

#include "host/compiler/collectives/collective.hpp"
#include "host/reference/collective_reference.hpp"

namespace weft::tools {

/// Outputs by slice and chip from inputs by slice and chip: what each slice's all-reduce gives, ((slice 0 + slice 1) +
/// slice 2) + .... At least one slice.
[[nodiscard]] std::vector<ChipData> multislice_reference(const compiler::SliceShape& slice,
                                                         const compiler::Collective& collective,
                                                         const std::vector<ChipData>& inputs);

/// Compares the bits of every chip that has an output, in elements of the collective's type.
[[nodiscard]] Comparison check_multislice(const compiler::SliceShape& slice, const compiler::Collective& collective,
                                          const std::vector<ChipData>& expected, const std::vector<ChipData>& outputs);

}  // namespace weft::tools
