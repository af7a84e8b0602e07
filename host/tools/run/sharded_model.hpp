/// Any model on the chips of a slice, each chip on its part (docs/sharding.md).
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/compiler/sharded/compile_sharded.hpp"
#include "host/runtime/slice_session.hpp"
#include "host/tools/run/model_program.hpp"

namespace weft::tools {

/// A model on several chips.
struct ShardedModel {
  /// A launch whose chips send each other what they compute. None: `refused` says why, and the other members have the
  /// model in parts.
  std::optional<compiler::ShardedPrograms> programs;
  std::string refused;
  ModelProgram model;                                 ///< of each chip, on its tiles
  std::vector<compiler::ir::Tiling> inputs, outputs;  ///< of the whole model's
  std::vector<compiler::localise::Extra> extras;
  std::map<std::string, uint64_t> replicated;  ///< operators that each chip computes whole
  bool rows_meet = false;                      ///< chips with different rows of the batch send each other something
};

/// INVALID_ARGUMENT: a batch that does not come out even, or an axis that cuts two things; errors of localise and
/// compile_parts.
[[nodiscard]] Result<ShardedModel> compile_sharded_model(const compiler::ir::Module& module, const spec::Chip& chip,
                                                         const compiler::SliceShape& shape,
                                                         const compiler::Sharding& sharding);

/// The same in parts, whatever a launch would take.
[[nodiscard]] Result<ShardedModel> compile_sharded_parts(const compiler::ir::Module& module, const spec::Chip& chip,
                                                         const compiler::SliceShape& shape,
                                                         const compiler::Sharding& sharding);

struct ShardedModelResult {
  std::vector<compiler::ir::TensorPtr> outputs;  ///< whole, in the model's order
  uint64_t device_cycles = 0;                    ///< of the launches of the chip that has most of them
  uint64_t macs = 0;                             ///< of all chips
  double wall_seconds = 0;                       ///< of the run, where it was measured
  double host_seconds = 0;                       ///< of the chip whose islands take longest
};

/// On whole inputs, in the model's order. Errors of run_parts, of the first chip that has failed.
[[nodiscard]] Result<ShardedModelResult> run_sharded_model(const ShardedModel& model,
                                                           const std::vector<compiler::ir::TensorPtr>& inputs,
                                                           runtime::SliceSession& session);

}  // namespace weft::tools
