// Convolutions.
#include "host/compiler/onnx/convolution.hpp"
#include "host/compiler/onnx/functions.hpp"
#include "host/compiler/onnx/rules.hpp"

namespace weft::compiler::frontend {

ValueId convolve(Node& n, ValueId x, ValueId w, ElementType sums) {
  if (n.b.rank(x) < 3 || n.b.rank(w) != n.b.rank(x))
    invalid("{} by {}; shapes are [N, C, ...] and [M, C / group, ...]", n.b.type(x).text(), n.b.type(w).text());
  const size_t spatial = n.b.rank(x) - 2;
  const Dims kernel(n.b.dims(w).begin() + 2, n.b.dims(w).end()), size(n.b.dims(x).begin() + 2, n.b.dims(x).end());
  if (n.integers("kernel_shape", kernel) != kernel)
    invalid("kernel_shape {} and weights of {}", ir::dims_text(n.integers("kernel_shape", {})), n.b.type(w).text());
  Builder::Convolution by;
  by.strides = n.integers("strides", Dims(spatial, 1));
  by.rhs_dilation = n.integers("dilations", Dims(spatial, 1));
  by.lhs_dilation = Dims(spatial, 1);
  by.groups = n.integer("group", 1);
  if (by.strides.size() != spatial || by.rhs_dilation.size() != spatial)
    invalid("strides {} and dilations {} for {} dimensions", ir::dims_text(by.strides), ir::dims_text(by.rhs_dilation),
            spatial);
  Dims reach(spatial);
  for (size_t d = 0; d < spatial; d++) {
    if (by.strides[d] < 1 || by.rhs_dilation[d] < 1 || by.rhs_dilation[d] > INT32_MAX || kernel[d] < 1)
      invalid("strides {}, dilations {}, kernel {}", ir::dims_text(by.strides), ir::dims_text(by.rhs_dilation),
              ir::dims_text(kernel));
    reach[d] = (kernel[d] - 1) * by.rhs_dilation[d] + 1;
  }
  const auto pads = window_pads(n, size, reach, by.strides);
  by.low = pads.low, by.high = pads.high;
  return n.b.convolution(x, w, by, sums);
}

ValueId add_channels(Builder& b, ValueId y, ValueId bias) {
  if (b.rank(bias) != 1) invalid("a bias of {}", b.type(bias).text());
  Dims row(b.rank(y), 1);
  row[1] = b.dim(bias, 0);
  return b.plus(y, b.broadcast_to(b.reshape(bias, row), b.dims(y)));
}

namespace {

void conv(Node& n) {
  ValueId y = convolve(n, n.in(0), n.in(1), n.b.element(n.in(0)));
  if (n.has(2)) y = add_channels(n.b, y, n.in(2));
  n.out(y);
}

void conv_integer(Node& n) {
  ValueId x = n.b.convert(n.in(0), ElementType::kI32), w = n.b.convert(n.in(1), ElementType::kI32);
  if (n.has(2)) x = n.b.minus(x, n.b.reshape(n.b.convert(n.in(2), ElementType::kI32), {}));
  if (n.has(3)) {
    ValueId zero = n.b.convert(n.in(3), ElementType::kI32);
    Dims row(n.b.rank(w), 1);
    row[0] = static_cast<int64_t>(n.b.type(zero).count());
    w = n.b.minus(w, n.b.reshape(zero, row));
  }
  n.out(convolve(n, x, w, ElementType::kI32));
}

/// A convolution of the input with zeros between its pixels by the turned weights.
void conv_transpose(Node& n) {
  const ValueId x = n.in(0);
  ValueId w = n.in(1);
  if (n.b.rank(x) < 3 || n.b.rank(w) != n.b.rank(x)) invalid("{} by {}", n.b.type(x).text(), n.b.type(w).text());
  const size_t spatial = n.b.rank(x) - 2;
  const Dims kernel(n.b.dims(w).begin() + 2, n.b.dims(w).end()), size(n.b.dims(x).begin() + 2, n.b.dims(x).end());
  if (n.integers("kernel_shape", kernel) != kernel)
    invalid("kernel_shape {} and weights of {}", ir::dims_text(n.integers("kernel_shape", {})), n.b.type(w).text());
  const Dims strides = n.integers("strides", Dims(spatial, 1)), dilations = n.integers("dilations", Dims(spatial, 1)),
             more = n.integers("output_padding", Dims(spatial));
  const int64_t groups = n.integer("group", 1);
  if (strides.size() != spatial || dilations.size() != spatial || more.size() != spatial)
    invalid("attributes for another number of dimensions than {}", spatial);
  if (groups < 1 || n.b.dim(x, 1) != n.b.dim(w, 0) || n.b.dim(w, 0) % groups != 0)
    invalid("{} by {} in {} groups", n.b.type(x).text(), n.b.type(w).text(), groups);
  Dims low(spatial), high(spatial);
  const auto wanted = n.integers("output_shape");
  const auto how = n.word("auto_pad", "NOTSET");
  const Dims pads = n.integers("pads", Dims(2 * spatial));
  if (pads.size() != 2 * spatial || (wanted && wanted->size() < spatial))
    invalid("pads or output_shape for another number of dimensions than {}", spatial);
  for (size_t d = 0; d < spatial; d++) {
    const int64_t reach = (kernel[d] - 1) * dilations[d] + 1;
    low[d] = pads[d], high[d] = pads[spatial + d];
    const int64_t whole = strides[d] * (size[d] - 1) + more[d] + reach;
    if (wanted || how == "SAME_UPPER" || how == "SAME_LOWER") {
      const int64_t out = wanted ? (*wanted)[wanted->size() - spatial + d] : size[d] * strides[d];
      const int64_t total = std::max<int64_t>(whole - out, 0);
      low[d] = how == "SAME_UPPER" ? total / 2 : total - total / 2;
      high[d] = total - low[d];
      if (whole < out) high[d] = whole - out;
    } else if (how == "VALID") {
      low[d] = high[d] = 0;
    }
    low[d] = reach - 1 - low[d];
    high[d] = reach - 1 - high[d] + more[d];
  }
  // [C, M / group, ...] to [M, C / group, ...], turned.
  Dims turned = ir::counting(spatial, 2);
  w = n.b.reverse(w, turned);
  const int64_t c = n.b.dim(w, 0) / groups, m = n.b.dim(w, 1);
  Dims split{groups, c, m}, order{0, 2, 1}, joined{groups * m, c};
  for (size_t d = 0; d < spatial; d++) {
    split.push_back(kernel[d]);
    order.push_back(static_cast<int64_t>(d) + 3);
    joined.push_back(kernel[d]);
  }
  w = n.b.reshape(n.b.transpose(n.b.reshape(w, split), order), joined);
  ValueId y = n.b.convolution(x, w, {Dims(spatial, 1), low, high, strides, dilations, groups}, n.b.element(x));
  if (n.has(2)) y = add_channels(n.b, y, n.in(2));
  n.out(y);
}

}  // namespace

const Rules& convolution_rules() {
  static const Rules rules{{"Conv", conv}, {"ConvInteger", conv_integer}, {"ConvTranspose", conv_transpose}};
  return rules;
}

}  // namespace weft::compiler::frontend
