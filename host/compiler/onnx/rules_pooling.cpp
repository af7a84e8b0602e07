// Pooling.
#include <algorithm>
#include <cmath>
#include <limits>

#include "host/compiler/onnx/functions.hpp"
#include "host/compiler/onnx/rules.hpp"

namespace weft::compiler::frontend {
namespace {

using Keep = Builder::Keep;

/// Windows over the spatial dimensions of [N, C, ...].
struct Pool {
  size_t spatial = 0;
  Dims kernel, strides, dilations, low, high, places;
  Dims ceiling;  ///< more padding at the end, which only rounding up of the places needs

  /// With the first two dimensions: of `entry` there.
  [[nodiscard]] static Dims all(const Dims& list, int64_t entry) {
    Dims whole{entry, entry};
    whole.insert(whole.end(), list.begin(), list.end());
    return whole;
  }
};

Pool pool_of(Node& n) {
  const ValueId x = n.in(0);
  if (n.b.rank(x) < 3) invalid("{}; shapes are [N, C, ...]", n.b.type(x).text());
  Pool p;
  p.spatial = n.b.rank(x) - 2;
  p.kernel = n.integers("kernel_shape", {});
  p.strides = n.integers("strides", Dims(p.spatial, 1));
  p.dilations = n.integers("dilations", Dims(p.spatial, 1));
  if (p.kernel.size() != p.spatial || p.strides.size() != p.spatial || p.dilations.size() != p.spatial)
    invalid("kernel {}, strides {}, dilations {} for {} dimensions", ir::dims_text(p.kernel), ir::dims_text(p.strides),
            ir::dims_text(p.dilations), p.spatial);
  Dims size(n.b.dims(x).begin() + 2, n.b.dims(x).end()), reach(p.spatial);
  for (size_t d = 0; d < p.spatial; d++) {
    for (const int64_t entry : {p.kernel[d], p.strides[d], p.dilations[d]})
      if (entry < 1 || entry > 1 << 24)
        invalid("kernel {}, strides {}, dilations {}", ir::dims_text(p.kernel), ir::dims_text(p.strides),
                ir::dims_text(p.dilations));
    reach[d] = (p.kernel[d] - 1) * p.dilations[d] + 1;
  }
  const auto pads = window_pads(n, size, reach, p.strides);
  p.low = pads.low, p.high = pads.high;
  const bool up = n.integer("ceil_mode", 0) != 0;
  for (size_t d = 0; d < p.spatial; d++) {
    const int64_t room = size[d] + p.low[d] + p.high[d] - reach[d];
    if (room < 0) invalid("a window of {} on {} elements", reach[d], size[d] + p.low[d] + p.high[d]);
    int64_t places = (up ? (room + p.strides[d] - 1) : room) / p.strides[d] + 1;
    // No window begins in the padding behind the last element.
    if (up && (places - 1) * p.strides[d] >= size[d] + p.low[d]) places--;
    p.places.push_back(places);
    p.ceiling.push_back(std::max<int64_t>((places - 1) * p.strides[d] + reach[d] - size[d] - p.low[d] - p.high[d], 0));
  }
  return p;
}

Dims sum(const Dims& a, const Dims& b) {
  Dims c = a;
  for (size_t i = 0; i < c.size(); i++) c[i] += b[i];
  return c;
}

ValueId reduce(Node& n, const char* kind, ValueId x, const Pool& p, const Dims& low, const Dims& high) {
  const ValueId y = n.b.reduce_window(kind, x, Pool::all(p.kernel, 1), Pool::all(p.strides, 1), Pool::all(low, 0),
                                      Pool::all(high, 0), Pool::all(p.dilations, 1));
  Dims dims{n.b.dim(x, 0), n.b.dim(x, 1)};
  dims.insert(dims.end(), p.places.begin(), p.places.end());
  return n.b.slice(y, Dims(dims.size()), dims, Dims(dims.size(), 1));
}

/// The number of elements that each window covers, as far as they count.
ValueId window_sizes(Node& n, ValueId x, const Pool& p, bool padding_counts) {
  Dims dims = n.b.dims(x);
  dims[0] = dims[1] = 1;
  ValueId ones = n.b.fill({n.b.element(x), dims}, 1);
  if (!padding_counts) return reduce(n, "add", ones, p, p.low, sum(p.high, p.ceiling));
  ones = n.b.pad(ones, n.b.like(ones, 1), Pool::all(p.low, 0), Pool::all(p.high, 0), Dims(dims.size()));
  return reduce(n, "add", ones, p, Dims(p.spatial), p.ceiling);
}

void average_pool(Node& n) {
  const ValueId x = n.in(0);
  const Pool p = pool_of(n);
  const ValueId total = reduce(n, "add", x, p, p.low, sum(p.high, p.ceiling));
  n.out(n.b.over(total, window_sizes(n, x, p, n.integer("count_include_pad", 0) != 0)));
}

void lp_pool(Node& n) {
  const ValueId x = n.in(0);
  const Pool p = pool_of(n);
  const auto power = static_cast<double>(n.integer("p", 2));
  const ValueId size = n.b.unary(OpKind::kAbs, x);
  const ValueId total =
      reduce(n, "add", n.b.binary(OpKind::kPower, size, n.b.like(x, power)), p, p.low, sum(p.high, p.ceiling));
  n.out(n.b.binary(OpKind::kPower, total, n.b.like(x, 1 / power)));
}

/// Each window's elements lie side by side: indices into the flat pixels of a channel, and one behind them for padding.
Dims window_pixels(const Pool& p, const Dims& size) {
  const auto count = static_cast<int64_t>(ir::count_of(size));
  const Dims strides = ir::strides_of(size), taps = ir::strides_of(p.kernel), places = ir::strides_of(p.places);
  Dims pixels;
  for (int64_t place = 0; place < static_cast<int64_t>(ir::count_of(p.places)); place++)
    for (int64_t tap = 0; tap < static_cast<int64_t>(ir::count_of(p.kernel)); tap++) {
      int64_t pixel = 0;
      for (size_t d = 0; d < p.spatial; d++) {
        const int64_t at =
            place / places[d] % p.places[d] * p.strides[d] + tap / taps[d] % p.kernel[d] * p.dilations[d] - p.low[d];
        pixel = at < 0 || at >= size[d] || pixel == count ? count : pixel + at * strides[d];
      }
      pixels.push_back(pixel);
    }
  return pixels;
}

/// The place of the largest element of each window in the flat tensor.
ValueId places_of_largest(Node& n, ValueId x, const Pool& p) {
  const Dims dims = n.b.dims(x), size(dims.begin() + 2, dims.end());
  const int64_t rows = dims[0] * dims[1];
  const auto pixels = static_cast<int64_t>(ir::count_of(size)), taps = static_cast<int64_t>(ir::count_of(p.kernel)),
             places = static_cast<int64_t>(ir::count_of(p.places));
  const bool wide = ir::is_float(n.b.element(x));
  const ValueId lowest = wide ? n.b.like(x, -std::numeric_limits<double>::infinity())
                              : n.b.like(x, ir::is_unsigned(n.b.element(x)) ? 0 : -128);
  const ValueId flat = n.b.pad(n.b.reshape(x, {rows, pixels}), lowest, {0, 0}, {0, 1}, {0, 0});
  const ValueId index = n.b.reshape(n.b.integers(window_pixels(p, size)), {places, taps});
  const ValueId windows = n.b.take(flat, index, 1);  // [rows, places, taps]
  const ValueId best = arg_extreme(n.b, windows, 2, Extreme::kMaximum, Tie::kFirst);
  const ValueId numbers = n.b.plus(n.b.reshape(n.b.iota(ElementType::kI64, {places}, 0), {1, places}), 0.0);
  const ValueId tap = n.b.plus(n.b.reshape(best, {rows, places}), n.b.times(numbers, static_cast<double>(taps)));
  ValueId pixel = n.b.take(n.b.reshape(index, {places * taps}), tap, 0);
  if (n.integer("storage_order", 0) != 0) {  // columns first: the last two dimensions change places
    ValueId turned = n.b.like(pixel, 0), rest = pixel;
    int64_t stride = 1;
    Dims own = ir::strides_of(size);
    for (size_t d = 0; d < size.size(); d++) {
      const ValueId at = n.b.over(rest, static_cast<double>(own[d]));
      rest = n.b.minus(rest, n.b.times(at, static_cast<double>(own[d])));
      turned = n.b.plus(n.b.times(at, static_cast<double>(stride)), turned);
      stride *= size[d];
    }
    pixel = turned;
  }
  const ValueId row = n.b.times(n.b.iota(ElementType::kI64, {rows, places}, 0), static_cast<double>(pixels));
  Dims out{dims[0], dims[1]};
  out.insert(out.end(), p.places.begin(), p.places.end());
  return n.b.reshape(n.b.plus(pixel, row), out);
}

void max_pool(Node& n) {
  const ValueId x = n.in(0);
  const Pool p = pool_of(n);
  n.out(reduce(n, "maximum", x, p, p.low, sum(p.high, p.ceiling)));
  if (n.wants(1)) n.out(places_of_largest(n, x, p), 1);
}

void max_unpool(Node& n) {
  const ValueId x = n.in(0), places = n.in(1);
  const Dims dims = n.b.dims(x);
  if (dims.size() < 3 || n.b.dims(places) != dims) invalid("{} and {}", n.b.type(x).text(), n.b.type(places).text());
  const size_t spatial = dims.size() - 2;
  const Dims kernel = n.integers("kernel_shape", {}), strides = n.integers("strides", Dims(spatial, 1)),
             pads = n.integers("pads", Dims(2 * spatial));
  if (kernel.size() != spatial || strides.size() != spatial || pads.size() != 2 * spatial)
    invalid("attributes for another number of dimensions than {}", spatial);
  Dims inferred{dims[0], dims[1]};
  for (size_t d = 0; d < spatial; d++)
    inferred.push_back((dims[d + 2] - 1) * strides[d] + kernel[d] - pads[d] - pads[spatial + d]);
  // Places count in the inferred shape; a larger output has more at the end of each dimension.
  const Dims out = n.has(2) ? n.known(2)->integers() : inferred;
  const auto count = static_cast<int64_t>(n.b.type(x).count());
  ValueId at = n.b.reshape(n.b.convert(places, ElementType::kI64), {count});
  if (out.size() != dims.size()) invalid("an output of shape {}", ir::dims_text(out));
  Dims more(dims.size());
  for (size_t d = 0; d < dims.size(); d++) more[d] = out[d] - inferred[d];
  ir::check_size({n.b.element(x), inferred});
  const ValueId zeros = n.b.fill({n.b.element(x), {static_cast<int64_t>(ir::count_of(inferred)), 1}}, 0);
  const ValueId y = n.b.add(OpKind::kScatter, {zeros, at, n.b.reshape(x, {count, 1})},
                            {{"kind", std::string("set")},
                             {"update_window_dims", Dims{1}},
                             {"inserted_window_dims", Dims{0}},
                             {"scatter_dims_to_operand_dims", Dims{0}},
                             {"index_vector_dim", int64_t{1}}});
  n.out(n.b.pad(n.b.reshape(y, inferred), n.b.like(x, 0), Dims(dims.size()), more, Dims(dims.size())));
}

Dims spatial_of(Node& n, ValueId x) {
  if (n.b.rank(x) < 3) invalid("{}; shapes are [N, C, ...]", n.b.type(x).text());
  return ir::counting(n.b.rank(x) - 2, 2);
}
void global_average_pool(Node& n) { n.out(n.b.mean(n.in(0), spatial_of(n, n.in(0)), Keep::kYes)); }
void global_max_pool(Node& n) { n.out(n.b.reduce("maximum", n.in(0), spatial_of(n, n.in(0)), Keep::kYes)); }
void global_lp_pool(Node& n) {
  const ValueId x = n.in(0);
  const auto power = static_cast<double>(n.integer("p", 2));
  const ValueId powers = n.b.binary(OpKind::kPower, n.b.unary(OpKind::kAbs, x), n.b.like(x, power));
  const ValueId total = n.b.reduce("add", powers, spatial_of(n, x), Keep::kYes);
  n.out(n.b.binary(OpKind::kPower, total, n.b.like(x, 1 / power)));
}

}  // namespace

const Rules& pooling_rules() {
  static const Rules rules{{"AveragePool", average_pool},
                           {"GlobalAveragePool", global_average_pool},
                           {"GlobalLpPool", global_lp_pool},
                           {"GlobalMaxPool", global_max_pool},
                           {"LpPool", lp_pool},
                           {"MaxPool", max_pool},
                           {"MaxUnpool", max_unpool}};
  return rules;
}

}  // namespace weft::compiler::frontend
