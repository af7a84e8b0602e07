/// A product whose operands do not fit VMEM: they come from memory in row chunks and K chunks, and the result leaves
/// block by block.
#pragma once
#include "host/compiler/command_graph/command_graph.hpp"
#include "host/compiler/executable/program_builder.hpp"
#include "host/compiler/step.hpp"
#include "host/compiler/tiles/gemm_tiling.hpp"

namespace weft::compiler::tiles {

/// Appends the step's commands, in an order in which they can run one by one; of its operands at most so much is in VMEM
/// at a time as the plan says. `plan`: plan_gemm() of the step.
void stream_product(command_graph::CommandGraph& graph, ProgramBuilder& program, const DenseStep& step,
                    const GemmTiling& plan);

/// Commands that it appends, about.
[[nodiscard]] double streamed_commands(const GemmTiling& plan);

}  // namespace weft::compiler::tiles
