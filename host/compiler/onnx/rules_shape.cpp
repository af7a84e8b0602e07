// Constants, and operators that look at shapes or give the same elements another one.
#include <algorithm>

#include "host/compiler/onnx/rules.hpp"
#include "host/compiler/onnx/tensor_reader.hpp"

namespace weft::compiler::frontend {
namespace {

void constant(Node& n) {
  if (n.has_attribute("sparse_value")) unsupported("attribute 'sparse_value'; supported: dense values");
  if (n.has_attribute("value_string") || n.has_attribute("value_strings")) unsupported("strings; supported: numbers");
  int given = 0;
  for (const char* name : {"value", "value_float", "value_floats", "value_int", "value_ints"})
    given += n.has_attribute(name);
  if (given != 1) invalid("{} values; Constant has one", given);
  if (n.has_attribute("value")) return n.out(n.b.constant(n.tensor("value")));
  if (n.has_attribute("value_float")) return n.out(n.b.scalar(ElementType::kF32, n.number("value_float", 0)));
  if (n.has_attribute("value_int")) return n.out(n.b.reshape(n.b.integers({n.integer("value_int", 0)}), {}));
  if (const auto values = n.integers("value_ints")) return n.out(n.b.integers(*values));
  const auto values = *n.numbers("value_floats");
  auto tensor = std::make_shared<ir::Tensor>(ir::TensorType{ElementType::kF32, {static_cast<int64_t>(values.size())}});
  std::ranges::copy(values, tensor->as<float>());
  n.out(n.b.constant(std::move(tensor)));
}

void constant_of_shape(Node& n) {
  const ir::TensorType type{ElementType::kF32, n.known(0)->integers()};
  const TensorPtr value = n.has_attribute("value") ? n.tensor("value") : ir::splat({ElementType::kF32, {1}}, 0);
  if (value->type.count() != 1) invalid("the value has {} elements; it must have 1", value->type.count());
  n.out(n.b.broadcast_to(n.b.reshape(n.b.constant(value), {}), type.dims));
}

void shape(Node& n) {
  const Dims& dims = n.b.dims(n.in(0));
  const auto rank = static_cast<int64_t>(dims.size());
  const auto limit = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = limit(n.integer("start", 0)), end = limit(n.integer("end", rank));
  n.out(n.b.integers(start < end ? Dims(dims.begin() + start, dims.begin() + end) : Dims{}));
}
void size(Node& n) { n.out(n.b.reshape(n.b.integers({static_cast<int64_t>(n.b.type(n.in(0)).count())}), {})); }

void reshape(Node& n) {
  const ValueId x = n.in(0);
  Dims to = n.known(1)->integers();
  if (n.b.rank(n.in(1)) != 1) invalid("the shape (input 1) has {} dimensions; it must have 1", n.b.rank(n.in(1)));
  const bool zero_is_zero = n.integer("allowzero", 0) != 0;
  int64_t known = 1, open = -1;
  for (size_t d = 0; d < to.size(); d++) {
    if (to[d] == 0 && !zero_is_zero) {
      if (d >= n.b.rank(x)) invalid("dimension {} is kept (0), and the input has {}", d, n.b.rank(x));
      to[d] = n.b.dim(x, d);
    }
    if (to[d] == -1 && open >= 0) invalid("two dimensions are open (-1)");
    if (to[d] < -1) invalid("dimension {} is {}", d, to[d]);
    if (to[d] == -1)
      open = static_cast<int64_t>(d);
    else if (__builtin_mul_overflow(known, to[d], &known))
      invalid("the shape {} is too large", ir::dims_text(to));
  }
  const auto count = static_cast<int64_t>(n.b.type(x).count());
  if (open >= 0) {
    if (known == 0 || count % known != 0) invalid("{} elements do not fill {}", count, ir::dims_text(to));
    to[static_cast<size_t>(open)] = count / known;
  }
  n.out(n.b.reshape(x, to));
}

void flatten(Node& n) {
  const ValueId x = n.in(0);
  const auto rank = static_cast<int64_t>(n.b.rank(x));
  const int64_t axis = n.integer("axis", 1);
  if (axis < (n.opset < 11 ? 0 : -rank) || axis > rank) invalid("axis {} of a tensor of {} dimensions", axis, rank);
  const auto cut = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  const auto dims = std::span(n.b.dims(x));
  n.out(n.b.reshape(
      x, {static_cast<int64_t>(ir::count_of(dims.first(cut))), static_cast<int64_t>(ir::count_of(dims.subspan(cut)))}));
}

void squeeze(Node& n) {
  const ValueId x = n.in(0);
  const auto given = n.integers_of(1, "axes");
  const Dims axes = given ? Node::axes(*given, n.b.rank(x)) : Dims{};
  Dims dims;
  for (size_t d = 0; d < n.b.rank(x); d++) {
    const bool gone = given ? std::ranges::find(axes, static_cast<int64_t>(d)) != axes.end() : n.b.dim(x, d) == 1;
    if (gone && n.b.dim(x, d) != 1) invalid("dimension {} of {} has not 1 element", d, n.b.type(x).text());
    if (!gone) dims.push_back(n.b.dim(x, d));
  }
  n.out(n.b.reshape(x, dims));
}
void unsqueeze(Node& n) {
  const ValueId x = n.in(0);
  const auto given = n.integers_of(1, "axes");
  if (!given) invalid("axes are missing");
  const size_t rank = n.b.rank(x) + given->size();
  Dims axes = Node::axes(*given, rank), dims = n.b.dims(x);
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end()) invalid("an axis is there twice");
  for (const int64_t axis : axes) dims.insert(dims.begin() + axis, 1);
  n.out(n.b.reshape(x, dims));
}

/// Elements that the host computes, since they decide their number.
void range(Node& n) {
  const TensorPtr start = n.known(0), limit = n.known(1), delta = n.known(2);
  const ElementType type = start->type.element;
  const double step = delta->number(0);
  if (step == 0) invalid("a step of 0");
  const double count = std::max(std::ceil((limit->number(0) - start->number(0)) / step), 0.0);
  if (!(count < 1e9)) unsupported("{} elements", count);
  const ValueId places = n.b.iota(type, {static_cast<int64_t>(count)}, 0);
  const ValueId first = n.b.reshape(n.b.constant(start), {}), by = n.b.reshape(n.b.constant(delta), {});
  n.out(n.b.plus(n.b.times(places, by), first));
}

void eye_like(Node& n) {
  const ValueId x = n.in(0);
  if (n.b.rank(x) != 2) invalid("{}; EyeLike takes matrices", n.b.type(x).text());
  const ElementType type = n.has_attribute("dtype") ? Node::element(n.integer("dtype", 1)) : n.b.element(x);
  const ValueId rows = n.b.iota(ElementType::kI64, n.b.dims(x), 0),
                columns = n.b.iota(ElementType::kI64, n.b.dims(x), 1);
  n.out(n.b.convert(n.b.compare("eq", n.b.plus(rows, static_cast<double>(n.integer("k", 0))), columns), type));
}

}  // namespace

const Rules& shape_rules() {
  static const Rules rules{{"Constant", constant}, {"ConstantOfShape", constant_of_shape},
                           {"EyeLike", eye_like},  {"Flatten", flatten},
                           {"Range", range},       {"Reshape", reshape},
                           {"Shape", shape},       {"Size", size},
                           {"Squeeze", squeeze},   {"Unsqueeze", unsqueeze}};
  return rules;
}

}  // namespace weft::compiler::frontend
