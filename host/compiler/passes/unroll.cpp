// Loops whose turns can be counted, written out one turn behind the other. The rest of the compiler then sees each turn
// with the numbers that belong to it: a slice at the loop's counter becomes a slice at a known place. A loop that is too
// long for that has its number of turns noted.
#include <algorithm>
#include <optional>

#include "host/compiler/ir/devices.hpp"
#include "host/compiler/ir/region.hpp"
#include "host/compiler/partition/value_views.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/compiler/passes/rewriter.hpp"
#include "host/compiler/reference/evaluate.hpp"

namespace weft::compiler::passes {
namespace {

using ir::Module;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

constexpr size_t kMaxTurns = 1024;       // of a loop that is written out
constexpr size_t kMaxCounted = 100'000;  // of a loop whose turns are counted, one by one
constexpr size_t kMaxOps = 20'000;       // of a module with its loops written out
constexpr size_t kMaxDepth = 8;          // of loops in loops

/// Whether a product stands in it that a device program may have, or a shift, as in the rounds that make random bits:
/// nothing else gains by being written out.
bool gains(const Module& module) {
  return std::ranges::any_of(module.ops(), [&](const Op& op) {
    if (std::ranges::any_of(op.regions, [](const auto& region) { return gains(*region); })) return true;
    if (op.kind == OpKind::kShiftLeft && is_word(module.type(op.results[0]).element)) return true;
    return (op.kind == OpKind::kConvolution || op.kind == OpKind::kDotGeneral) && !op.attributes.contains("precision");
  });
}

size_t ops_in(const Module& module) {
  size_t count = module.ops().size();
  for (const Op& op : module.ops())
    for (const auto& region : op.regions) count += ops_in(*region);
  return count;
}

/// What some outputs of a module need of it.
struct Slice {
  Module module;
  std::vector<size_t> inputs;   ///< of the whole module, by input of the slice
  bool same_everywhere = true;  ///< nothing in it asks which device runs it, or the host
};

Slice slice_of(const Module& module, const std::vector<size_t>& outputs) {
  std::vector<bool> needed(module.values().size());
  for (const size_t i : outputs) needed[index_of(module.outputs[i].value)] = true;
  for (size_t i = module.ops().size(); i-- > 0;) {
    const Op& op = module.ops()[i];
    if (std::ranges::none_of(op.results, [&](ValueId result) { return needed[index_of(result)]; })) continue;
    for (const ValueId result : op.results) needed[index_of(result)] = true;
    for (const ValueId operand : op.operands) needed[index_of(operand)] = true;
  }
  Slice slice;
  std::vector<ValueId> values(module.values().size());
  for (const Op& op : module.ops()) {
    if (!needed[index_of(op.results[0])]) continue;
    Op copy = op;
    copy.results.clear();
    for (auto& operand : copy.operands) operand = values[index_of(operand)];
    slice.same_everywhere = slice.same_everywhere && op.kind != OpKind::kManual && !ir::reads_outside(op);
    const ValueId first = slice.module.add(std::move(copy));
    const auto& results = slice.module.op_of(first).results;
    for (size_t r = 0; r < results.size(); r++) values[index_of(op.results[r])] = results[r];
    if (op.kind != OpKind::kParameter) continue;
    slice.module.inputs.push_back(first);
    slice.inputs.push_back(
        static_cast<size_t>(std::ranges::find(module.inputs, op.results[0]) - module.inputs.begin()));
  }
  for (const size_t i : outputs)
    slice.module.outputs.push_back({module.outputs[i].name, values[index_of(module.outputs[i].value)]});
  return slice;
}

/// How often the loop turns, found by running the part of it that decides that; nothing: it depends on what is computed.
std::optional<size_t> turns_of(const Module& to, const Op& loop) {
  const auto carried = static_cast<size_t>(loop.integer("carried"));
  const Slice condition = slice_of(*loop.regions[0], {0});
  std::vector<size_t> deciding;
  std::vector<ir::TensorPtr> state(loop.operands.size());
  const auto take = [&](const std::vector<size_t>& inputs) {
    for (const size_t i : inputs) {
      if (i < carried && std::ranges::find(deciding, i) == deciding.end()) deciding.push_back(i);
      if (state[i]) continue;
      state[i] = to.op_of(loop.operands[i]).constant;
      if (!state[i]) return false;
    }
    return true;
  };
  if (!condition.same_everywhere || !take(condition.inputs)) return std::nullopt;
  Slice turn;
  for (size_t known = SIZE_MAX; known != deciding.size();) {
    known = deciding.size();
    turn = slice_of(*loop.regions[1], deciding);
    if (!turn.same_everywhere || !take(turn.inputs)) return std::nullopt;
  }
  const auto run = [&](const Slice& slice) {
    std::vector<ir::TensorPtr> inputs;
    for (const size_t i : slice.inputs) inputs.push_back(state[i]);
    return reference::evaluate(slice.module, inputs);
  };
  for (size_t turns = 0; turns <= kMaxCounted; turns++) {
    const auto goes_on = run(condition);
    if (!goes_on.ok()) return std::nullopt;
    if (goes_on.value()[0]->integer(0) == 0) return turns;
    const auto next = run(turn);
    if (!next.ok()) return std::nullopt;
    for (size_t i = 0; i < deciding.size(); i++) state[deciding[i]] = next.value()[i];
  }
  return std::nullopt;
}

/// One level of loops; `changed`: there was one.
Module without_outer_loops(const Module& module, bool& changed) {
  Rewriter rewriter(module);
  size_t room = kMaxOps > module.ops().size() ? kMaxOps - module.ops().size() : 0;
  for (const Op& op : module.ops()) {
    auto mapped = rewriter.mapped(op);
    std::optional<size_t> turns;
    if (op.kind == OpKind::kWhile && gains(*op.regions[1])) turns = turns_of(rewriter.to(), mapped);
    const size_t size = turns ? *turns * ops_in(*op.regions[1]) : 0;
    if (!turns || *turns > kMaxTurns || size > room) {
      if (turns) mapped.attributes["turns"] = static_cast<int64_t>(*turns);
      rewriter.add(op, std::move(mapped));
      continue;
    }
    room -= size;
    changed = true;
    const auto carried = static_cast<ptrdiff_t>(op.integer("carried"));
    std::vector<ValueId> state = mapped.operands;
    for (size_t turn = 0; turn < *turns; turn++)
      std::ranges::copy(ir::write_out(rewriter.to(), *op.regions[1], state), state.begin());
    rewriter.replace_all(op, {state.begin(), state.begin() + carried});
  }
  return rewriter.finish();
}

}  // namespace

Module unroll(const Module& module) {
  bool changed = false;
  Module result = without_outer_loops(module, changed);
  for (size_t depth = 1; changed && depth < kMaxDepth; depth++) {
    result = fold(simplify(result));
    changed = false;
    result = without_outer_loops(result, changed);
  }
  return result;
}

}  // namespace weft::compiler::passes
