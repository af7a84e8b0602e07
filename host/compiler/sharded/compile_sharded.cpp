// The same steps for every chip, each with its own part.
#include "host/compiler/sharded/compile_sharded.hpp"

#include <fmt/format.h>

#include <utility>

#include "host/compiler/compile.hpp"

namespace weft::compiler {

Result<std::vector<ShardedKernel>> compile_sharded(const spec::Chip& chip, const Graph& graph, const SliceShape& slice,
                                                   const Sharding& sharding) {
  std::vector<ShardedKernel> kernels;
  for (uint32_t number = 0; number < slice.chips(); number++) {
    auto program = lower_sharded(chip, graph, slice, sharding, number);
    if (!program.ok()) return program.error();
    auto kernel = compile(chip, program.value().program);
    if (!kernel.ok()) return Error{kernel.error().code, fmt::format("chip {}: {}", number, kernel.error().message)};
    kernels.push_back({std::move(kernel.value()), std::move(program.value().arguments)});
  }
  return kernels;
}

}  // namespace weft::compiler
