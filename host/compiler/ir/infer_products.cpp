// Types of products, convolutions and reductions.
#include <algorithm>

#include "host/compiler/ir/infer_rules.hpp"
#include "host/compiler/ir/refusal.hpp"

namespace weft::compiler::ir {
namespace {

void check_kind(const Op& op, const TensorType& in) {
  const auto& kind = op.word("kind");
  if (kind != "add" && kind != "multiply" && kind != "maximum" && kind != "minimum" && kind != "and" && kind != "or")
    invalid("{}: kind '{}'; supported: add, multiply, maximum, minimum, and, or", name_of(op.kind), kind);
  const bool logic = kind == "and" || kind == "or", pred = in.element == ElementType::kPred;
  if (logic ? is_float(in.element) : pred && (kind == "add" || kind == "multiply"))
    unsupported("{}: kind '{}' of {}", name_of(op.kind), kind, in.text());
}

/// The element type of sums of products: the operands', or what the attribute "element" says.
ElementType sum_type(const Op& op, const Types& in) {
  const bool wider = op.attributes.contains("element");
  if (in[0].element == ElementType::kPred || in[1].element == ElementType::kPred ||
      (!wider && in[0].element != in[1].element))
    invalid("{}: operands of types {} and {}", name_of(op.kind), in[0].text(), in[1].text());
  return wider ? op.element() : in[0].element;
}

/// Positions of a window that is `window` wide, dilated, on `size` elements.
int64_t positions(int64_t size, int64_t window, int64_t dilation, int64_t stride) {
  const int64_t reach = (window - 1) * dilation + 1;
  return size < reach ? 0 : (size - reach) / stride + 1;
}

}  // namespace

Types infer_dot_general(const Op& op, const Types& in) {
  const Dims &batch_a = dimensions(op, "lhs_batch", in[0].rank()), &batch_b = dimensions(op, "rhs_batch", in[1].rank()),
             &sum_a = dimensions(op, "lhs_contract", in[0].rank()),
             &sum_b = dimensions(op, "rhs_contract", in[1].rank());
  const auto fit = [&](const Dims& a, const Dims& b) {
    return std::ranges::equal(a, b, [&](int64_t x, int64_t y) {
      return in[0].dims[static_cast<size_t>(x)] == in[1].dims[static_cast<size_t>(y)];
    });
  };
  if (!fit(batch_a, batch_b) || !fit(sum_a, sum_b))
    invalid(
        "dot_general: operands of types {} and {}: dimensions {} and {} are multiplied and summed, {} and {} go "
        "side by side",
        in[0].text(), in[1].text(), dims_text(sum_a), dims_text(sum_b), dims_text(batch_a), dims_text(batch_b));
  TensorType out{sum_type(op, in), {}};
  for (const int64_t d : batch_a) out.dims.push_back(in[0].dims[static_cast<size_t>(d)]);
  const auto free = [&](const TensorType& type, const Dims& batch, const Dims& sum) {
    for (size_t d = 0; d < type.rank(); d++) {
      const auto is = [d](int64_t x) { return x == static_cast<int64_t>(d); };
      if (std::ranges::any_of(batch, is) && std::ranges::any_of(sum, is))
        invalid("dot_general: dimension {} is batch and summed", d);
      if (std::ranges::none_of(batch, is) && std::ranges::none_of(sum, is)) out.dims.push_back(type.dims[d]);
    }
  };
  free(in[0], batch_a, sum_a);
  free(in[1], batch_b, sum_b);
  return {out};
}

Types infer_convolution(const Op& op, const Types& in) {
  const TensorType &x = in[0], &w = in[1];
  const int64_t groups = op.integer("groups");
  if (x.rank() < 2 || x.rank() != w.rank() || groups < 1 || w.dims[1] > INT32_MAX || groups > INT32_MAX ||
      x.dims[1] != w.dims[1] * groups || w.dims[0] % groups != 0)
    invalid("convolution: {} by {} in {} groups; shapes are [N, C, ...] and [O, C / groups, ...]", x.text(), w.text(),
            groups);
  const size_t spatial = x.rank() - 2;
  const Dims &stride = entries(op, "strides", spatial, 1), &low = entries(op, "low", spatial, -INT32_MAX),
             &high = entries(op, "high", spatial, -INT32_MAX), &dilation_x = entries(op, "lhs_dilation", spatial, 1),
             &dilation_w = entries(op, "rhs_dilation", spatial, 1);
  TensorType out{sum_type(op, in), {x.dims[0], w.dims[0]}};
  for (size_t i = 0; i < spatial; i++) {
    const int64_t size = x.dims[i + 2] == 0 ? 0 : (x.dims[i + 2] - 1) * dilation_x[i] + 1;
    out.dims.push_back(
        w.dims[i + 2] == 0 ? 0 : positions(size + low[i] + high[i], w.dims[i + 2], dilation_w[i], stride[i]));
  }
  return {out};
}

Types infer_cholesky(const Op& op, const Types& in) {
  (void)op.integer("lower");
  const TensorType& a = in[0];
  if (a.rank() < 2 || a.dims[a.rank() - 1] != a.dims[a.rank() - 2] || !is_float(a.element))
    invalid("cholesky: {}; it takes square matrices of floats", a.text());
  return {a};
}

Types infer_triangular_solve(const Op& op, const Types& in) {
  const TensorType &a = in[0], &b = in[1];
  for (const char* name : {"left_side", "lower", "transpose", "unit_diagonal"}) (void)op.integer(name);
  const size_t rank = a.rank();
  const bool fits = rank >= 2 && b.rank() == rank && a.element == b.element && is_float(a.element) &&
                    std::equal(a.dims.begin(), a.dims.end() - 2, b.dims.begin()) &&
                    a.dims[rank - 1] == a.dims[rank - 2] &&
                    b.dims[op.integer("left_side") != 0 ? rank - 2 : rank - 1] == a.dims[rank - 1];
  if (!fits) invalid("triangular_solve: {} with {}", a.text(), b.text());
  return {b};
}

namespace {

/// Of matrices of floats: as many as a matrix has steps, which is the smaller of its rows and columns.
TensorType of_each_step(const Op& op, const TensorType& a, ElementType element) {
  if (a.rank() < 2 || !is_float(a.element)) invalid("{}: {}; it takes matrices of floats", name_of(op.kind), a.text());
  TensorType type{element, {a.dims.begin(), a.dims.end() - 1}};
  type.dims.back() = std::min(a.dims[a.rank() - 2], a.dims[a.rank() - 1]);
  return type;
}

}  // namespace

Types infer_lu(const Op& op, const Types& in) {
  const TensorType steps = of_each_step(op, in[0], ElementType::kI32);
  return {in[0], steps, {ElementType::kI32, {in[0].dims.begin(), in[0].dims.end() - 1}}};
}

Types infer_qr(const Op& op, const Types& in) { return {in[0], of_each_step(op, in[0], in[0].element)}; }

Types infer_householder_product(const Op&, const Types& in) {
  const TensorType &a = in[0], &factors = in[1];
  const size_t rank = a.rank();
  const bool fits = rank >= 2 && factors.rank() + 1 == rank && a.element == factors.element && is_float(a.element) &&
                    std::equal(a.dims.begin(), a.dims.end() - 2, factors.dims.begin()) &&
                    a.dims[rank - 1] <= a.dims[rank - 2] && factors.dims.back() <= a.dims[rank - 1];
  if (!fits) invalid("householder_product: {} with {}", a.text(), factors.text());
  return {a};
}

Types infer_eigh(const Op& op, const Types& in) {
  (void)op.integer("lower");
  const TensorType& a = in[0];
  if (a.rank() < 2 || a.dims[a.rank() - 1] != a.dims[a.rank() - 2] || !is_float(a.element))
    invalid("eigh: {}; it takes square matrices of floats", a.text());
  return {a, {a.element, {a.dims.begin(), a.dims.end() - 1}}};
}

Types infer_reduce(const Op& op, const Types& in) {
  check_kind(op, in[0]);
  const Dims& gone = dimensions(op, "dimensions", in[0].rank());
  TensorType out{in[0].element, {}};
  for (size_t d = 0; d < in[0].rank(); d++)
    if (std::ranges::find(gone, static_cast<int64_t>(d)) == gone.end()) out.dims.push_back(in[0].dims[d]);
  return {out};
}

Dims window_places(const Op& op, const Dims& size, const Dims& dilation) {
  const size_t rank = size.size();
  const Dims &window = entries(op, "window", rank, 1), &stride = entries(op, "strides", rank, 1),
             &low = entries(op, "low", rank, 0), &high = entries(op, "high", rank, 0);
  Dims places;
  for (size_t d = 0; d < rank; d++)
    places.push_back(positions(size[d] + low[d] + high[d], window[d], dilation[d], stride[d]));
  return places;
}

Types infer_reduce_window(const Op& op, const Types& in) {
  check_kind(op, in[0]);
  return {{in[0].element, window_places(op, in[0].dims, entries(op, "dilation", in[0].rank(), 1))}};
}

}  // namespace weft::compiler::ir
