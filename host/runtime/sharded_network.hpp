/// A model that compile_sharded has spread over a slice, on arrays in host memory.
#pragma once
#include <cstdint>
#include <vector>

#include "host/compiler/sharded/compile_sharded.hpp"
#include "host/runtime/slice_session.hpp"

namespace weft::runtime {

struct ShardedResult {
  std::vector<compiler::ir::TensorPtr> outputs;  ///< whole, in the model's order
  std::vector<uint64_t> start_cycle, end_cycle;  ///< by chip, as in SliceResult
};

/// Cuts the inputs (whole, f32, in the model's order) into what each chip gets, runs the chips' kernels, and puts the
/// outputs together from what the chips have. INVALID_ARGUMENT: not an input of each, or one of another type; and errors
/// of SliceSession::run.
[[nodiscard]] Result<ShardedResult> run_sharded(SliceSession& session, const compiler::ShardedPrograms& programs,
                                                const std::vector<compiler::ir::TensorPtr>& inputs);

}  // namespace weft::runtime
