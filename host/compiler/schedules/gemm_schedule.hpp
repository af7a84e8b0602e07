/// Turns a DenseStep into commands: loads, MATMULs, epilogues and stores, tied by semaphores.
#pragma once
#include "host/compiler/executable/program_builder.hpp"
#include "host/compiler/result.hpp"
#include "host/compiler/schedules/gemm_tiling.hpp"
#include "host/compiler/step.hpp"

namespace weft::compiler {

/// How a step is chained to its neighbours: its first load waits for `stores_before` posts of kStepDone, and its stores
/// post kStepDone if `announce` (a later step waits for them).
struct StepChain {
  uint64_t stores_before = 0;
  bool announce = false;
};

/// Appends the step's commands. Returns how often its stores post kStepDone. NO_DEVICE_MEMORY, UNSUPPORTED (the message
/// says which limit).
[[nodiscard]] Result<uint64_t> schedule_gemm(ProgramBuilder& program, const DenseStep& step, const StepChain& chain);

}  // namespace weft::compiler
