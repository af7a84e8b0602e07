/// Gives every tensor of a Graph its place in memory and its type, and packs the constants: for one chip, or for each
/// chip of a slice that shares the work.
#pragma once
#include <vector>

#include "host/compiler/compile.hpp"
#include "host/compiler/graph.hpp"
#include "host/compiler/sharded/sharding.hpp"

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

/// The part of a tensor that an argument of one chip holds; no columns: 16 bytes that nobody touches.
struct ArgumentShard {
  Span rows, columns;
};

struct ShardedProgram {
  Program program;
  std::vector<ArgumentShard> arguments;  ///< by argument
};

/// The program of chip `number` of the slice, as above but for its part of the rows and columns (docs/sharding.md).
/// Errors of lower and check_sharding; UNSUPPORTED: a batch over several chips, and tensors of different row counts.
[[nodiscard]] Result<ShardedProgram> lower_sharded(const spec::Chip& chip, const Graph& graph, const SliceShape& slice,
                                                   const Sharding& sharding, uint32_t number);

}  // namespace weft::compiler
