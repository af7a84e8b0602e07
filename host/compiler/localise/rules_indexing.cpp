// Elements at computed places: whole windows stay in parts, and so do the places themselves, and slices of the operand
// along which places count up.
#include <algorithm>

#include "host/compiler/localise/localiser.hpp"

namespace weft::compiler::localise {
namespace {

using ir::Dims;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

bool contains(const Dims& list, size_t d) { return std::ranges::find(list, static_cast<int64_t>(d)) != list.end(); }

/// Dimensions of a gather's result, or of a scatter's updates, and where they come from: a dimension of the operand that
/// windows have all of, or one of the indices; -1: neither. Both: place i along it is in slice i of the operand.
struct Place {
  int64_t operand = -1, indices = -1;
  [[nodiscard]] bool paired() const { return operand >= 0 && indices >= 0; }
};

/// By dimension of the indices: the dimension of the operand whose places count up along it; -1: none. `map`: dimensions
/// of the operand by component.
std::vector<int64_t> counted_along(const Localiser& program, const Op& op, const Dims& map) {
  const Dims &operand = program.dims(op.operands[0]), &indices = program.dims(op.operands[1]);
  std::vector<int64_t> counted(indices.size() + 1, -1);  // the components may be of a dimension that is not there
  const Op& all = program.from().op_of(op.operands[1]);
  const int64_t vector = op.integer("index_vector_dim");
  if (all.kind != OpKind::kConcatenate || all.integer("dimension") != vector) return counted;
  size_t component = 0;
  for (const ValueId part : all.operands) {
    const Op& made = program.from().op_of(part);
    if (made.kind == OpKind::kIota && made.integer("dimension") != vector) {
      const auto d = static_cast<size_t>(made.integer("dimension"));
      if (indices[d] == operand[static_cast<size_t>(map[component])]) counted[d] = map[component];
    }
    component += static_cast<size_t>(program.dims(part)[static_cast<size_t>(vector)]);
  }
  return counted;
}

/// `gone`: dimensions of the operand that windows do not have; `at`: the window's dimensions in the result.
std::vector<Place> places_of(const Dims& operand, const Dims& windows, const Dims& gone, const Dims& at, size_t rank,
                             int64_t vector, const std::vector<int64_t>& counted) {
  std::vector<Place> places(rank);
  size_t window = 0, batch = 0;
  for (size_t d = 0; d < rank; d++) {
    if (!contains(at, d)) {
      if (static_cast<int64_t>(batch) == vector) batch++;
      if (const int64_t slice = counted[batch]; slice >= 0 && contains(gone, static_cast<size_t>(slice)))
        places[d].operand = slice;
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
  Shards windows;                ///< of the operand, where windows have all
  std::vector<Cut> of_indices;   ///< of places that may be anywhere in the operand
  std::vector<size_t> counting;  ///< dimensions of the indices in whose parts places count from 0
};
Chosen choose(const Localiser& program, const std::vector<Place>& places, const Op& op, const Shards& wanted) {
  const size_t rank = program.dims(op.operands[0]).size();
  Chosen chosen{whole(places.size()), whole(rank), whole(program.dims(op.operands[1]).size()), whole(rank), {}, {}};
  const Shards operand = program.shards(op.operands[0]), indices = program.shards(op.operands[1]);
  std::vector<Cut> taken;
  for (const bool of_indices : {true, false})
    for (size_t d = 0; d < places.size(); d++) {
      const Place& place = places[d];
      if (of_indices ? place.indices < 0 : place.indices >= 0 || place.operand < 0) continue;
      Shards candidates;
      if (of_indices) candidates.push_back(indices[static_cast<size_t>(place.indices)]);
      if (place.operand >= 0) candidates.push_back(operand[static_cast<size_t>(place.operand)]);
      if (!wanted.empty()) candidates.push_back(wanted[d]);
      const auto cut = std::ranges::find_if(candidates, [&](const Cut& c) { return program.take(taken, c); });
      if (cut == candidates.end()) continue;
      chosen.result[d] = *cut;
      if (of_indices) chosen.indices[static_cast<size_t>(place.indices)] = *cut;
      if (place.operand >= 0) chosen.operand[static_cast<size_t>(place.operand)] = *cut;
      if (place.paired())
        chosen.counting.push_back(static_cast<size_t>(place.indices));
      else
        (of_indices ? chosen.of_indices.emplace_back() : chosen.windows[static_cast<size_t>(place.operand)]) = *cut;
    }
  return chosen;
}

/// The places in the chosen parts.
ValueId indices_of(Localiser& program, const Op& op, const Chosen& chosen) {
  if (chosen.counting.empty()) return program.need(op.operands[1], chosen.indices);
  const Op& all = program.from().op_of(op.operands[1]);
  const auto vector = static_cast<size_t>(op.integer("index_vector_dim"));
  std::vector<ValueId> parts;
  for (const ValueId part : all.operands) {
    const Op& made = program.from().op_of(part);
    const bool counts =
        made.kind == OpKind::kIota &&
        std::ranges::find(chosen.counting, static_cast<size_t>(made.integer("dimension"))) != chosen.counting.end();
    if (counts)
      parts.push_back(program.add(made, {}, {{"dims", local_dims(program.dims(part), chosen.indices)}}));
    else
      parts.push_back(program.need(part, chosen.indices));
  }
  return program.to().concatenate(parts, vector);
}

}  // namespace

bool gather_by_rule(Localiser& program, const Op& op) {
  const Dims &operand = program.dims(op.operands[0]), &sizes = op.list("slice_sizes");
  const auto places = places_of(operand, sizes, op.list("collapsed_slice_dims"), op.list("offset_dims"),
                                program.dims(op.results[0]).size(), op.integer("index_vector_dim"),
                                counted_along(program, op, op.list("start_index_map")));
  const Chosen chosen = choose(program, places, op, {});
  if (is_whole(chosen.result)) return false;
  const ValueId local = program.add(op, {program.need(op.operands[0], chosen.operand), indices_of(program, op, chosen)},
                                    {{"slice_sizes", local_dims(sizes, chosen.windows)}});
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
  auto places = places_of(operand, windows, gone, at, updates.size(), op.integer("index_vector_dim"),
                          counted_along(program, op, op.list("scatter_dims_to_operand_dims")));
  // Sums of updates in parts are added up; another operation depends on what is there.
  if (op.kind != ir::OpKind::kScatter || op.word("kind") != "add")
    for (auto& place : places)
      if (!place.paired()) place.indices = -1;
  const Chosen chosen = choose(program, places, op, program.shards(op.operands[2]));
  if (is_whole(chosen.result)) return false;
  const ValueId indices = indices_of(program, op, chosen), parts = program.need(op.operands[2], chosen.result);
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
