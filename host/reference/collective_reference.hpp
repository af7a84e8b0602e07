/// What a collective must give, to the bit: the documented order of reduction with the golden model's arithmetic.
#pragma once
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "host/compiler/collectives/collective.hpp"
#include "host/reference/comparison.hpp"

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

/// sum + more, in each element of f32, bf16 or i32, by the golden model's arithmetic; both have as many bytes.
void add_elements(weft_argument_dtype dtype, std::vector<std::byte>& sum, const std::vector<std::byte>& more);

/// f32 and bf16: numbers from -2 to 2 of which most sums are rounded, so that another order of additions shows. i32 and
/// i8: any bits.
[[nodiscard]] std::vector<std::byte> draw_numbers(std::mt19937_64& random, uint64_t bytes, weft_argument_dtype dtype);

/// Compares the bits of every chip that has an output, in elements of the collective's type. `outputs`: by chip and
/// argument, of which the last one counts; it has at least as many bytes. A barrier has nothing to compare.
[[nodiscard]] Comparison check_collective(const compiler::SliceShape& slice, const compiler::Collective& collective,
                                          const ChipData& expected, const std::vector<ChipData>& outputs);

}  // namespace weft::tools
