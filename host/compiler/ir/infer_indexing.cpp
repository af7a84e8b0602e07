// Types of gather, scatter and sort.
#include <algorithm>

#include "host/compiler/ir/infer_rules.hpp"
#include "host/compiler/ir/refusal.hpp"

namespace weft::compiler::ir {
namespace {

bool contains(const Dims& list, size_t d) { return std::ranges::find(list, static_cast<int64_t>(d)) != list.end(); }

/// Dimensions of the batch of index vectors: those of `indices` without the dimension that holds a vector. That may be
/// the one after the last: then each index is a vector of one.
Dims index_batch(const Op& op, const TensorType& indices, size_t vector_size) {
  if (!is_integer(indices.element)) invalid("{}: indices of type {}", name_of(op.kind), indices.text());
  const int64_t vector = op.integer("index_vector_dim");
  if (vector < 0 || static_cast<size_t>(vector) > indices.rank())
    invalid("{}: index_vector_dim {} of {}", name_of(op.kind), vector, indices.text());
  const auto at = static_cast<size_t>(vector);
  const int64_t size = at == indices.rank() ? 1 : indices.dims[at];
  if (size != static_cast<int64_t>(vector_size))
    invalid("{}: index vectors of {} elements for {} dimensions", name_of(op.kind), size, vector_size);
  Dims batch = indices.dims;
  if (at < batch.size()) batch.erase(batch.begin() + vector);
  return batch;
}

/// `windows` at the positions `where` of the result, the batch at the others.
Dims interleave(const Op& op, const Dims& batch, const Dims& windows, const Dims& where) {
  if (where.size() != windows.size())
    invalid("{}: windows of {} dimensions, {} places for them", name_of(op.kind), windows.size(), where.size());
  Dims out;
  size_t window = 0, from_batch = 0;
  for (size_t d = 0; d < batch.size() + windows.size(); d++)
    out.push_back(contains(where, d) ? windows[window++] : batch[from_batch++]);
  return out;
}

}  // namespace

Types infer_gather(const Op& op, const Types& in) {
  const TensorType &operand = in[0], &indices = in[1];
  const Dims& sizes = entries(op, "slice_sizes", operand.rank(), 0);
  const Dims& collapsed = dimensions(op, "collapsed_slice_dims", operand.rank());
  const Dims& map = dimensions(op, "start_index_map", operand.rank());
  const Dims batch = index_batch(op, indices, map.size());
  Dims windows;
  for (size_t d = 0; d < operand.rank(); d++) {
    if (sizes[d] > operand.dims[d]) invalid("gather: slices of {} in dimension {} of {}", sizes[d], d, operand.text());
    if (contains(collapsed, d) && sizes[d] != 1) invalid("gather: dimension {} is dropped with size {}", d, sizes[d]);
    if (!contains(collapsed, d)) windows.push_back(sizes[d]);
  }
  const Dims& where = dimensions(op, "offset_dims", batch.size() + windows.size());
  return {{operand.element, interleave(op, batch, windows, where)}};
}

Types infer_scatter_places(const Op& op, const Types& in) {
  const TensorType &operand = in[0], &indices = in[1], &updates = in[2];
  const Dims& inserted = dimensions(op, "inserted_window_dims", operand.rank());
  const Dims& map = dimensions(op, "scatter_dims_to_operand_dims", operand.rank());
  const Dims batch = index_batch(op, indices, map.size());
  const Dims& where = dimensions(op, "update_window_dims", updates.rank());
  if (updates.rank() != batch.size() + where.size() || where.size() + inserted.size() != operand.rank())
    invalid("scatter: updates of type {} for {} and indices {}", updates.text(), operand.text(), indices.text());
  Dims windows;
  for (size_t d = 0; d < updates.rank(); d++)
    if (contains(where, d)) windows.push_back(updates.dims[d]);
  if (updates.dims != interleave(op, batch, windows, where) || updates.element != operand.element)
    invalid("scatter: updates of type {} for {} and indices {}", updates.text(), operand.text(), indices.text());
  size_t window = 0;
  for (size_t d = 0; d < operand.rank(); d++)
    if (!contains(inserted, d) && windows[window++] > operand.dims[d])
      invalid("scatter: updates of type {} are larger than {}", updates.text(), operand.text());
  return {operand};
}

Types infer_scatter(const Op& op, const Types& in) {
  const auto& kind = op.word("kind");
  if (kind != "set" && kind != "add" && kind != "multiply" && kind != "minimum" && kind != "maximum")
    invalid("scatter: kind '{}'; supported: set, add, multiply, minimum, maximum", kind);
  return infer_scatter_places(op, in);
}

Types infer_sort(const Op& op, const Types& in) {
  const int64_t d = op.integer("dimension");
  if (d < 0 || static_cast<size_t>(d) >= in[0].rank()) invalid("sort: dimension {} of {}", d, in[0].text());
  (void)op.integer("descending");
  for (const auto& type : in)
    if (type.dims != in[0].dims) invalid("sort: operands of types {} and {}", in[0].text(), type.text());
  return in;
}

}  // namespace weft::compiler::ir
