/// A model in L1, spread over the chips of a slice: the program that each of them runs. docs/sharding.md.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/compiler/localise/localise.hpp"
#include "host/compiler/sharded/sharding.hpp"

namespace weft::compiler {

/// One program for all chips, chip by chip on its tiles.
struct ShardedModule {
  ir::Module module;
  std::vector<ir::Tiling> inputs, outputs;     ///< of the whole model's
  std::vector<localise::Extra> extras;         ///< inputs behind those of the model
  std::map<std::string, uint64_t> replicated;  ///< operators that each chip computes whole
  bool rows_meet = false;                      ///< chips with different rows of the batch send each other something
};

/// `batch` cuts the first dimension of the inputs that have as many rows as the first one, and of the outputs that have
/// as many. `unit`: sums of parts lie in parts of so many columns, where there are as many, and outputs as their operators
/// leave them; 0: sums are whole on each chip, and outputs are cut by rows alone.
/// INVALID_ARGUMENT: dimensions that the chips do not divide; errors of check_sharding and localise.
[[nodiscard]] Result<ShardedModule> shard_module(const ir::Module& module, const SliceShape& slice,
                                                 const Sharding& sharding, int64_t unit);

}  // namespace weft::compiler
