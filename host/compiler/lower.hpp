/// Gives every tensor of a Graph its place in memory and its type, and packs the constants.
#pragma once
#include <vector>

#include "host/compiler/graph.hpp"
#include "host/compiler/program.hpp"

namespace weft::compiler {

/// kOne: all inputs are one argument and all outputs another, one tensor behind the other.
enum class Arguments : uint8_t { kEach, kOne };

/// Inputs become arguments of rows in their types, outputs arguments of f32 or i32 rows, in the model's order; tensors
/// between them lie in scratch; weights and biases become constants. UNSUPPORTED if there are more arguments than
/// segments; errors of check_graph.
[[nodiscard]] Result<Program> lower(const spec::Chip& chip, const Graph& graph, Arguments arguments = Arguments::kEach);

/// Tensors of each argument: so many inputs one behind the other, then so many outputs.
struct JoinedArguments {
  std::vector<size_t> inputs, outputs;
};
/// As with kOne, but with several arguments. One without tensors is left out.
[[nodiscard]] Result<Program> lower_joined(const spec::Chip& chip, const Graph& graph, const JoinedArguments& joined);

}  // namespace weft::compiler
