// Gather, scatter and dynamic slices. Batching dimensions are written as components of the indices that count up.
#include <algorithm>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/stablehlo/node.hpp"

namespace weft::compiler::stablehlo {
namespace {

/// Index vectors with a component for each batching dimension of the operand, behind the others, along `vector`.
ValueId with_batching(ir::Builder& b, ValueId indices, int64_t vector, const Dims& batching) {
  if (vector < 0 || static_cast<size_t>(vector) > b.rank(indices))
    ir::invalid("index_vector_dim {} of {}", vector, b.type(indices).text());
  const auto at = static_cast<size_t>(vector);
  Dims component = b.dims(indices);
  if (at == component.size()) {  // each index is a vector of one
    component.push_back(1);
    indices = b.reshape(indices, component);
  }
  component[at] = 1;
  Values parts{indices};
  for (const int64_t d : batching) {
    if (d < 0 || static_cast<size_t>(d) >= component.size() || d == vector) ir::invalid("batching dimension {}", d);
    parts.push_back(b.iota(b.element(indices), component, static_cast<size_t>(d)));
  }
  return b.concatenate(parts, at);
}

Dims joined(Dims a, const Dims& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

Values gather(Node& node) {
  if (node.in.size() != 2) ir::invalid("{} operands; it takes 2", node.in.size());
  const int64_t vector = node.integer("index_vector_dim");
  const Dims batching = node.integers_or_none("operand_batching_dims");
  ValueId indices = node.in[1];
  if (!batching.empty()) {
    const Dims of_indices = node.integers("start_indices_batching_dims");
    if (of_indices.size() != batching.size())
      ir::invalid("{} batching dimensions and {}", batching.size(), of_indices.size());
    indices = with_batching(node.b, indices, vector, of_indices);
  }
  return {node.b.add(OpKind::kGather, {node.in[0], indices},
                     {{"slice_sizes", node.integers("slice_sizes")},
                      {"collapsed_slice_dims", joined(node.integers("collapsed_slice_dims"), batching)},
                      {"start_index_map", joined(node.integers("start_index_map"), batching)},
                      {"index_vector_dim", vector},
                      {"offset_dims", node.integers("offset_dims")}})};
}

Values scatter(Node& node) {
  if (node.in.size() != 3) ir::unsupported("a scatter of {} operands; supported: one tensor", node.in.size());
  const int64_t vector = node.integer("index_vector_dim");
  const Dims batching = node.integers_or_none("input_batching_dims");
  ValueId indices = node.in[1];
  if (!batching.empty()) {
    const Dims of_indices = node.integers("scatter_indices_batching_dims");
    if (of_indices.size() != batching.size())
      ir::invalid("{} batching dimensions and {}", batching.size(), of_indices.size());
    indices = with_batching(node.b, indices, vector, of_indices);
  }
  ir::Attributes attributes{
      {"inserted_window_dims", joined(node.integers("inserted_window_dims"), batching)},
      {"scatter_dims_to_operand_dims", joined(node.integers("scatter_dims_to_operand_dims"), batching)},
      {"index_vector_dim", vector},
      {"update_window_dims", node.integers("update_window_dims")}};
  const ir::TensorType scalar{node.b.element(node.in[0]), {}};
  const auto region = node.scalar_region(0, {scalar, scalar});
  const std::string kind = operation_of(*region);
  const Values operands{node.in[0], indices, node.in[2]};
  const bool named = kind == "set" || kind == "add" || kind == "multiply" || kind == "minimum" || kind == "maximum";
  if (!named) return node.b.add_with_regions(OpKind::kScatterBy, operands, std::move(attributes), {region});
  attributes["kind"] = kind;
  return {node.b.add(OpKind::kScatter, operands, std::move(attributes))};
}

Values dynamic_slice(Node& node) {
  return {node.b.add(OpKind::kDynamicSlice, node.in, {{"slice_sizes", node.integers("slice_sizes")}})};
}

Values dynamic_update_slice(Node& node) { return {node.b.add(OpKind::kDynamicUpdateSlice, node.in, {})}; }

}  // namespace weft::compiler::stablehlo
