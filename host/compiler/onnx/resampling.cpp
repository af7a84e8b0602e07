// Coordinates and weights by ONNX's formulas, in fp64.
#include "host/compiler/onnx/resampling.hpp"

#include <algorithm>
#include <cmath>

#include "host/compiler/ir/refusal.hpp"

namespace weft::compiler::frontend {
namespace {

double coordinate(const Resampling& by, const ResampledAxis& a, double x) {
  const auto size = static_cast<double>(a.size), places = a.scale * size;
  if (by.coordinates == "half_pixel") return (x + 0.5) / a.scale - 0.5;
  if (by.coordinates == "pytorch_half_pixel") return places > 1 ? (x + 0.5) / a.scale - 0.5 : 0;
  if (by.coordinates == "asymmetric") return x / a.scale;
  if (by.coordinates == "align_corners") return places == 1 ? 0 : x * (size - 1) / (places - 1);
  if (by.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / a.scale;
  if (by.coordinates == "half_pixel_symmetric") {
    const double adjustment = static_cast<double>(a.places) / places, centre = size / 2;
    return centre * (1 - adjustment) + (x + 0.5) / a.scale - 0.5;
  }
  if (by.coordinates == "tf_crop_and_resize") {
    const double whole = size - 1;
    if (a.places == 1) return 0.5 * (a.roi_start + a.roi_end) * whole;
    return a.roi_start * whole + x * (a.roi_end - a.roi_start) * whole / static_cast<double>(a.places - 1);
  }
  ir::invalid("coordinate_transformation_mode '{}'", by.coordinates);
}

double nearest(const Resampling& by, double x) {
  if (by.nearest == "round_prefer_floor") return std::ceil(x - 0.5);
  if (by.nearest == "round_prefer_ceil") return std::floor(x + 0.5);
  if (by.nearest == "floor") return std::floor(x);
  if (by.nearest == "ceil") return std::ceil(x);
  ir::invalid("nearest_mode '{}'", by.nearest);
}

double linear_weight(double x) { return std::max(1 - std::abs(x), 0.0); }
double cubic_weight(double a, double x) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

}  // namespace

Taps taps_of(const Resampling& by, const ResampledAxis& axis) {
  const bool linear = by.mode == "linear", cubic = by.mode == "cubic";
  if (!linear && !cubic && by.mode != "nearest") ir::invalid("mode '{}'; nearest, linear or cubic", by.mode);
  const double shrink = by.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const int reach = linear || cubic ? static_cast<int>(-std::floor(-(linear ? 1 : 2) / shrink)) : 0;
  const size_t count = reach == 0 ? 1 : 2 * static_cast<size_t>(reach);
  Taps taps;
  taps.elements.resize(count), taps.weights.resize(count);
  for (int64_t i = 0; i < axis.places; i++) {
    const double x = coordinate(by, axis, static_cast<double>(i));
    taps.outside.push_back(by.coordinates == "tf_crop_and_resize" && (x < 0 || x > static_cast<double>(axis.size - 1)));
    if (reach == 0) {
      taps.elements[0].push_back(std::clamp<int64_t>(static_cast<int64_t>(nearest(by, x)), 0, axis.size - 1));
      taps.weights[0].push_back(1);
      continue;
    }
    // The element on the left: of a whole coordinate it is the one before.
    const double base = std::ceil(x) - 1;
    std::vector<double> weights;
    double sum = 0;
    for (size_t t = 0; t < count; t++) {
      const double at = base + static_cast<double>(t) - reach + 1;
      double weight = linear ? linear_weight((at - x) * shrink) : cubic_weight(by.cubic, (at - x) * shrink);
      if (by.exclude_outside && (at < 0 || at >= static_cast<double>(axis.size))) weight = 0;
      taps.elements[t].push_back(std::clamp<int64_t>(static_cast<int64_t>(at), 0, axis.size - 1));
      weights.push_back(weight);
      sum += weight;
    }
    const bool normalised = by.exclude_outside || by.antialias;
    for (size_t t = 0; t < count; t++) taps.weights[t].push_back(normalised ? weights[t] / sum : weights[t]);
  }
  return taps;
}

}  // namespace weft::compiler::frontend
