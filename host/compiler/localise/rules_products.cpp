// Products and convolutions: parts along what goes side by side, and sums of parts along what is summed.
#include <algorithm>
#include <optional>
#include <utility>

#include "host/compiler/localise/localiser.hpp"

namespace weft::compiler::localise {
namespace {

using ir::Dims;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

/// Dimension a of the first operand and b of the second one: side by side, free (the other is -1), or summed.
struct Pair {
  int64_t a, b;
};
struct Roles {
  std::vector<Pair> result;  ///< by dimension of the result; {-1, -1}: is never in parts
  std::vector<Pair> summed;
};

Roles roles_of_dot(const Op& op, size_t rank_a, size_t rank_b) {
  const Dims &batch_a = op.list("lhs_batch"), &batch_b = op.list("rhs_batch"), &sum_a = op.list("lhs_contract"),
             &sum_b = op.list("rhs_contract");
  Roles roles;
  for (size_t i = 0; i < batch_a.size(); i++) roles.result.push_back({batch_a[i], batch_b[i]});
  const auto free = [](const Dims& batch, const Dims& sum, int64_t d) {
    return std::ranges::find(batch, d) == batch.end() && std::ranges::find(sum, d) == sum.end();
  };
  for (int64_t d = 0; d < static_cast<int64_t>(rank_a); d++)
    if (free(batch_a, sum_a, d)) roles.result.push_back({d, -1});
  for (int64_t d = 0; d < static_cast<int64_t>(rank_b); d++)
    if (free(batch_b, sum_b, d)) roles.result.push_back({-1, d});
  for (size_t i = 0; i < sum_a.size(); i++) roles.summed.push_back({sum_a[i], sum_b[i]});
  return roles;
}

Roles roles_of_convolution(const Op& op, size_t rank) {
  Roles roles;
  roles.result.assign(rank, {-1, -1});
  roles.result[0].a = 0;
  if (op.integer("groups") != 1) return roles;
  roles.result[1].b = 0;
  roles.summed.push_back({1, 1});
  return roles;
}

/// Constants lie as the program's weights are to lie: in parts along one dimension that is summed and one that stays.
void cut_weights(const Localiser& program, ValueId value, const Roles& roles, Shards& shards) {
  const auto cut = [&](const std::vector<Pair>& pairs, int64_t parts, const std::vector<int64_t>& place) {
    for (const auto& pair : pairs) {
      if (parts == 1 || pair.b < 0 || (&pairs == &roles.result && pair.a >= 0)) continue;
      const auto d = static_cast<size_t>(pair.b);
      if (program.dims(value)[d] % parts != 0) continue;
      shards[d] = {parts, place};
      return;
    }
  };
  cut(roles.summed, program.weights().summed, program.weights().summed_place);
  cut(roles.result, program.weights().kept, program.weights().kept_place);
}

/// The sum of parts, in parts of its last dimension. Nothing: they do not divide it.
std::optional<ValueId> scattered(Localiser& program, ValueId local, Shards& result, const std::vector<Cut>& moved) {
  const int64_t unit = program.weights().scatter_unit;
  if (unit == 0 || moved.size() != 1 || result.empty()) return std::nullopt;
  const size_t d = result.size() - 1;
  const Cut& cut = moved.front();
  if (program.to().dims(local)[d] % (cut.parts * unit) != 0) return std::nullopt;
  const ValueId sums = program.reduce_scatter(local, result, cut, d);
  Cut both{result[d].parts * cut.parts, cut.place};
  for (size_t device = 0; device < both.place.size(); device++)
    if (!result[d].whole()) both.place[device] += result[d].place[device] * cut.parts;
  result[d] = std::move(both);
  return sums;
}

}  // namespace

bool product_by_rule(Localiser& program, const Op& op) {
  const Shards first = program.shards(op.operands[0]);
  Shards lying = program.shards(op.operands[1]);
  const Roles roles = op.kind == OpKind::kDotGeneral ? roles_of_dot(op, first.size(), lying.size())
                                                     : roles_of_convolution(op, first.size());
  const bool told = program.is_free(op.operands[1]) && (program.weights().summed > 1 || program.weights().kept > 1);
  if (told) cut_weights(program, op.operands[1], roles, lying);
  const Shards second = std::move(lying);
  Shards a = whole(first.size()), b = whole(second.size()), result;
  std::vector<Cut> taken, moved;
  const auto choose = [&](const Pair& pair, bool by_first = true) {
    for (const Cut* cut : {pair.a < 0 || !by_first ? nullptr : &first[static_cast<size_t>(pair.a)],
                           pair.b < 0 ? nullptr : &second[static_cast<size_t>(pair.b)]}) {
      if (cut == nullptr || !program.take(taken, *cut)) continue;
      if (pair.a >= 0) a[static_cast<size_t>(pair.a)] = *cut;
      if (pair.b >= 0) b[static_cast<size_t>(pair.b)] = *cut;
      return *cut;
    }
    return Cut{};
  };
  for (const auto& pair : roles.result) result.push_back(choose(pair));
  // Where it is told how weights lie, no other sums than theirs are in parts.
  for (const auto& pair : roles.summed)
    if (Cut cut = choose(pair, !told); !cut.whole()) moved.push_back(std::move(cut));
  if (taken.empty()) return false;
  ValueId local = program.add(op, {program.need(op.operands[0], a), program.need(op.operands[1], b)});
  if (!moved.empty()) {
    const auto parts = scattered(program, local, result, moved);
    local = parts ? *parts : program.all_reduce(local, "add", result, moved);
  }
  program.define(op.results[0], std::move(result), local);
  return true;
}

}  // namespace weft::compiler::localise
