// Types of operators that make tensors or move elements.
#include <algorithm>

#include "host/compiler/ir/infer_rules.hpp"
#include "host/compiler/ir/refusal.hpp"

namespace weft::compiler::ir {

const Dims& entries(const Op& op, std::string_view name, size_t count, int64_t least) {
  const Dims& list = op.list(name);
  if (list.size() != count)
    invalid("{}: attribute '{}' has {} entries; it needs {}", name_of(op.kind), name, list.size(), count);
  for (const int64_t entry : list)
    if (entry < least || entry > INT32_MAX)
      invalid("{}: attribute '{}' has the entry {}; supported: {} to {}", name_of(op.kind), name, entry, least,
              INT32_MAX);
  return list;
}

const Dims& dimensions(const Op& op, std::string_view name, size_t rank) {
  const Dims& list = op.list(name);
  uint64_t seen = 0;
  for (const int64_t d : list) {
    if (d < 0 || static_cast<size_t>(d) >= rank)
      invalid("{}: attribute '{}' names dimension {} of a tensor of {}", name_of(op.kind), name, d, rank);
    if (seen >> d & 1) invalid("{}: attribute '{}' names dimension {} twice", name_of(op.kind), name, d);
    seen |= 1ull << d;
  }
  return list;
}

Types infer_parameter(const Op& op, const Types&) {
  TensorType type{op.element(), op.list("dims")};
  check_size(type);
  (void)op.word("name");
  return {type};
}

Types infer_constant(const Op& op, const Types&) {
  if (!op.constant || op.constant->data.size() != op.constant->type.bytes())
    invalid("constant: there is no value, or it has another size than its type");
  return {op.constant->type};
}

Types infer_iota(const Op& op, const Types&) {
  TensorType type{op.element(), op.list("dims")};
  const int64_t d = op.integer("dimension");
  if (d < 0 || static_cast<size_t>(d) >= type.rank()) invalid("iota: dimension {} of a tensor of {}", d, type.rank());
  return {type};
}

Types infer_broadcast(const Op& op, const Types& in) {
  const Dims& to = op.list("dims");
  const Dims& where = dimensions(op, "dimensions", to.size());
  if (where.size() != in[0].rank())
    invalid("broadcast_in_dim: {} dimensions for an operand of type {}", where.size(), in[0].text());
  for (size_t i = 0; i < where.size(); i++) {
    const int64_t size = in[0].dims[i], wide = to[static_cast<size_t>(where[i])];
    if (size != 1 && size != wide)
      invalid("broadcast_in_dim: dimension {} of {} has {} elements, the result has {}", i, in[0].text(), size, wide);
  }
  return {{in[0].element, to}};
}

Types infer_reshape(const Op& op, const Types& in) {
  TensorType to{in[0].element, op.list("dims")};
  check_size(to);
  if (to.count() != in[0].count())
    invalid("reshape: {} has {} elements, {} has {}", in[0].text(), in[0].count(), to.text(), to.count());
  return {to};
}

Types infer_transpose(const Op& op, const Types& in) {
  const Dims& order = dimensions(op, "permutation", in[0].rank());
  if (order.size() != in[0].rank())
    invalid("transpose: a permutation of {} dimensions on {}", order.size(), in[0].text());
  TensorType out{in[0].element, {}};
  for (const int64_t d : order) out.dims.push_back(in[0].dims[static_cast<size_t>(d)]);
  return {out};
}

Types infer_slice(const Op& op, const Types& in) {
  const size_t rank = in[0].rank();
  const Dims &start = entries(op, "start", rank, 0), &limit = entries(op, "limit", rank, 0),
             &stride = entries(op, "stride", rank, 1);
  TensorType out{in[0].element, {}};
  for (size_t i = 0; i < rank; i++) {
    if (start[i] > limit[i] || limit[i] > in[0].dims[i])
      invalid("slice: {} to {} of dimension {} of {}", start[i], limit[i], i, in[0].text());
    out.dims.push_back((limit[i] - start[i] + stride[i] - 1) / stride[i]);
  }
  return {out};
}

namespace {

/// Operands from `first` on are start indices, one for each dimension.
void check_starts(const Op& op, const Types& in, size_t first) {
  if (in.size() != first + in[0].rank())
    invalid("{}: {} start indices for {}", name_of(op.kind), in.size() - std::min(first, in.size()), in[0].text());
  for (size_t i = first; i < in.size(); i++)
    if (in[i].rank() != 0 || !is_integer(in[i].element))
      invalid("{}: a start index of type {}", name_of(op.kind), in[i].text());
}

}  // namespace

Types infer_dynamic_slice(const Op& op, const Types& in) {
  check_starts(op, in, 1);
  const Dims& sizes = entries(op, "slice_sizes", in[0].rank(), 0);
  for (size_t d = 0; d < sizes.size(); d++)
    if (sizes[d] > in[0].dims[d]) invalid("dynamic_slice: {} of dimension {} of {}", sizes[d], d, in[0].text());
  return {{in[0].element, sizes}};
}

Types infer_dynamic_update_slice(const Op& op, const Types& in) {
  if (in.size() < 2 || in[1].element != in[0].element || in[1].rank() != in[0].rank())
    invalid("dynamic_update_slice: {} takes an update of the same rank and type", in[0].text());
  check_starts(op, in, 2);
  for (size_t d = 0; d < in[0].rank(); d++)
    if (in[1].dims[d] > in[0].dims[d]) invalid("dynamic_update_slice: {} into {}", in[1].text(), in[0].text());
  return {in[0]};
}

Types infer_pad(const Op& op, const Types& in) {
  const size_t rank = in[0].rank();
  if (in[1].element != in[0].element || in[1].rank() != 0)
    invalid("pad: {} is filled up with {}; that must be a scalar of the same type", in[0].text(), in[1].text());
  const Dims &low = entries(op, "low", rank, -INT32_MAX), &high = entries(op, "high", rank, -INT32_MAX),
             &interior = entries(op, "interior", rank, 0);
  TensorType out{in[0].element, {}};
  for (size_t i = 0; i < rank; i++) {
    const int64_t size = in[0].dims[i];
    const int64_t d = low[i] + high[i] + size + std::max<int64_t>(size - 1, 0) * interior[i];
    if (d < 0) invalid("pad: dimension {} of {} becomes {}", i, in[0].text(), d);
    out.dims.push_back(d);
  }
  return {out};
}

Types infer_concatenate(const Op& op, const Types& in) {
  const int64_t d = op.integer("dimension");
  if (d < 0 || static_cast<size_t>(d) >= in[0].rank()) invalid("concatenate: dimension {} of {}", d, in[0].text());
  TensorType out = in[0];
  for (size_t i = 1; i < in.size(); i++) {
    TensorType same = in[i];
    if (same.rank() != out.rank()) invalid("concatenate: operands of types {} and {}", in[0].text(), in[i].text());
    out.dims[static_cast<size_t>(d)] += same.dims[static_cast<size_t>(d)];
    same.dims[static_cast<size_t>(d)] = in[0].dims[static_cast<size_t>(d)];
    if (same != in[0])
      invalid("concatenate: operands of types {} and {} in dimension {}", in[0].text(), in[i].text(), d);
  }
  return {out};
}

Types infer_reverse(const Op& op, const Types& in) {
  (void)dimensions(op, "dimensions", in[0].rank());
  return {in[0]};
}

}  // namespace weft::compiler::ir
