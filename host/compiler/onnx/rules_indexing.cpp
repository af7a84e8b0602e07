// Gather and scatter, and operators whose results are as large as values say: those are computed when the model is
// compiled.
#include <algorithm>
#include <numeric>

#include "host/compiler/onnx/functions.hpp"
#include "host/compiler/onnx/rules.hpp"
#include "host/compiler/onnx/selection.hpp"

namespace weft::compiler::frontend {
namespace {

int64_t product(std::span<const int64_t> dims) { return static_cast<int64_t>(ir::count_of(dims)); }

void gather(Node& n) {
  const ValueId x = n.in(0), indices = n.in(1);
  const size_t axis = Node::axis(n.integer("axis", 0), n.b.rank(x));
  const int64_t size = n.b.dim(x, axis);
  if (size == 0 && n.b.type(indices).count() != 0) invalid("an element of {}", n.b.type(x).text());
  const bool words = axis == 0 && is_table(n.b, x) && n.b.element(indices) == ElementType::kI32;
  const ValueId places = wrap_indices(n.b, indices, size, words ? ElementType::kI32 : ElementType::kI64);
  n.out(axis == 0 ? take_rows(n.b, x, places) : n.b.take(x, places, axis));
}

/// For each index the place of its element in the flat tensor: the index counts along `axis`, its own coordinates along
/// the other dimensions.
ValueId flat_places(Node& n, const Dims& dims, ValueId indices, size_t axis) {
  const Dims strides = ir::strides_of(dims), &own = n.b.dims(indices);
  if (own.size() != dims.size())
    invalid("indices of {} for a tensor of shape {}", n.b.type(indices).text(), ir::dims_text(dims));
  for (size_t d = 0; d < dims.size(); d++)
    if (d != axis && own[d] > dims[d])
      invalid("indices of {} for a tensor of shape {}", n.b.type(indices).text(), ir::dims_text(dims));
  ValueId place = n.b.times(wrap_indices(n.b, indices, dims[axis]), static_cast<double>(strides[axis]));
  for (size_t d = 0; d < dims.size(); d++)
    if (d != axis)
      place = n.b.plus(place, n.b.times(n.b.iota(ElementType::kI64, own, d), static_cast<double>(strides[d])));
  return place;
}

void gather_elements(Node& n) {
  const ValueId x = n.in(0);
  const size_t axis = Node::axis(n.integer("axis", 0), n.b.rank(x));
  const ValueId places = flat_places(n, n.b.dims(x), n.in(1), axis);
  n.out(n.b.take(n.b.reshape(x, {product(n.b.dims(x))}), places, 0));
}

/// Index vectors (the last dimension of `indices`) to numbers of what they name among `dims`.
ValueId numbers_of_vectors(Node& n, ValueId indices, std::span<const int64_t> dims) {
  const size_t last = n.b.rank(indices) - 1;
  const Dims strides = ir::strides_of(Dims(dims.begin(), dims.end()));
  Dims batch(n.b.dims(indices).begin(), n.b.dims(indices).end() - 1);
  ValueId number = n.b.fill({ElementType::kI64, batch}, 0);
  for (size_t i = 0; i < dims.size(); i++) {
    const auto at = static_cast<int64_t>(i);
    const ValueId index = n.b.reshape(n.b.slice_of(indices, last, at, at + 1), batch);
    number = n.b.plus(number, n.b.times(wrap_indices(n.b, index, dims[i]), static_cast<double>(strides[i])));
  }
  return number;
}

void gather_nd(Node& n) {
  const ValueId x = n.in(0), indices = n.in(1);
  const auto batch = static_cast<size_t>(n.integer("batch_dims", 0));
  const Dims &dims = n.b.dims(x), own = n.b.dims(indices);
  if (own.empty() || batch >= own.size() || batch > dims.size())
    invalid("indices of {} for {}", n.b.type(indices).text(), n.b.type(x).text());
  const auto depth = static_cast<size_t>(own.back());
  if (own.back() < 0 || batch + depth > dims.size())
    invalid("indices of {} for {}", n.b.type(indices).text(), n.b.type(x).text());
  const auto all = std::span<const int64_t>(dims);
  const int64_t batches = product(all.first(batch)), named = product(all.subspan(batch, depth));
  Dims out(own.begin(), own.end() - 1);
  ValueId number = numbers_of_vectors(n, indices, all.subspan(batch, depth));
  const int64_t each = product(out) / std::max<int64_t>(batches, 1);
  number = n.b.reshape(number, {batches, each});
  number = n.b.plus(number, n.b.times(n.b.iota(ElementType::kI64, {batches, each}, 0), static_cast<double>(named)));
  const int64_t rest = product(all.subspan(batch + depth));
  const ValueId rows = take_rows(n.b, n.b.reshape(x, {batches * named, rest}), n.b.reshape(number, {batches * each}));
  out.insert(out.end(), dims.begin() + static_cast<ptrdiff_t>(batch + depth), dims.end());
  n.out(n.b.reshape(rows, out));
}

std::string scatter_kind(Node& n) {
  const auto reduction = n.word("reduction", "none");
  static const std::map<std::string, std::string> kinds{
      {"none", "set"}, {"add", "add"}, {"mul", "multiply"}, {"min", "minimum"}, {"max", "maximum"}};
  const auto found = kinds.find(reduction);
  if (found == kinds.end()) invalid("reduction '{}'; none, add, mul, min or max", reduction);
  return found->second;
}

/// Rows `updates` [m, w] into x [n, w] at the numbers `rows` [m].
ValueId scatter_rows(Node& n, ValueId x, ValueId rows, ValueId updates) {
  return n.b.add(OpKind::kScatter, {x, rows, updates},
                 {{"kind", scatter_kind(n)},
                  {"update_window_dims", Dims{1}},
                  {"inserted_window_dims", Dims{0}},
                  {"scatter_dims_to_operand_dims", Dims{0}},
                  {"index_vector_dim", int64_t{1}}});
}

void scatter_elements(Node& n) {
  const ValueId x = n.in(0), indices = n.in(1), updates = n.in(2);
  const Dims dims = n.b.dims(x);
  if (n.b.dims(indices) != n.b.dims(updates))
    invalid("indices of {} and updates of {}", n.b.type(indices).text(), n.b.type(updates).text());
  const size_t axis = Node::axis(n.integer("axis", 0), dims.size());
  const int64_t m = product(n.b.dims(indices));
  const ValueId places = n.b.reshape(flat_places(n, dims, indices, axis), {m});
  n.out(n.b.reshape(scatter_rows(n, n.b.reshape(x, {product(dims), 1}), places, n.b.reshape(updates, {m, 1})), dims));
}

void scatter_nd(Node& n) {
  const ValueId x = n.in(0), indices = n.in(1), updates = n.in(2);
  const Dims dims = n.b.dims(x), own = n.b.dims(indices);
  const auto all = std::span<const int64_t>(dims);
  if (own.empty() || own.back() < 0 || own.back() > static_cast<int64_t>(dims.size()))
    invalid("indices of {} for {}", n.b.type(indices).text(), n.b.type(x).text());
  const auto depth = static_cast<size_t>(own.back());
  const int64_t named = product(all.first(depth)), rest = product(all.subspan(depth));
  const int64_t m = product(std::span(own).first(own.size() - 1));
  Dims wanted(own.begin(), own.end() - 1);
  wanted.insert(wanted.end(), dims.begin() + static_cast<ptrdiff_t>(depth), dims.end());
  if (n.b.dims(updates) != wanted)
    invalid("updates of {}; they need shape {}", n.b.type(updates).text(), ir::dims_text(wanted));
  const ValueId rows = n.b.reshape(numbers_of_vectors(n, indices, all.first(depth)), {m});
  n.out(n.b.reshape(scatter_rows(n, n.b.reshape(x, {named, rest}), rows, n.b.reshape(updates, {m, rest})), dims));
}

void one_hot(Node& n) {
  const ValueId indices = n.in(0), values = n.in(2);
  const TensorPtr depths = n.known(1);
  if (depths->type.count() != 1 || n.b.dims(values) != Dims{2})
    invalid("depth of {} and values of {}", depths->type.text(), n.b.type(values).text());
  const auto depth = static_cast<int64_t>(depths->number(0));
  if (depth < 0 || depth > INT32_MAX) invalid("a depth of {}", depth);
  const size_t axis = Node::axis(n.integer("axis", -1), n.b.rank(indices) + 1);
  Dims one = n.b.dims(indices), all = one;
  one.insert(one.begin() + static_cast<ptrdiff_t>(axis), 1);
  all.insert(all.begin() + static_cast<ptrdiff_t>(axis), depth);
  const ValueId hit =
      n.b.compare("eq", n.b.iota(ElementType::kI64, all, axis), n.b.reshape(wrap_indices(n.b, indices, depth), one));
  const auto value = [&](int64_t at) { return n.b.reshape(n.b.slice_of(values, 0, at, at + 1), {}); };
  n.out(n.b.select(hit, value(1), value(0)));
}

void non_zero(Node& n) { n.out(n.b.constant(places_of_non_zero(*n.known(0)))); }

/// Rows of an axis, or elements of the flat tensor, where the condition is true.
void compress(Node& n) {
  ValueId x = n.in(0);
  const TensorPtr condition = n.known(1);
  size_t axis = 0;
  if (n.has_attribute("axis"))
    axis = Node::axis(n.integer("axis", 0), n.b.rank(x));
  else
    x = n.b.reshape(x, {product(n.b.dims(x))});
  Dims kept;
  for (uint64_t i = 0; i < condition->type.count(); i++)
    if (condition->integer(i) != 0) kept.push_back(static_cast<int64_t>(i));
  if (!kept.empty() && kept.back() >= n.b.dim(x, axis)) invalid("element {} of {}", kept.back(), n.b.dim(x, axis));
  n.out(n.b.take(x, n.b.integers(kept), axis));
}

void unique(Node& n) {
  ValueId x = n.in(0);
  size_t axis = 0;
  if (n.has_attribute("axis"))
    axis = Node::axis(n.integer("axis", 0), n.b.rank(x));
  else
    x = n.b.reshape(x, {product(n.b.dims(x))});
  const auto found = unique_slices(*n.known_value(x), axis, n.integer("sorted", 1) != 0);
  n.out(n.b.take(x, n.b.integers(found.first), axis));
  n.out(n.b.integers(found.first), 1);
  n.out(n.b.integers(found.inverse), 2);
  n.out(n.b.integers(found.counts), 3);
}

void non_max_suppression(Node& n) {
  Suppression by;
  by.corners = n.integer("center_point_box", 0) == 0;
  if (n.has(2)) by.most = n.known(2)->integer(0);
  if (n.has(3)) by.overlap = n.known(3)->number(0);
  if (n.has(4)) by.score = n.known(4)->number(0);
  n.out(n.b.constant(suppress(*n.known(0), *n.known(1), by)));
}

}  // namespace

const Rules& indexing_rules() {
  static const Rules rules{{"Compress", compress},
                           {"Gather", gather},
                           {"GatherElements", gather_elements},
                           {"GatherND", gather_nd},
                           {"NonMaxSuppression", non_max_suppression},
                           {"NonZero", non_zero},
                           {"OneHot", one_hot},
                           {"Scatter", scatter_elements},
                           {"ScatterElements", scatter_elements},
                           {"ScatterND", scatter_nd},
                           {"Unique", unique}};
  return rules;
}

}  // namespace weft::compiler::frontend
