/// The sum of arrays that lie in one chip's memory: what a host brings from other slices, and the chip's own.
#pragma once
#include <cstdint>

#include "host/compiler/executable/executable_writer.hpp"
#include "host/compiler/result.hpp"
#include "weft/spec/chips.hpp"

namespace weft::compiler {

/// Arguments: `count` inputs (>= 2) and the output, each of `bytes`, apart from each other. The output is ((first +
/// second) + third) + ..., each addition the VPU's ADD of `dtype`: f32, bf16 or i32.
/// INVALID_ARGUMENT: bytes that are no multiple of 16 from 16 on, fewer than two inputs or more than 28, a dtype that
/// the VPU does not add. UNSUPPORTED: more than 16384 tiles (512 MiB on most chips).
[[nodiscard]] Result<Kernel> compile_sum(const spec::Chip& chip, weft_argument_dtype dtype, uint64_t bytes,
                                         uint32_t count);

}  // namespace weft::compiler
