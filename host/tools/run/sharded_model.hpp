/// Any model on the chips of a slice, each chip on its part (docs/sharding.md).
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "host/compiler/localise/localise.hpp"
#include "host/compiler/sharded/sharding.hpp"
#include "host/runtime/chip_set.hpp"
#include "host/tools/run/model_program.hpp"

namespace weft::tools {

/// One program for all chips, chip by chip on its tiles.
struct ShardedModel {
  ModelProgram model;
  std::vector<compiler::ir::Tiling> inputs, outputs;  ///< of the whole model's
  std::vector<compiler::localise::Extra> extras;
  std::map<std::string, uint64_t> replicated;  ///< operators that each chip computes whole
};

/// `batch` cuts the first dimension of the inputs that have as many rows as the first one, and of the outputs that have as
/// many. INVALID_ARGUMENT: it does not come out even, or an axis cuts two things; errors of localise and compile_parts.
[[nodiscard]] Result<ShardedModel> compile_sharded_model(const compiler::ir::Module& module, const spec::Chip& chip,
                                                         const compiler::SliceShape& shape,
                                                         const compiler::Sharding& sharding);

struct ShardedModelResult {
  std::vector<compiler::ir::TensorPtr> outputs;  ///< whole, in the model's order
  uint64_t device_cycles = 0;                    ///< of the launches of the chip that has most of them
  uint64_t macs = 0;                             ///< of all chips
  double host_seconds = 0;                       ///< of the chip whose islands take longest
};

/// On whole inputs, in the model's order. Errors of run_parts, of the first chip that has failed.
[[nodiscard]] Result<ShardedModelResult> run_sharded_model(const ShardedModel& model,
                                                           const std::vector<compiler::ir::TensorPtr>& inputs,
                                                           runtime::ChipSet& chips);

}  // namespace weft::tools
