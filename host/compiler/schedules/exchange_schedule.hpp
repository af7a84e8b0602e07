/// Turns an ExchangeStep into commands.
#pragma once
#include "host/compiler/schedules/gemm_schedule.hpp"

namespace weft::compiler {

/// As schedule_gemm.
[[nodiscard]] Result<uint64_t> schedule_exchange(ProgramBuilder& program, const ExchangeStep& step,
                                                 const StepChain& chain);

}  // namespace weft::compiler
