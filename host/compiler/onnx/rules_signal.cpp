// Windows and Fourier transforms: transforms are products by matrices of cosines and sines, computed in fp64.
#include <cmath>
#include <numbers>

#include "host/compiler/onnx/rules.hpp"

namespace weft::compiler::frontend {
namespace {

constexpr int64_t kMaxTransform = 4096;

ValueId constant_of(Node& n, const Dims& dims, const std::vector<double>& values, ElementType type) {
  auto tensor = std::make_shared<ir::Tensor>(ir::TensorType{ElementType::kF64, dims});
  std::copy(values.begin(), values.end(), tensor->as<double>());
  return n.b.convert(n.b.constant(std::move(tensor)), type);
}

/// a - b cos(2 pi i / n) + c cos(4 pi i / n).
void window(Node& n, double a, double b, double c) {
  const int64_t size = n.known(0)->integer(0);
  if (size < 0 || size > INT32_MAX) invalid("a window of {}", size);
  const auto period = static_cast<double>(n.integer("periodic", 1) != 0 ? size : size - 1);
  std::vector<double> values;
  for (int64_t i = 0; i < size; i++) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / period;
    values.push_back(a - b * std::cos(angle) + c * std::cos(2 * angle));
  }
  n.out(constant_of(n, {size}, values, Node::element(n.integer("output_datatype", 1))));
}
void hann_window(Node& n) { window(n, 0.5, 0.5, 0); }
void hamming_window(Node& n) { window(n, 25.0 / 46, 21.0 / 46, 0); }
void blackman_window(Node& n) { window(n, 0.42, 0.5, 0.08); }

/// The transform of axis `axis` of real and imaginary parts (none: zeros), in fp64; the first `kept` of its elements.
std::pair<ValueId, ValueId> transform(Node& n, ValueId real, std::optional<ValueId> imaginary, size_t axis,
                                      int64_t kept, bool inverse) {
  const int64_t size = n.b.dim(real, axis);
  if (size > kMaxTransform) unsupported("a transform of {} elements; supported: {}", size, kMaxTransform);
  std::vector<double> cosines, sines;
  for (int64_t i = 0; i < size; i++)
    for (int64_t k = 0; k < kept; k++) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i * k % size) / static_cast<double>(size);
      cosines.push_back(std::cos(angle));
      sines.push_back(inverse ? std::sin(angle) : -std::sin(angle));
    }
  const ValueId c = constant_of(n, {size, kept}, cosines, ElementType::kF64),
                s = constant_of(n, {size, kept}, sines, ElementType::kF64);
  const auto by = [&](ValueId x, ValueId matrix) {
    const ValueId y = n.b.dot(x, matrix, {}, {}, {static_cast<int64_t>(axis)}, {0}, ElementType::kF64);
    Dims order = ir::counting(n.b.rank(y) - 1);
    order.insert(order.begin() + static_cast<ptrdiff_t>(axis), static_cast<int64_t>(n.b.rank(y)) - 1);
    return n.b.transpose(y, order);
  };
  ValueId y_real = by(real, c), y_imaginary = by(real, s);
  if (imaginary) {
    y_real = n.b.minus(y_real, by(*imaginary, s));
    y_imaginary = n.b.plus(y_imaginary, by(*imaginary, c));
  }
  if (inverse)
    y_real = n.b.over(y_real, static_cast<double>(size)),
    y_imaginary = n.b.over(y_imaginary, static_cast<double>(size));
  return {y_real, y_imaginary};
}

ValueId join(Node& n, std::pair<ValueId, ValueId> parts, ElementType type) {
  Dims dims = n.b.dims(parts.first);
  dims.push_back(1);
  const ValueId both =
      n.b.concatenate({n.b.reshape(parts.first, dims), n.b.reshape(parts.second, dims)}, dims.size() - 1);
  return n.b.convert(both, type);
}

/// Part 0 or 1 of the last dimension, in fp64.
ValueId part_of(Node& n, ValueId x, int64_t part) {
  const size_t last = n.b.rank(x) - 1;
  Dims dims = n.b.dims(x);
  dims.pop_back();
  return n.b.convert(n.b.reshape(n.b.slice_of(x, last, part, part + 1), dims), ElementType::kF64);
}

void dft(Node& n) {
  ValueId x = n.in(0);
  const size_t rank = n.b.rank(x);
  if (rank < 2 || n.b.dim(x, rank - 1) < 1 || n.b.dim(x, rank - 1) > 2)
    invalid("{}; the last dimension has a real or a complex number", n.b.type(x).text());
  const int64_t given = n.since >= 20 ? (n.has(2) ? n.known(2)->integer(0) : -2) : n.integer("axis", 1);
  const size_t axis = Node::axis(given, rank);
  if (axis == rank - 1) invalid("axis {} is that of the parts", given);
  const bool inverse = n.integer("inverse", 0) != 0, one_sided = n.integer("onesided", 0) != 0;
  if (inverse && one_sided) unsupported("inverse and onesided");
  const int64_t size = n.b.dim(x, axis), length = n.has(1) ? n.known(1)->integer(0) : size;
  if (length < 1 || length > INT32_MAX) invalid("a transform of {} elements", length);
  Dims high(rank);
  high[axis] = length - size;
  if (length != size) x = n.b.pad(x, n.b.like(x, 0), Dims(rank), high, Dims(rank));
  const auto imaginary = n.b.dim(x, rank - 1) == 2 ? std::optional(part_of(n, x, 1)) : std::nullopt;
  const int64_t kept = one_sided ? length / 2 + 1 : length;
  n.out(join(n, transform(n, part_of(n, x, 0), imaginary, axis, kept, inverse), n.b.element(x)));
}

void stft(Node& n) {
  ValueId x = n.in(0);
  if (n.b.rank(x) != 3 || n.b.dim(x, 2) < 1 || n.b.dim(x, 2) > 2) invalid("a signal of {}", n.b.type(x).text());
  const int64_t step = n.known(1)->integer(0);
  const int64_t length = n.has(3) ? n.known(3)->integer(0) : n.has(2) ? n.b.dim(n.in(2), 0) : n.b.dim(x, 1);
  const bool one_sided = n.integer("onesided", 1) != 0;
  if (step < 1 || length < 1 || length > n.b.dim(x, 1))
    invalid("frames of {} every {} of {}", length, step, n.b.type(x).text());
  if (one_sided && n.b.dim(x, 2) == 2) invalid("onesided of a complex signal");
  const int64_t frames = (n.b.dim(x, 1) - length) / step + 1;
  const ValueId starts = n.b.times(n.b.iota(ElementType::kI64, {frames, length}, 0), static_cast<double>(step));
  const ValueId places = n.b.plus(starts, n.b.iota(ElementType::kI64, {frames, length}, 1));
  const auto framed = [&](int64_t part) {
    ValueId y = n.b.take(part_of(n, x, part), places, 1);  // [batch, frames, length]
    return n.has(2) ? n.b.times(y, n.b.convert(n.in(2), ElementType::kF64)) : y;
  };
  const auto imaginary = n.b.dim(x, 2) == 2 ? std::optional(framed(1)) : std::nullopt;
  n.out(join(n, transform(n, framed(0), imaginary, 2, one_sided ? length / 2 + 1 : length, false), n.b.element(x)));
}

/// Triangles on the mel scale.
void mel_weight_matrix(Node& n) {
  const int64_t bins = n.known(0)->integer(0), length = n.known(1)->integer(0), rate = n.known(2)->integer(0);
  const double low = n.known(3)->number(0), high = n.known(4)->number(0);
  const int64_t rows = length / 2 + 1;
  if (bins < 1 || bins > 1 << 16 || length < 1 || length > 1 << 24 || rate < 1)
    invalid("{} bins of {} elements at {}", bins, length, rate);
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mel(high) - mel(low)) / static_cast<double>(bins + 2);
  Dims edges;
  for (int64_t i = 0; i < bins + 2; i++) {
    const double hertz = 700 * (std::pow(10, (static_cast<double>(i) * step + mel(low)) / 2595) - 1);
    edges.push_back(
        static_cast<int64_t>(std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate))));
  }
  std::vector<double> values(static_cast<size_t>(rows * bins));
  const auto set = [&](int64_t row, int64_t bin, double value) {
    if (row < 0 || row >= rows) invalid("frequencies {} to {} at {}", low, high, rate);
    values[static_cast<size_t>(row * bins + bin)] = value;
  };
  for (int64_t i = 0; i < bins; i++) {
    const int64_t first = edges[static_cast<size_t>(i)], centre = edges[static_cast<size_t>(i) + 1],
                  last = edges[static_cast<size_t>(i) + 2];
    if (centre == first) set(centre, i, 1);
    for (int64_t j = first; j <= centre && centre > first; j++)
      set(j, i, static_cast<double>(j - first) / static_cast<double>(centre - first));
    for (int64_t j = centre; j < last; j++)
      set(j, i, static_cast<double>(last - j) / static_cast<double>(last - centre));
  }
  n.out(constant_of(n, {rows, bins}, values, Node::element(n.integer("output_datatype", 1))));
}

}  // namespace

const Rules& signal_rules() {
  static const Rules rules{{"BlackmanWindow", blackman_window},    {"DFT", dft},
                           {"HammingWindow", hamming_window},      {"HannWindow", hann_window},
                           {"MelWeightMatrix", mel_weight_matrix}, {"STFT", stft}};
  return rules;
}

}  // namespace weft::compiler::frontend
