/// Turns a RelayoutStep into commands: rows come in, are cast and transposed block by block, and go out as rows or
/// packed weight tiles. So products of computed matrices, and transposed products, are made: x^T y takes x transposed
/// to rows and y packed, y w^T takes w transposed and packed.
#pragma once
#include "host/compiler/chunk_pipeline.hpp"

namespace weft::compiler {

/// Appends the step's commands. Returns the number of its stores. NO_DEVICE_MEMORY if one row (transposed: N rows) does
/// not fit VMEM.
[[nodiscard]] Result<uint64_t> schedule_relayout(ProgramBuilder& program, const RelayoutStep& step,
                                                 const StepChain& chain);

}  // namespace weft::compiler
