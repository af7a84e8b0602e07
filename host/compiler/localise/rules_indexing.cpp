// Elements at computed places: whole windows stay in parts, and so do the places themselves.
#include <algorithm>

#include "host/compiler/localise/localiser.hpp"

namespace weft::compiler::localise {
namespace {

using ir::Dims;
using ir::Op;
using ir::ValueId;

bool contains(const Dims& list, size_t d) { return std::ranges::find(list, static_cast<int64_t>(d)) != list.end(); }

/// Dimensions of a gather's result, or of a scatter's updates, and where they come from: a dimension of the operand that
/// windows have all of, or one of the indices; -1: neither.
struct Place {
  int64_t operand = -1, indices = -1;
};

/// `gone`: dimensions of the operand that windows do not have; `at`: the window's dimensions in the result.
std::vector<Place> places_of(const Dims& operand, const Dims& windows, const Dims& gone, const Dims& at, size_t rank,
                             int64_t vector) {
  std::vector<Place> places(rank);
  size_t window = 0, batch = 0;
  for (size_t d = 0; d < rank; d++) {
    if (!contains(at, d)) {
      if (static_cast<int64_t>(batch) == vector) batch++;
      places[d].indices = static_cast<int64_t>(batch++);
      continue;
    }
    while (contains(gone, window)) window++;
    if (windows[window] == operand[window]) places[d].operand = static_cast<int64_t>(window);
    window++;
  }
  return places;
}

/// Cuts by dimension of the result, or the updates, as many as fit together; first those of the places.
struct Chosen {
  Shards result, operand, indices;
  std::vector<Cut> of_indices;
};
Chosen choose(const Localiser& program, const std::vector<Place>& places, const Op& op, const Shards& wanted) {
  Chosen chosen{
      whole(places.size()), whole(program.dims(op.operands[0]).size()), whole(program.dims(op.operands[1]).size()), {}};
  const Shards operand = program.shards(op.operands[0]), indices = program.shards(op.operands[1]);
  std::vector<Cut> taken;
  for (const bool of_indices : {true, false})
    for (size_t d = 0; d < places.size(); d++) {
      const int64_t from = of_indices ? places[d].indices : places[d].operand;
      if (from < 0) continue;
      const auto at = static_cast<size_t>(from);
      const Cut& own = of_indices ? indices[at] : operand[at];
      for (const Cut* cut : {&own, wanted.empty() ? &own : &wanted[d]}) {
        if (!program.take(taken, *cut)) continue;
        chosen.result[d] = (of_indices ? chosen.indices : chosen.operand)[at] = *cut;
        if (of_indices) chosen.of_indices.push_back(*cut);
        break;
      }
    }
  return chosen;
}

}  // namespace

bool gather_by_rule(Localiser& program, const Op& op) {
  const Dims &operand = program.dims(op.operands[0]), &sizes = op.list("slice_sizes");
  const auto places = places_of(operand, sizes, op.list("collapsed_slice_dims"), op.list("offset_dims"),
                                program.dims(op.results[0]).size(), op.integer("index_vector_dim"));
  const Chosen chosen = choose(program, places, op, {});
  if (is_whole(chosen.result)) return false;
  const ValueId local =
      program.add(op, {program.need(op.operands[0], chosen.operand), program.need(op.operands[1], chosen.indices)},
                  {{"slice_sizes", local_dims(sizes, chosen.operand)}});
  program.define(op.results[0], chosen.result, local);
  return true;
}

bool scatter_by_rule(Localiser& program, const Op& op) {
  const Dims& operand = program.dims(op.operands[0]);
  const Dims &gone = op.list("inserted_window_dims"), &at = op.list("update_window_dims"),
             &updates = program.dims(op.operands[2]);
  Dims windows(operand.size(), 1);
  size_t next = 0;
  for (size_t d = 0; d < updates.size(); d++) {
    if (!contains(at, d)) continue;
    while (contains(gone, next)) next++;
    windows[next++] = updates[d];
  }
  auto places = places_of(operand, windows, gone, at, updates.size(), op.integer("index_vector_dim"));
  // Sums of updates in parts are added up; another operation depends on what is there.
  if (op.kind != ir::OpKind::kScatter || op.word("kind") != "add")
    for (auto& place : places) place.indices = -1;
  const Chosen chosen = choose(program, places, op, program.shards(op.operands[2]));
  if (is_whole(chosen.result)) return false;
  const ValueId indices = program.need(op.operands[1], chosen.indices),
                parts = program.need(op.operands[2], chosen.result);
  if (chosen.of_indices.empty()) {
    program.define(op.results[0], chosen.operand,
                   program.add(op, {program.need(op.operands[0], chosen.operand), indices, parts}));
    return true;
  }
  auto& b = program.to();
  const ir::TensorType local{program.from().type(op.operands[0]).element, local_dims(operand, chosen.operand)};
  ValueId sum = program.add(op, {b.fill(local, 0), indices, parts});
  sum = program.all_reduce(sum, "add", chosen.operand, chosen.of_indices);
  program.define(op.results[0], chosen.operand, b.plus(program.need(op.operands[0], chosen.operand), sum));
  return true;
}

}  // namespace weft::compiler::localise
