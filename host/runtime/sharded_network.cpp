// Tiles of whole tensors, to and from the arguments of chips.
#include "host/runtime/sharded_network.hpp"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <span>

#include "host/compiler/layout.hpp"

namespace weft::runtime {
namespace {

using compiler::ir::Tensor;
using compiler::ir::TensorPtr;

Status check(const compiler::ShardedPrograms& programs, const std::vector<TensorPtr>& inputs) {
  if (inputs.size() != programs.inputs.size())
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("{} arrays for a network of {} inputs", inputs.size(), programs.inputs.size())};
  const auto& graph = programs.chips.at(0).graph;
  for (size_t i = 0; i < inputs.size(); i++) {
    const auto& tensor = graph.tensors[graph.inputs[i]];
    const compiler::ir::TensorType local{compiler::ir::ElementType::kF32, tensor.dims};
    if (const auto whole = programs.inputs[i].whole(local); inputs[i]->type != whole)
      return Error{WEFT_ERROR_INVALID_ARGUMENT,
                   fmt::format("{} for input '{}' of {}", inputs[i]->type.text(), tensor.name, whole.text())};
  }
  return Ok{};
}

std::vector<std::byte> rows_of(const Tensor& tile, const compiler::Tensor& as) {
  const std::span values(tile.as<float>(), tile.type.count());
  return compiler::pack_rows_as(values, as.rows, as.columns, as.dtype);
}

}  // namespace

Result<ShardedResult> run_sharded(SliceSession& session, const compiler::ShardedPrograms& programs,
                                  const std::vector<TensorPtr>& inputs) {
  if (auto status = check(programs, inputs); !status.ok()) return status.error();
  std::vector<compiler::Kernel> kernels;
  std::vector<ChipArguments> arguments;
  for (size_t chip = 0; chip < programs.chips.size(); chip++) {
    const auto& [graph, kernel] = programs.chips[chip];
    kernels.push_back(kernel);
    std::vector<TensorPtr> own;
    for (size_t i = 0; i < inputs.size(); i++)
      own.push_back(compiler::ir::tile_of(inputs[i], programs.inputs[i], chip));
    for (const auto& extra : programs.extras)
      own.push_back(compiler::ir::tile_of(own.at(*extra.input), extra.tiling, chip));
    auto& given = arguments.emplace_back();
    for (size_t i = 0; i < own.size(); i++) given.push_back(rows_of(*own[i], graph.tensors[graph.inputs[i]]));
  }
  std::vector<ChipInputs> views;
  for (const ChipArguments& given : arguments) views.emplace_back(given.begin(), given.end());
  auto run = session.run(kernels, views);
  if (!run.ok()) return run.error();
  ShardedResult result;
  for (size_t i = 0; i < programs.outputs.size(); i++) {
    std::vector<TensorPtr> tiles;
    for (size_t chip = 0; chip < programs.chips.size(); chip++) {
      const auto& graph = programs.chips[chip].graph;
      const auto& tensor = graph.tensors[graph.outputs[i]];
      auto tile = std::make_shared<Tensor>(compiler::ir::TensorType{compiler::ir::ElementType::kF32, tensor.dims});
      const auto dense =
          compiler::unpack_rows(run.value().outputs[chip][graph.inputs.size() + i], tensor.rows, tensor.columns, 4);
      std::memcpy(tile->data.data(), dense.data(), std::min(dense.size(), tile->data.size()));
      tiles.push_back(std::move(tile));
    }
    result.outputs.push_back(compiler::ir::joined(tiles, programs.outputs[i]));
  }
  result.start_cycle = std::move(run.value().start_cycle);
  result.end_cycle = std::move(run.value().end_cycle);
  return result;
}

}  // namespace weft::runtime
