/// What a collective must give, to the bit: the documented order of reduction with the golden model's arithmetic.
#pragma once
#include <cstddef>
#include <vector>

#include "host/compiler/collective.hpp"

namespace weft::tools {

using ChipData = std::vector<std::vector<std::byte>>;  ///< by chip

/// Bytes of each chip's input, and of its output; 0: it has none.
[[nodiscard]] uint64_t collective_input_bytes(const compiler::SliceShape& slice, uint32_t chip,
                                              const compiler::Collective& collective);
[[nodiscard]] uint64_t collective_output_bytes(const compiler::SliceShape& slice, uint32_t chip,
                                               const compiler::Collective& collective);

/// Outputs of all chips from the inputs of all chips, which have the sizes above.
[[nodiscard]] ChipData collective_reference(const compiler::SliceShape& slice, const compiler::Collective& collective,
                                            const ChipData& inputs);

}  // namespace weft::tools
