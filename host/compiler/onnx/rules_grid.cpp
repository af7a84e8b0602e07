// GridSample: elements of images at places that a tensor holds.
#include <algorithm>

#include "host/compiler/onnx/rules.hpp"

namespace weft::compiler::frontend {
namespace {

enum class Padding : uint8_t { kZeros, kBorder, kReflection };
enum class Sampling : uint8_t { kNearest, kLinear, kCubic };

struct Grid {
  Padding padding = Padding::kZeros;
  Sampling sampling = Sampling::kLinear;
  bool corners = false;  ///< -1 and 1 are the middles of the outer elements, else their outer edges
};

/// Along one dimension of `size` elements: which elements a place reads, as f32 or f64 numbers, and with which weights.
struct Axis {
  std::vector<ValueId> elements, weights, inside;
};

ValueId floor_of(Node& n, ValueId x) { return n.b.unary(OpKind::kFloor, x); }

/// x between the edges; one that lies outside is mirrored at them as often as it takes.
ValueId reflected(Node& n, ValueId x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return n.b.times(x, 0.0);
  const auto beyond = [&](ValueId distance, bool above) {
    const ValueId turns = floor_of(n, n.b.over(distance, range));
    const ValueId rest = n.b.minus(distance, n.b.times(turns, range));
    const ValueId odd = n.b.minus(turns, n.b.times(floor_of(n, n.b.over(turns, 2.0)), 2.0));
    const ValueId from_low = n.b.plus(rest, low), from_high = n.b.minus(n.b.like(rest, high), rest);
    const ValueId is_odd = n.b.compare("ne", odd, n.b.like(odd, 0));
    return above ? n.b.select(is_odd, from_low, from_high) : n.b.select(is_odd, from_high, from_low);
  };
  const ValueId edge_low = n.b.like(x, low), edge_high = n.b.like(x, high);
  const ValueId below = beyond(n.b.minus(edge_low, x), false), above = beyond(n.b.minus(x, edge_high), true);
  const ValueId upper = n.b.select(n.b.compare("gt", x, edge_high), above, x);
  return n.b.select(n.b.compare("lt", x, edge_low), below, upper);
}

ValueId clamped(Node& n, ValueId x, double low, double high) {
  return n.b.min(n.b.max(x, n.b.like(x, low)), n.b.like(x, high));
}

/// The four weights of Keys's cubic convolution with a = -0.75 for a place `t` behind the second element.
std::vector<ValueId> cubic_weights(Node& n, ValueId t) {
  constexpr double kA = -0.75;
  const auto near = [&](ValueId d) {  // up to 1 away
    const ValueId slope = n.b.minus(n.b.times(d, kA + 2), kA + 3);
    return n.b.plus(n.b.times(n.b.times(slope, d), d), 1.0);
  };
  const auto far = [&](ValueId d) {  // 1 to 2 away
    const ValueId inner = n.b.plus(n.b.times(n.b.minus(n.b.times(d, kA), 5 * kA), d), 8 * kA);
    return n.b.minus(n.b.times(inner, d), 4 * kA);
  };
  const ValueId rest = n.b.minus(n.b.like(t, 1), t);
  return {far(n.b.plus(t, 1.0)), near(t), near(rest), far(n.b.plus(rest, 1.0))};
}

Axis axis_of(Node& n, ValueId place, int64_t size, const Grid& grid) {
  const auto count = static_cast<double>(size);
  const double low = grid.corners ? 0 : -0.5, high = grid.corners ? count - 1 : count - 0.5;
  ValueId at = n.b.plus(place, 1.0);
  at = grid.corners ? n.b.times(n.b.over(at, 2.0), count - 1) : n.b.over(n.b.minus(n.b.times(at, count), 1.0), 2.0);
  if (grid.sampling == Sampling::kNearest) at = n.b.unary(OpKind::kRoundNearestEven, at);
  if (grid.padding == Padding::kReflection) at = reflected(n, at, low, high);
  Axis out;
  std::vector<ValueId> elements{at};
  if (grid.sampling != Sampling::kNearest) {
    const ValueId base = floor_of(n, at), t = n.b.minus(at, base);
    const bool cubic = grid.sampling == Sampling::kCubic;
    elements.clear();
    for (int step = cubic ? -1 : 0; step <= (cubic ? 2 : 1); step++) elements.push_back(n.b.plus(base, step));
    out.weights = cubic ? cubic_weights(n, t) : std::vector<ValueId>{n.b.minus(n.b.like(t, 1), t), t};
  }
  for (ValueId element : elements) {
    if (grid.padding == Padding::kZeros)
      out.inside.push_back(n.b.binary(OpKind::kAnd, n.b.compare("ge", element, n.b.like(element, 0)),
                                      n.b.compare("le", element, n.b.like(element, count - 1))));
    if (grid.padding == Padding::kReflection) element = reflected(n, element, low, high);
    out.elements.push_back(n.b.convert(clamped(n, element, 0, count - 1), ElementType::kI64));
  }
  return out;
}

Grid grid_of(Node& n) {
  Grid grid;
  const auto mode = n.word("mode", n.since >= 20 ? "linear" : "bilinear");
  const auto padding = n.word("padding_mode", "zeros");
  const bool old = n.since < 20;
  if (mode == "nearest")
    grid.sampling = Sampling::kNearest;
  else if (mode == (old ? "bicubic" : "cubic"))
    grid.sampling = Sampling::kCubic;
  else if (mode != (old ? "bilinear" : "linear"))
    invalid("mode '{}'", mode);
  if (padding == "border")
    grid.padding = Padding::kBorder;
  else if (padding == "reflection")
    grid.padding = Padding::kReflection;
  else if (padding != "zeros")
    invalid("padding_mode '{}'; zeros, border or reflection", padding);
  grid.corners = n.integer("align_corners", 0) != 0;
  return grid;
}

/// Images [N, C, D1, ...] at places [N, P1, ..., rank]: [N, C, P1, ...]. The places' last dimension names the image's
/// dimensions from the last one on. Element by element, so that an infinite one touches none but its neighbours.
void grid_sample(Node& n) {
  const ValueId x = n.in(0), places = n.in(1);
  const Dims dims = n.b.dims(x), own = n.b.dims(places);
  const Grid grid = grid_of(n);
  const auto spatial = static_cast<int64_t>(dims.size()) - 2;
  if (spatial < 1 || own.size() != dims.size() || own.back() != spatial || own[0] != dims[0] ||
      (n.since < 20 && spatial != 2))
    invalid("places of {} for images of {}", n.b.type(places).text(), n.b.type(x).text());
  if (n.b.type(x).count() == 0 && n.b.type(places).count() != 0) invalid("{} has no element", n.b.type(x).text());
  if (!ir::is_float(n.b.element(places))) invalid("places of {}; floats", n.b.type(places).text());
  const bool weighted = grid.sampling != Sampling::kNearest;
  if (weighted && !ir::is_float(n.b.element(x)))
    unsupported("interpolation of {}; supported: floats", n.b.type(x).text());
  const bool wide = n.b.element(x) == ElementType::kF64 || n.b.element(places) == ElementType::kF64;
  const ElementType type = wide ? ElementType::kF64 : ElementType::kF32;

  Dims points(own.begin(), own.end() - 1);
  const ValueId at = n.b.convert(places, type);
  std::vector<Axis> axes;
  for (int64_t d = 0; d < spatial; d++) {
    const int64_t column = spatial - 1 - d;
    const ValueId place = n.b.reshape(n.b.slice_of(at, points.size(), column, column + 1), points);
    axes.push_back(axis_of(n, place, dims[static_cast<size_t>(d) + 2], grid));
  }

  // elements in rows of channels: row (image, d1, d2, ...)
  Dims channels_last{0};
  for (int64_t d = 0; d < spatial; d++) channels_last.push_back(d + 2);
  channels_last.push_back(1);
  const int64_t channels = dims[1];
  const auto rows = static_cast<int64_t>(ir::count_of(dims)) / std::max<int64_t>(channels, 1);
  const auto count = static_cast<int64_t>(ir::count_of(points));
  const ElementType element = weighted ? type : n.b.element(x);
  const ValueId table =
      n.b.convert(n.b.reshape(n.b.transpose(x, channels_last), {channels == 0 ? 0 : rows, channels}), element);

  const size_t taps = axes[0].elements.size();
  size_t combinations = 1;
  for (int64_t d = 0; d < spatial; d++) combinations *= taps;
  std::optional<ValueId> sum;
  for (size_t c = 0; c < combinations; c++) {
    ValueId row = n.b.iota(ElementType::kI64, points, 0);
    std::optional<ValueId> weight, inside;
    size_t rest = c;
    for (size_t d = 0; d < axes.size(); d++, rest /= taps) {
      const Axis& axis = axes[d];
      const size_t tap = rest % taps;
      row = n.b.plus(n.b.times(row, static_cast<double>(dims[d + 2])), axis.elements[tap]);
      if (weighted) weight = weight ? n.b.times(*weight, axis.weights[tap]) : axis.weights[tap];
      if (!axis.inside.empty())
        inside = inside ? n.b.binary(OpKind::kAnd, *inside, axis.inside[tap]) : axis.inside[tap];
    }
    ValueId part = n.b.take(table, n.b.reshape(row, {count}), 0);
    const Dims shape = n.b.dims(part);
    if (inside) part = n.b.select(n.b.broadcast_in(n.b.reshape(*inside, {count}), shape, {0}), part, n.b.like(part, 0));
    if (weight) part = n.b.times(part, n.b.broadcast_in(n.b.reshape(*weight, {count}), shape, {0}));
    sum = sum ? n.b.plus(*sum, part) : part;
  }
  Dims out = points;
  out.push_back(channels);
  Dims channels_second{0, static_cast<int64_t>(points.size())};
  for (size_t d = 1; d < points.size(); d++) channels_second.push_back(static_cast<int64_t>(d));
  n.out(n.b.convert(n.b.transpose(n.b.reshape(*sum, out), channels_second), n.b.element(x)));
}

}  // namespace

const Rules& grid_rules() {
  static const Rules rules{{"GridSample", grid_sample}};
  return rules;
}

}  // namespace weft::compiler::frontend
