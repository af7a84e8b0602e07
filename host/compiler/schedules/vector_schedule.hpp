/// Turns a VectorStep into commands: loads, elementwise commands, stores, chunk by chunk of rows.
#pragma once
#include "host/compiler/schedules/gemm_schedule.hpp"

namespace weft::compiler {

/// Appends the step's commands. Returns the number of its stores. NO_DEVICE_MEMORY if one row does not fit VMEM.
[[nodiscard]] Result<uint64_t> schedule_vector(ProgramBuilder& program, const VectorStep& step, const StepChain& chain);

}  // namespace weft::compiler
