/// A model on the chips of a slice as one launch: a kernel for each chip, in which what chips send each other leaves as
/// it is computed. docs/sharding.md.
#pragma once
#include <vector>

#include "host/compiler/graph.hpp"
#include "host/compiler/program.hpp"
#include "host/compiler/sharded/sharded_module.hpp"

namespace weft::compiler {

/// What a chip runs.
struct ChipProgram {
  Graph graph;
  Kernel kernel;  ///< with an argument for each input and each output of the graph
};

struct ShardedPrograms {
  std::vector<ChipProgram> chips;
  std::vector<ir::Tiling> inputs, outputs;  ///< of the whole model's
  std::vector<localise::Extra> extras;      ///< inputs of the graphs behind those of the model; tiles of these
  bool rows_meet = false;                   ///< of a ShardedModule
};

/// UNSUPPORTED, NO_DEVICE_MEMORY: part of the model is for the host, its values do not fit VMEM, or chips would send each
/// other what is no whole block of N columns. Errors of shard_module.
[[nodiscard]] Result<ShardedPrograms> compile_sharded(const spec::Chip& chip, const ir::Module& module,
                                                      const SliceShape& slice, const Sharding& sharding);

}  // namespace weft::compiler
