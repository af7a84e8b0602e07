/// A network that compile_sharded has spread over a slice, on arrays in host memory.
#pragma once
#include <cstdint>
#include <vector>

#include "host/compiler/graph.hpp"
#include "host/compiler/sharded/compile_sharded.hpp"
#include "host/runtime/slice_session.hpp"

namespace weft::runtime {

struct ShardedResult {
  std::vector<std::vector<float>> outputs;       ///< of each output of the network, all rows and columns
  std::vector<uint64_t> start_cycle, end_cycle;  ///< by chip, as in SliceResult
};

/// Cuts the inputs (values of each input of the network, row-major; rounded to bf16) into what each chip gets, runs
/// kernels[c] on chip c, and puts the outputs together from what the chips have. INVALID_ARGUMENT: not an input of
/// each, or one of another size; and errors of SliceSession::run.
[[nodiscard]] Result<ShardedResult> run_sharded(SliceSession& session, const compiler::Graph& graph,
                                                const std::vector<compiler::ShardedKernel>& kernels,
                                                const std::vector<std::vector<float>>& inputs);

}  // namespace weft::runtime
