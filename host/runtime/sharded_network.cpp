// Rows and columns of dense arrays, to and from the arguments of chips.
#include "host/runtime/sharded_network.hpp"

#include <fmt/format.h>

#include <cstring>
#include <span>

#include "host/compiler/layout.hpp"

namespace weft::runtime {
namespace {

using compiler::ArgumentShard;
using compiler::Graph;
using compiler::ShardedKernel;

std::vector<std::byte> cut(const std::vector<float>& values, const compiler::Tensor& tensor,
                           const ArgumentShard& shard) {
  std::vector<float> part;
  for (uint64_t row = shard.rows.first; row < shard.rows.first + shard.rows.count; row++)
    for (uint64_t c = shard.columns.first; c < shard.columns.first + shard.columns.count; c++)
      part.push_back(values[row * tensor.columns + c]);
  if (part.empty()) return {};
  return compiler::pack_rows_as(part, shard.rows.count, shard.columns.count, tensor.dtype);
}

void put(std::vector<float>& values, uint64_t columns, const ArgumentShard& shard,
         const std::vector<std::byte>& bytes) {
  if (shard.columns.count == 0) return;
  const auto dense = compiler::unpack_rows(bytes, shard.rows.count, shard.columns.count, 4);
  for (uint64_t row = 0; row < shard.rows.count; row++)
    std::memcpy(&values[(shard.rows.first + row) * columns + shard.columns.first],
                &dense[row * shard.columns.count * 4], shard.columns.count * 4);
}

}  // namespace

Result<ShardedResult> run_sharded(SliceSession& session, const Graph& graph, const std::vector<ShardedKernel>& sharded,
                                  const std::vector<std::vector<float>>& inputs) {
  if (inputs.size() != graph.inputs.size())
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("{} arrays for a network of {} inputs", inputs.size(), graph.inputs.size())};
  for (size_t i = 0; i < inputs.size(); i++)
    if (const auto& tensor = graph.tensors[graph.inputs[i]]; inputs[i].size() != tensor.rows * tensor.columns)
      return Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("{} elements for input '{}' of {} x {}", inputs[i].size(),
                                                            tensor.name, tensor.rows, tensor.columns)};
  std::vector<compiler::Kernel> kernels;
  std::vector<ChipArguments> arguments;
  for (const ShardedKernel& chip : sharded) {
    kernels.push_back(chip.kernel);
    arguments.emplace_back();
    for (size_t i = 0; i < inputs.size(); i++)
      arguments.back().push_back(cut(inputs[i], graph.tensors[graph.inputs[i]], chip.arguments[i]));
  }
  auto run = session.run(kernels, arguments);
  if (!run.ok()) return run.error();
  ShardedResult result;
  for (size_t i = 0; i < graph.outputs.size(); i++) {
    const auto& tensor = graph.tensors[graph.outputs[i]];
    auto& values = result.outputs.emplace_back(tensor.rows * tensor.columns);
    const size_t argument = inputs.size() + i;
    for (size_t chip = 0; chip < sharded.size(); chip++)
      put(values, tensor.columns, sharded[chip].arguments[argument], run.value().outputs[chip][argument]);
  }
  result.start_cycle = std::move(run.value().start_cycle);
  result.end_cycle = std::move(run.value().end_cycle);
  return result;
}

}  // namespace weft::runtime
