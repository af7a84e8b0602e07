// The program of all chips, chip by chip with its constants; a graph, a program, a kernel of each.
#include "host/compiler/sharded/compile_sharded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "host/compiler/collectives/barrier_signature.hpp"
#include "host/compiler/ir/builder.hpp"
#include "host/compiler/lower.hpp"
#include "host/compiler/partition/device_collective.hpp"
#include "host/compiler/partition/device_graph.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/compiler/passes/rewriter.hpp"
#include "host/compiler/tiles/resident_program.hpp"

namespace weft::compiler {
namespace {

/// The program with the chip's tiles of constants in the place of inputs.
ir::Module with_constants(const ir::Module& module, const std::vector<std::optional<ir::TensorPtr>>& constants) {
  passes::Rewriter rewriter(module);
  ir::Builder builder(rewriter.to());
  for (const ir::Op& op : module.ops()) {
    const auto input = std::ranges::find(module.inputs, op.results[0]) - module.inputs.begin();
    if (op.kind == ir::OpKind::kParameter && constants.at(static_cast<size_t>(input)))
      rewriter.replace(op, builder.constant(*constants[static_cast<size_t>(input)]));
    else
      rewriter.copy(op);
  }
  return rewriter.finish();
}

std::array<uint32_t, 3> coordinates(const SliceShape& slice, uint32_t chip) {
  return {chip % slice.size[0], chip / slice.size[0] % slice.size[1], chip / slice.size[0] / slice.size[1]};
}

/// Of the chips that send each other data, as a box around this one; without header. None: it sends nothing.
std::optional<spec::BarrierCommand> barrier_of(const SliceShape& slice, uint32_t number, const Graph& graph) {
  std::array<bool, 3> axes{};
  std::vector<uint64_t> signed_for;
  for (const Node& node : graph.nodes)
    if (const auto* collective = std::get_if<CollectiveNode>(&node)) {
      for (const uint16_t chip : collective->group.chips)
        for (unsigned axis = 0; axis < 3; axis++)
          axes[axis] = axes[axis] || coordinates(slice, chip)[axis] != coordinates(slice, number)[axis];
      const Tensor& x = graph.tensors[collective->x];
      signed_for.insert(signed_for.end(), {static_cast<uint64_t>(collective->what), collective->group.chips.size(),
                                           x.rows, x.columns, x.dtype});
    }
  if (signed_for.empty()) return std::nullopt;
  spec::BarrierCommand barrier;
  std::array<uint16_t, 3> count{1, 1, 1}, stride{};
  uint32_t base = 0, step = 1;
  for (unsigned axis = 0; axis < 3; axis++) {
    if (axes[axis])
      count[axis] = static_cast<uint16_t>(slice.size[axis]), stride[axis] = static_cast<uint16_t>(step);
    else
      base += coordinates(slice, number)[axis] * step;
    step *= slice.size[axis];
  }
  barrier.base = static_cast<uint16_t>(base);
  barrier.count0 = count[0], barrier.count1 = count[1], barrier.count2 = count[2];
  barrier.stride0 = stride[0], barrier.stride1 = stride[1], barrier.stride2 = stride[2];
  barrier.signature = barrier_signature(signed_for);
  return barrier;
}

/// Whole blocks of N columns are what a place in VMEM has.
Status check_columns(const spec::Chip& chip, const Graph& graph) {
  for (const Node& node : graph.nodes)
    if (const auto* collective = std::get_if<CollectiveNode>(&node)) {
      if (collective->what == Exchange::kAllSums) continue;
      const bool sums = collective->what == Exchange::kOwnSums;
      const uint64_t columns = graph.tensors[sums ? collective->y : collective->x].columns;
      if (columns % chip.n != 0)
        return Error{WEFT_ERROR_UNSUPPORTED, fmt::format("{}: {} columns of each chip are no whole blocks of {}",
                                                         collective->name, columns, chip.n)};
    }
  return Ok{};
}

class Compilation {
 public:
  Compilation(const spec::Chip& chip, const SliceShape& shape, const ir::Module& local,
              const std::vector<localise::Extra>& extras)
      : chip_(chip), local_(local), extras_(extras), slice_{shape, std::vector<uint32_t>(shape.chips())} {
    std::iota(slice_.chips.begin(), slice_.chips.end(), 0U);
  }

  /// What chips send each other lands in VMEM of each of them, or in memory of each.
  [[nodiscard]] Result<std::vector<ChipProgram>> all(bool lands_in_memory) const {
    std::vector<ChipProgram> programs;
    for (uint32_t number = 0; number < slice_.shape.chips(); number++) {
      auto program = of(number, lands_in_memory);
      if (!program.ok())
        return Error{program.error().code, fmt::format("chip {}: {}", number, program.error().message)};
      programs.push_back(std::move(program.value()));
    }
    return programs;
  }

 private:
  [[nodiscard]] Result<ChipProgram> of(uint32_t number, bool lands_in_memory) const {
    std::vector<std::optional<ir::TensorPtr>> constants(local_.inputs.size());
    const size_t first = local_.inputs.size() - extras_.size();
    for (size_t i = 0; i < extras_.size(); i++)
      if (extras_[i].constant) constants[first + i] = ir::tile_of(extras_[i].constant, extras_[i].tiling, number);
    auto graph = whole_device_graph(with_constants(local_, constants), {&slice_, number});
    if (!graph.ok()) return graph.error();
    if (auto status = check_columns(chip_, graph.value()); !status.ok()) return status.error();
    auto program = lower(chip_, graph.value());
    if (!program.ok()) return program.error();
    program.value().barrier = barrier_of(slice_.shape, number, graph.value());
    program.value().lands_in_memory = lands_in_memory;
    program.value().link_bytes_per_second = slice_.shape.link_bytes_per_second;
    auto kernel = program.value().barrier ? tiles::compile_resident(chip_, program.value())
                                          : tiles::compile_fitting(chip_, program.value());
    if (!kernel.ok()) return kernel.error();
    return ChipProgram{std::move(graph.value()), std::move(kernel.value())};
  }

  const spec::Chip& chip_;
  const ir::Module& local_;
  const std::vector<localise::Extra>& extras_;
  DeviceSlice slice_;
};

}  // namespace

Result<ShardedPrograms> compile_sharded(const spec::Chip& chip, const ir::Module& module, const SliceShape& slice,
                                        const Sharding& sharding) {
  auto sharded = shard_module(module, slice, sharding, chip.n);
  if (!sharded.ok()) return sharded.error();
  ShardedModule& made = sharded.value();
  // Chips that computed other things would wait for each other: passes see no chip's constants.
  auto local = passes::run_all(std::move(made.module));
  if (!local.ok()) return local.error();
  ShardedPrograms programs;
  const Compilation compilation(chip, slice, local.value(), made.extras);
  auto chips = compilation.all(false);
  if (!chips.ok() && chips.error().code == WEFT_ERROR_NO_DEVICE_MEMORY) chips = compilation.all(true);
  if (!chips.ok()) return chips.error();
  programs.chips = std::move(chips.value());
  programs.rows_meet = made.rows_meet;
  programs.inputs = std::move(made.inputs), programs.outputs = std::move(made.outputs);
  for (auto& extra : made.extras)
    if (!extra.constant) programs.extras.push_back(std::move(extra));
  return programs;
}

}  // namespace weft::compiler
