/// Turns a PartSumStep into commands.
#pragma once
#include "host/compiler/schedules/gemm_schedule.hpp"

namespace weft::compiler {

/// As schedule_gemm.
[[nodiscard]] Result<uint64_t> schedule_part_sum(ProgramBuilder& program, const PartSumStep& step,
                                                 const StepChain& chain);

}  // namespace weft::compiler
