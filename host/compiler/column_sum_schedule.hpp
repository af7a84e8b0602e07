/// Turns a ColumnSumStep into commands: block by block of N columns, all rows at once, so that a sum is one chain.
#pragma once
#include "host/compiler/chunk_pipeline.hpp"

namespace weft::compiler {

/// Appends the step's commands. Returns the number of its stores. NO_DEVICE_MEMORY if N columns of all rows do not fit
/// a quarter of VMEM.
[[nodiscard]] Result<uint64_t> schedule_column_sum(ProgramBuilder& program, const ColumnSumStep& step,
                                                   const StepChain& chain);

}  // namespace weft::compiler
