/// Turns a SoftmaxLossStep into commands: N rows at a time, transposed, so that classes lie in rows and any number of
/// them is reduced across rows, one chain in ascending order.
#pragma once
#include "host/compiler/chunk_pipeline.hpp"

namespace weft::compiler {

/// Appends the step's commands. Returns the number of its stores. NO_DEVICE_MEMORY if N rows do not fit a quarter of
/// VMEM.
[[nodiscard]] Result<uint64_t> schedule_softmax_loss(ProgramBuilder& program, const SoftmaxLossStep& step,
                                                     const StepChain& chain);

}  // namespace weft::compiler
