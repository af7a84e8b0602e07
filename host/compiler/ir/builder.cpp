// Operators with their attributes.
#include "host/compiler/ir/builder.hpp"

#include <algorithm>
#include <numeric>

#include "host/compiler/ir/refusal.hpp"

namespace weft::compiler::ir {

Dims broadcast_dims(const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()));
  for (size_t back = 1; back <= out.size(); back++) {
    const int64_t of_a = back <= a.size() ? a[a.size() - back] : 1, of_b = back <= b.size() ? b[b.size() - back] : 1;
    if (of_a != of_b && of_a != 1 && of_b != 1)
      invalid("shapes {} and {} do not broadcast", dims_text(a), dims_text(b));
    out[out.size() - back] = of_a == 1 ? of_b : of_a;
  }
  return out;
}

Dims counting(size_t n, int64_t first) {
  Dims list(n);
  std::iota(list.begin(), list.end(), first);
  return list;
}

ValueId Builder::add(OpKind kind, std::vector<ValueId> operands, Attributes attributes) {
  Op op;
  op.kind = kind;
  op.operands = std::move(operands);
  op.attributes = std::move(attributes);
  op.origin = origin;
  return module_.add(std::move(op));
}

std::vector<ValueId> Builder::add_with_regions(OpKind kind, std::vector<ValueId> operands, Attributes attributes,
                                               std::vector<std::shared_ptr<const Module>> regions) {
  Op op;
  op.kind = kind;
  op.operands = std::move(operands);
  op.attributes = std::move(attributes);
  op.regions = std::move(regions);
  op.origin = origin;
  return module_.op_of(module_.add(std::move(op))).results;
}

ValueId Builder::constant(TensorPtr value) {
  Op op;
  op.kind = OpKind::kConstant;
  op.constant = std::move(value);
  op.origin = origin;
  return module_.add(std::move(op));
}

ValueId Builder::fill(const TensorType& type, double value) {
  return broadcast_to(scalar(type.element, value), type.dims);
}

ValueId Builder::iota(ElementType element, const Dims& dims, size_t dimension) {
  return add(
      OpKind::kIota, {},
      {{"element", std::string(name_of(element))}, {"dims", dims}, {"dimension", static_cast<int64_t>(dimension)}});
}

ValueId Builder::binary(OpKind kind, ValueId a, ValueId b) {
  const Dims out = broadcast_dims(dims(a), dims(b));
  return add(kind, {broadcast_to(a, out), broadcast_to(b, out)}, {});
}

ValueId Builder::compare(const char* direction, ValueId a, ValueId b) {
  const Dims out = broadcast_dims(dims(a), dims(b));
  return add(OpKind::kCompare, {broadcast_to(a, out), broadcast_to(b, out)}, {{"direction", std::string(direction)}});
}

ValueId Builder::select(ValueId which, ValueId a, ValueId b) {
  const Dims out = broadcast_dims(dims(which), broadcast_dims(dims(a), dims(b)));
  return add(OpKind::kSelect, {broadcast_to(which, out), broadcast_to(a, out), broadcast_to(b, out)}, {});
}

ValueId Builder::convert(ValueId x, ElementType to) {
  return element(x) == to ? x : add(OpKind::kConvert, {x}, {{"element", std::string(name_of(to))}});
}

ValueId Builder::broadcast_to(ValueId x, const Dims& to) {
  if (dims(x) == to) return x;
  if (rank(x) > to.size()) invalid("{} is not broadcast to {}", type(x).text(), dims_text(to));
  return broadcast_in(x, to, counting(rank(x), static_cast<int64_t>(to.size() - rank(x))));
}

ValueId Builder::broadcast_in(ValueId x, const Dims& to, const Dims& where) {
  return add(OpKind::kBroadcast, {x}, {{"dims", to}, {"dimensions", where}});
}

ValueId Builder::reshape(ValueId x, const Dims& to) {
  return dims(x) == to ? x : add(OpKind::kReshape, {x}, {{"dims", to}});
}

ValueId Builder::transpose(ValueId x, const Dims& permutation) {
  return permutation == counting(rank(x)) ? x : add(OpKind::kTranspose, {x}, {{"permutation", permutation}});
}

ValueId Builder::slice(ValueId x, const Dims& start, const Dims& limit, const Dims& stride) {
  return add(OpKind::kSlice, {x}, {{"start", start}, {"limit", limit}, {"stride", stride}});
}

ValueId Builder::slice_of(ValueId x, size_t dimension, int64_t from, int64_t to) {
  Dims start(rank(x)), limit = dims(x);
  start.at(dimension) = from, limit[dimension] = to;
  return slice(x, start, limit, Dims(rank(x), 1));
}

ValueId Builder::pad(ValueId x, ValueId value, const Dims& low, const Dims& high, const Dims& interior) {
  return add(OpKind::kPad, {x, value}, {{"low", low}, {"high", high}, {"interior", interior}});
}

ValueId Builder::concatenate(const std::vector<ValueId>& parts, size_t dimension) {
  return parts.size() == 1 ? parts[0]
                           : add(OpKind::kConcatenate, parts, {{"dimension", static_cast<int64_t>(dimension)}});
}

ValueId Builder::reverse(ValueId x, const Dims& dimensions) {
  return add(OpKind::kReverse, {x}, {{"dimensions", dimensions}});
}

ValueId Builder::take(ValueId x, ValueId indices, size_t dimension) {
  Dims sizes = dims(x), windows;
  sizes.at(dimension) = 1;
  const size_t index_rank = rank(indices);
  for (size_t d = 0; d < rank(x); d++)
    if (d != dimension) windows.push_back(static_cast<int64_t>(d < dimension ? d : d - 1 + index_rank));
  const auto at = static_cast<int64_t>(dimension);
  return add(OpKind::kGather, {x, indices},
             {{"slice_sizes", sizes},
              {"collapsed_slice_dims", Dims{at}},
              {"start_index_map", Dims{at}},
              {"index_vector_dim", static_cast<int64_t>(index_rank)},
              {"offset_dims", windows}});
}

ValueId Builder::reduce(const char* kind, ValueId x, const Dims& dimensions, Keep keep) {
  Dims kept = dims(x);
  for (const int64_t d : dimensions) kept.at(static_cast<size_t>(d)) = 1;
  if (dimensions.empty()) return x;
  const ValueId y = add(OpKind::kReduce, {x}, {{"kind", std::string(kind)}, {"dimensions", dimensions}});
  return keep == Keep::kYes ? reshape(y, kept) : y;
}

ValueId Builder::mean(ValueId x, const Dims& dimensions, Keep keep) {
  double count = 1;
  for (const int64_t d : dimensions) count *= static_cast<double>(dim(x, static_cast<size_t>(d)));
  return over(reduce("add", x, dimensions, keep), count);
}

ValueId Builder::reduce_window(const char* kind, ValueId x, const Dims& window, const Dims& strides, const Dims& low,
                               const Dims& high, const Dims& dilation) {
  return add(OpKind::kReduceWindow, {x},
             {{"kind", std::string(kind)},
              {"window", window},
              {"strides", strides},
              {"low", low},
              {"high", high},
              {"dilation", dilation}});
}

void Builder::add_precision(ValueId a, ValueId b, Attributes& attributes) const {
  if (!precision.empty() && element(a) == ElementType::kF32 && element(b) == ElementType::kF32)
    attributes["precision"] = precision;
}

ValueId Builder::dot(ValueId a, ValueId b, const Dims& batch_a, const Dims& batch_b, const Dims& sum_a,
                     const Dims& sum_b, ElementType sums) {
  Attributes attributes{
      {"lhs_batch", batch_a}, {"rhs_batch", batch_b}, {"lhs_contract", sum_a}, {"rhs_contract", sum_b}};
  if (element(a) != sums || element(b) != sums) attributes["element"] = std::string(name_of(sums));
  add_precision(a, b, attributes);
  return add(OpKind::kDotGeneral, {a, b}, std::move(attributes));
}

ValueId Builder::convolution(ValueId x, ValueId w, const Convolution& by, ElementType sums) {
  Attributes attributes{
      {"strides", by.strides},           {"low", by.low},      {"high", by.high}, {"lhs_dilation", by.lhs_dilation},
      {"rhs_dilation", by.rhs_dilation}, {"groups", by.groups}};
  if (element(x) != sums || element(w) != sums) attributes["element"] = std::string(name_of(sums));
  add_precision(x, w, attributes);
  return add(OpKind::kConvolution, {x, w}, std::move(attributes));
}

std::vector<ValueId> Builder::sort(const std::vector<ValueId>& operands, size_t dimension, bool descending) {
  const ValueId first = add(OpKind::kSort, operands,
                            {{"dimension", static_cast<int64_t>(dimension)}, {"descending", int64_t{descending}}});
  return module_.op_of(first).results;
}

}  // namespace weft::compiler::ir
