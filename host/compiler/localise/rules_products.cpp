// Products and convolutions: parts along what goes side by side, and sums of parts along what is summed.
#include <algorithm>
#include <cstring>
#include <memory>
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

/// Sums of parts lie in parts of their last dimension, as many as devices sum.
bool scatters(const Localiser& program, int64_t columns, const std::vector<Cut>& moved) {
  const int64_t unit = program.weights().scatter_unit;
  return unit != 0 && moved.size() == 1 && columns % (moved.front().parts * unit) == 0;
}

/// Those parts. The parts of `cut` are within those of `kept`, or where weights are dealt() the other way round.
Cut both_cuts(const Cut& kept, const Cut& cut, bool dealt) {
  Cut both{kept.parts * cut.parts, cut.place};
  for (size_t device = 0; device < both.place.size() && !kept.whole(); device++)
    both.place[device] = dealt ? cut.place[device] * kept.parts + kept.place[device]
                               : kept.place[device] * cut.parts + cut.place[device];
  return both;
}

/// Dimension d in `rounds` of `hands` lines each; hand by hand, of each round one.
ir::TensorPtr dealt(const ir::Tensor& whole, size_t d, int64_t rounds, int64_t hands) {
  auto result = std::make_shared<ir::Tensor>(whole.type);
  const Dims& dims = whole.type.dims;
  uint64_t outer = 1;
  for (size_t i = 0; i < d; i++) outer *= static_cast<uint64_t>(dims[i]);
  const auto round_count = static_cast<uint64_t>(rounds), hand_count = static_cast<uint64_t>(hands);
  const uint64_t line = whole.data.size() / (outer * round_count * hand_count);
  for (uint64_t o = 0; o < outer; o++)
    for (uint64_t hand = 0; hand < hand_count; hand++)
      for (uint64_t round = 0; round < round_count; round++)
        std::memcpy(&result->data[((o * hand_count + hand) * round_count + round) * line],
                    &whole.data[((o * round_count + round) * hand_count + hand) * line], line);
  return result;
}

/// Weights whose columns are in parts too: dealt out so that a device's part of the sum is next to those of the devices
/// that sum what it sums, and the next product, which multiplies all of these, needs no others.
std::optional<ValueId> dealt_weights(Localiser& program, ValueId weights, const Roles& roles, const Shards& b,
                                     const Shards& result, const std::vector<Cut>& moved) {
  const Op& op = program.from().op_of(weights);
  const int64_t d = roles.result.empty() ? -1 : roles.result.back().b;
  if (op.kind != OpKind::kConstant || d < 0 || result.back().whole() || moved.size() != 1) return std::nullopt;
  const auto column = static_cast<size_t>(d);
  if (b[column] != result.back()) return std::nullopt;
  const int64_t hands = b[column].parts, columns = program.dims(weights)[column];
  if (columns % hands != 0 || !scatters(program, columns / hands, moved)) return std::nullopt;
  const auto constant = dealt(*op.constant, column, moved.front().parts, hands);
  return program.extra({std::nullopt, constant, tiling_of(b, program.devices())}, constant->type);
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
  const auto dealt = told ? dealt_weights(program, op.operands[1], roles, b, result, moved) : std::nullopt;
  ValueId local = program.add(op, {program.need(op.operands[0], a), dealt ? *dealt : program.need(op.operands[1], b)});
  if (!result.empty() && scatters(program, program.to().dims(local).back(), moved)) {
    local = program.reduce_scatter(local, result, moved.front(), result.size() - 1);
    result.back() = both_cuts(result.back(), moved.front(), dealt.has_value());
  } else if (!moved.empty()) {
    local = program.all_reduce(local, "add", result, moved);
  }
  program.define(op.results[0], std::move(result), local);
  return true;
}

}  // namespace weft::compiler::localise
