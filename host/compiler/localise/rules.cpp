// Operators that compute element by element, move elements, or reduce: which dimensions stay in parts.
#include <algorithm>
#include <numeric>

#include "host/compiler/localise/localiser.hpp"

namespace weft::compiler::localise {
namespace {

using ir::Dims;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

bool contains(const Dims& list, size_t d) { return std::ranges::find(list, static_cast<int64_t>(d)) != list.end(); }

/// Cuts that the operands have, as many as go together; first those of the operand in most parts.
Shards common(const Localiser& program, const std::vector<ValueId>& operands, size_t rank) {
  std::vector<Shards> given;
  for (const ValueId value : operands) given.push_back(program.shards(value));
  std::ranges::stable_sort(given, [](const Shards& a, const Shards& b) { return parts_of(a) > parts_of(b); });
  Shards chosen = whole(rank);
  std::vector<Cut> taken;
  for (const auto& shards : given)
    for (size_t d = 0; d < rank; d++)
      if (chosen[d].whole() && program.take(taken, shards[d])) chosen[d] = shards[d];
  return chosen;
}

void define_results(Localiser& program, const Op& op, const Shards& shards, ValueId first) {
  const auto results = program.to().module().op_of(first).results;
  for (size_t i = 0; i < results.size(); i++) program.define(op.results[i], shards, results[i]);
}

/// All operands and results lie alike, but that dimensions marked in `entire` are in one part.
bool alike(Localiser& program, const Op& op, const std::vector<bool>& entire, size_t count, ir::Attributes more = {}) {
  const size_t rank = entire.size();
  const std::vector<ValueId> alike(op.operands.begin(), op.operands.begin() + static_cast<std::ptrdiff_t>(count));
  Shards shards = common(program, alike, rank);
  for (size_t d = 0; d < rank; d++)
    if (entire[d]) shards[d] = {};
  if (is_whole(shards)) return false;
  std::vector<ValueId> operands;
  for (size_t i = 0; i < op.operands.size(); i++)
    operands.push_back(program.need(op.operands[i], i < count ? shards : whole(program.dims(op.operands[i]).size())));
  for (const char* name : {"slice_sizes", "limit"})  // what a whole dimension's size stands in
    if (op.attributes.contains(name)) {
      Dims sizes = op.list(name);
      for (size_t d = 0; d < rank; d++) sizes[d] /= shards[d].parts;
      more[name] = std::move(sizes);
    }
  define_results(program, op, shards, program.add(op, operands, std::move(more)));
  return true;
}

bool broadcast(Localiser& program, const Op& op) {
  const Dims &where = op.list("dimensions"), &to = op.list("dims");
  const Shards given = program.shards(op.operands[0]);
  Shards shards = whole(to.size());
  for (size_t i = 0; i < where.size(); i++)
    if (program.dims(op.operands[0])[i] == to[static_cast<size_t>(where[i])])
      shards[static_cast<size_t>(where[i])] = given[i];
  (void)program.need(op.results[0], shards);
  return true;
}

bool reshape(Localiser& program, const Op& op) {
  const Dims& to = op.list("dims");
  const auto lying = reshaped(program.dims(op.operands[0]), to, program.shards(op.operands[0]));
  if (is_whole(lying.result)) return false;
  const ValueId local =
      program.add(op, {program.need(op.operands[0], lying.operand)}, {{"dims", local_dims(to, lying.result)}});
  program.define(op.results[0], lying.result, local);
  return true;
}

bool transpose(Localiser& program, const Op& op) {
  const Shards given = program.shards(op.operands[0]);
  Shards shards;
  for (const int64_t d : op.list("permutation")) shards.push_back(given[static_cast<size_t>(d)]);
  program.define(op.results[0], shards, program.add(op, {program.need(op.operands[0], given)}));
  return true;
}

bool reduce(Localiser& program, const Op& op) {
  const Dims& gone = op.list("dimensions");
  const Shards given = program.shards(op.operands[0]);
  if (is_whole(given)) return false;
  Shards kept;
  std::vector<Cut> moved;
  for (size_t d = 0; d < given.size(); d++) {
    if (!contains(gone, d))
      kept.push_back(given[d]);
    else if (!given[d].whole())
      moved.push_back(given[d]);
  }
  ValueId local = program.add(op, {program.need(op.operands[0], given)});
  if (!moved.empty()) local = program.all_reduce(local, op.word("kind"), kept, moved);
  program.define(op.results[0], kept, local);
  return true;
}

/// By a region: the reduced dimensions are in one part.
bool reduce_by(Localiser& program, const Op& op) {
  const Dims& gone = op.list("dimensions");
  const size_t count = op.operands.size() / 2, rank = program.dims(op.operands[0]).size();
  Shards shards =
             common(program, {op.operands.begin(), op.operands.begin() + static_cast<std::ptrdiff_t>(count)}, rank),
         kept;
  for (size_t d = 0; d < rank; d++) {
    if (contains(gone, d))
      shards[d] = {};
    else
      kept.push_back(shards[d]);
  }
  if (is_whole(shards)) return false;
  std::vector<ValueId> operands;
  for (size_t i = 0; i < op.operands.size(); i++)
    operands.push_back(program.need(op.operands[i], i < count ? shards : whole(0)));
  define_results(program, op, kept, program.add(op, operands));
  return true;
}

/// Dimensions along which windows take more than one element.
std::vector<bool> windowed(const Op& op, size_t rank) {
  std::vector<bool> entire(rank);
  const bool dilated = op.attributes.contains("dilation");
  for (size_t d = 0; d < rank; d++)
    entire[d] = op.list("window")[d] != 1 || op.list("strides")[d] != 1 || op.list("low")[d] != 0 ||
                op.list("high")[d] != 0 || (dilated && op.list("dilation")[d] != 1);
  return entire;
}

std::vector<bool> none_but(size_t rank, int64_t dimension) {
  std::vector<bool> entire(rank);
  entire.at(static_cast<size_t>(dimension)) = true;
  return entire;
}

/// Dimensions whose elements change.
std::vector<bool> changed(const Localiser& program, const Op& op) {
  const Dims &from = program.dims(op.operands[0]), &to = program.dims(op.results[0]);
  std::vector<bool> entire(from.size());
  for (size_t d = 0; d < from.size(); d++) {
    entire[d] = from[d] != to[d];
    if (op.kind == OpKind::kPad)
      entire[d] = op.list("low")[d] != 0 || op.list("high")[d] != 0 || op.list("interior")[d] != 0;
    if (op.kind == OpKind::kReverse) entire[d] = contains(op.list("dimensions"), d);
    if (op.kind == OpKind::kDynamicUpdateSlice) entire[d] = program.dims(op.operands[1])[d] != from[d];
    if (op.kind == OpKind::kSlice) entire[d] = entire[d] || op.list("stride")[d] != 1;
  }
  return entire;
}

}  // namespace

ReshapedShards reshaped(const Dims& from, const Dims& to, const Shards& shards) {
  ReshapedShards lying{whole(from.size()), whole(to.size())};
  for (size_t i = 0, j = 0; i < from.size() && j < to.size();) {
    // Dimensions [i, next) of one and [j, behind) of the other have the same elements.
    size_t next = i + 1, behind = j + 1;
    int64_t a = from[i], b = to[j];
    while (a != b) {
      if (a < b && next < from.size())
        a *= from[next++];
      else if (b < a && behind < to.size())
        b *= to[behind++];
      else
        return lying;  // no elements
    }
    size_t first = i, target = j;  // the slowest of them that is in parts at all
    while (first + 1 < next && from[first] == 1) first++;
    while (target + 1 < behind && to[target] == 1) target++;
    if (const Cut& cut = shards[first]; !cut.whole() && to[target] % cut.parts == 0)
      lying.operand[first] = lying.result[target] = cut;
    i = next, j = behind;
  }
  return lying;
}

bool by_rule(Localiser& program, const Op& op) {
  if (op.kind == OpKind::kBroadcast) return broadcast(program, op);
  const size_t rank = op.operands.empty() ? 0 : program.dims(op.operands[0]).size();
  if (op.kind > OpKind::kIota && op.kind <= OpKind::kConvert)
    return alike(program, op, std::vector<bool>(rank), op.operands.size());
  switch (op.kind) {
    case OpKind::kBitcastConvert:
      return rank == program.dims(op.results[0]).size() && alike(program, op, std::vector<bool>(rank), 1);
    case OpKind::kReshape:
      return reshape(program, op);
    case OpKind::kTranspose:
      return transpose(program, op);
    case OpKind::kReduce:
      return reduce(program, op);
    case OpKind::kReduceBy:
      return reduce_by(program, op);
    case OpKind::kReduceWindow:
      return alike(program, op, windowed(op, rank), 1);
    case OpKind::kReduceWindowBy:
      return alike(program, op, windowed(op, rank), op.operands.size() / 2);
    case OpKind::kSelectAndScatter:
      return alike(program, op, windowed(op, rank), 2);
    case OpKind::kConcatenate:
      return alike(program, op, none_but(rank, op.integer("dimension")), op.operands.size());
    case OpKind::kSort:
    case OpKind::kSortBy:
      return alike(program, op, none_but(rank, op.integer("dimension")), op.operands.size());
    case OpKind::kPad:
    case OpKind::kSlice:
    case OpKind::kReverse:
    case OpKind::kDynamicSlice:
      return alike(program, op, changed(program, op), 1);
    case OpKind::kDynamicUpdateSlice:
      return alike(program, op, changed(program, op), 2);
    case OpKind::kGather:
      return gather_by_rule(program, op);
    case OpKind::kScatter:
    case OpKind::kScatterBy:
      return scatter_by_rule(program, op);
    case OpKind::kDotGeneral:
    case OpKind::kConvolution:
      return product_by_rule(program, op);
    default:
      return false;
  }
}

}  // namespace weft::compiler::localise
