/// From a network and a sharding to a kernel for each chip of a slice. docs/sharding.md.
#pragma once
#include <vector>

#include "host/compiler/executable/executable_writer.hpp"
#include "host/compiler/lower.hpp"

namespace weft::compiler {

/// A kernel for each chip, and what its arguments hold.
struct ShardedKernel {
  Kernel kernel;
  std::vector<ArgumentShard> arguments;
};

/// Lowers and compiles for all chips of the slice. Errors of lower_sharded and compile; the message names the chip.
[[nodiscard]] Result<std::vector<ShardedKernel>> compile_sharded(const spec::Chip& chip, const Graph& graph,
                                                                 const SliceShape& slice, const Sharding& sharding);

}  // namespace weft::compiler
