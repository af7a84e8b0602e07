// Gradients of what moves elements: each goes back to where its element came from.
#include <algorithm>

#include "host/compiler/passes/gradient_rules.hpp"

namespace weft::compiler::passes {

using ir::Dims;
using ir::OpKind;
using ir::ValueId;

/// What is repeated gets the sum.
void GradientRules::broadcast(const ir::Op& op, ValueId g) {
  const ValueId x = op.operands[0];
  const Dims& where = op.list("dimensions");
  Dims summed, kept;  // of the result; where dimensions of x are, in the result's order
  for (size_t d = 0; d < to_.rank(g); d++) {
    const auto found = std::ranges::find(where, static_cast<int64_t>(d));
    const auto of_x = static_cast<size_t>(found - where.begin());
    if (found == where.end() || to_.dim(x, of_x) != to_.dim(g, d))
      summed.push_back(static_cast<int64_t>(d));
    else
      kept.push_back(static_cast<int64_t>(of_x));
  }
  const ValueId sum = summed.empty() ? g : to_.reduce("add", g, summed, ir::Builder::Keep::kNo);
  Dims order(kept.size()), ascending = kept;
  std::ranges::sort(ascending);
  for (size_t i = 0; i < kept.size(); i++) order[i] = std::ranges::find(kept, ascending[i]) - kept.begin();
  add(x, to_.reshape(to_.transpose(sum, order), to_.dims(x)));
}

void GradientRules::slice(const ir::Op& op, ValueId g) {
  const ValueId x = op.operands[0];
  if (to_.type(g).count() == 0) return;
  const Dims &start = op.list("start"), &stride = op.list("stride");
  Dims high, interior;
  for (size_t d = 0; d < start.size(); d++) {
    high.push_back(to_.dim(x, d) - start[d] - (to_.dim(g, d) - 1) * stride[d] - 1);
    interior.push_back(stride[d] - 1);
  }
  add(x, to_.pad(g, to_.like(g, 0), start, high, interior));
}

void GradientRules::pad(const ir::Op& op, ValueId g) {
  const ValueId x = op.operands[0];
  if (to_.type(x).count() != 0) {
    Dims low = op.list("low"), high = op.list("high"), stride = op.list("interior");
    for (int64_t& d : low) d = -d;
    for (int64_t& d : high) d = -d;
    for (int64_t& d : stride) d++;
    const ValueId inner = to_.pad(g, to_.like(g, 0), low, high, Dims(low.size()));
    const ValueId of_x = to_.slice(inner, Dims(low.size()), to_.dims(inner), stride);
    add(x, of_x);
    if (wanted(op.operands[1]))
      add(op.operands[1], to_.minus(to_.reduce("add", g, ir::counting(low.size()), ir::Builder::Keep::kNo),
                                    to_.reduce("add", of_x, ir::counting(low.size()), ir::Builder::Keep::kNo)));
  } else if (wanted(op.operands[1])) {
    add(op.operands[1], to_.reduce("add", g, ir::counting(to_.rank(g)), ir::Builder::Keep::kNo));
  }
}

void GradientRules::concatenate(const ir::Op& op, ValueId g) {
  const auto dimension = static_cast<size_t>(op.integer("dimension"));
  int64_t at = 0;
  for (const ValueId part : op.operands) {
    const int64_t end = at + to_.dim(part, dimension);
    if (wanted(part)) add(part, to_.slice_of(g, dimension, at, end));
    at = end;
  }
}

void GradientRules::dynamic_slice(const ir::Op& op, ValueId g) {
  auto operands = op.operands;
  operands[0] = zeros(op.operands[0]);
  operands.insert(operands.begin() + 1, g);
  add(op.operands[0], to_.add(OpKind::kDynamicUpdateSlice, operands, {}));
}

void GradientRules::dynamic_update_slice(const ir::Op& op, ValueId g) {
  const ValueId x = op.operands[0], update = op.operands[1];
  auto operands = op.operands;
  operands[0] = g;
  if (wanted(x)) {
    operands[1] = zeros(update);
    add(x, to_.add(OpKind::kDynamicUpdateSlice, operands, {}));
  }
  if (wanted(update)) {
    operands.erase(operands.begin() + 1);
    add(update, to_.add(OpKind::kDynamicSlice, operands, {{"slice_sizes", to_.dims(update)}}));
  }
}

/// A scatter that adds. What a gather moves into the operand a scatter would leave out, so the indices are moved first.
void GradientRules::gather(const ir::Op& op, ValueId g) {
  const ValueId x = op.operands[0];
  ValueId indices = op.operands[1];
  const Dims &map = op.list("start_index_map"), &sizes = op.list("slice_sizes");
  const auto vector = static_cast<size_t>(op.integer("index_vector_dim"));
  Dims last, shape(to_.rank(indices), 1);
  for (const int64_t d : map) last.push_back(to_.dim(x, static_cast<size_t>(d)) - sizes[static_cast<size_t>(d)]);
  if (vector < shape.size()) shape[vector] = static_cast<int64_t>(map.size());
  const ValueId most = to_.constant(ir::integers_tensor(to_.element(indices), last));
  indices = to_.min(to_.max(indices, to_.like(indices, 0)), to_.reshape(most, shape));
  add(x, to_.add(OpKind::kScatter, {zeros(x), indices, g},
                 {{"kind", std::string("add")},
                  {"update_window_dims", op.list("offset_dims")},
                  {"inserted_window_dims", op.list("collapsed_slice_dims")},
                  {"scatter_dims_to_operand_dims", map},
                  {"index_vector_dim", op.integer("index_vector_dim")}}));
}

bool GradientRules::movement(const ir::Op& op, ValueId g) {
  const ValueId x = op.operands[0];
  switch (op.kind) {
    case OpKind::kBroadcast:
      broadcast(op, g);
      return true;
    case OpKind::kReshape:
      add(x, to_.reshape(g, to_.dims(x)));
      return true;
    case OpKind::kTranspose: {
      const Dims& order = op.list("permutation");
      Dims back(order.size());
      for (size_t d = 0; d < order.size(); d++) back[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
      add(x, to_.transpose(g, back));
      return true;
    }
    case OpKind::kReverse:
      add(x, to_.reverse(g, op.list("dimensions")));
      return true;
    case OpKind::kSlice:
      slice(op, g);
      return true;
    case OpKind::kPad:
      pad(op, g);
      return true;
    case OpKind::kConcatenate:
      concatenate(op, g);
      return true;
    case OpKind::kDynamicSlice:
      dynamic_slice(op, g);
      return true;
    case OpKind::kDynamicUpdateSlice:
      dynamic_update_slice(op, g);
      return true;
    case OpKind::kGather:
      gather(op, g);
      return true;
    default:
      return false;
  }
}

}  // namespace weft::compiler::passes
