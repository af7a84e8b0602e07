/// Gives every tensor of a Graph its place in memory and its type, and packs the constants.
#pragma once
#include "host/compiler/compile.hpp"
#include "host/compiler/graph.hpp"

namespace weft::compiler {

/// Inputs become arguments of bf16 rows, outputs arguments of f32 rows, in the model's order; tensors between them lie
/// in scratch as bf16 rows; weights and biases become constants. UNSUPPORTED if there are more arguments than segments.
[[nodiscard]] Result<Program> lower(const spec::Chip& chip, const Graph& graph);

}  // namespace weft::compiler
