/// Which elements an output of Resize reads along one axis, and with which weights. Private to the importer.
#pragma once
#include <string>
#include <vector>

#include "host/compiler/ir/tensor.hpp"

namespace weft::compiler::frontend {

struct Resampling {
  std::string coordinates = "half_pixel", nearest = "round_prefer_floor", mode = "nearest";
  double cubic = -0.75;
  bool exclude_outside = false, antialias = false;
};

/// Along one axis of `size` elements.
struct ResampledAxis {
  int64_t size = 0, places = 0;
  double scale = 1;
  double roi_start = 0, roi_end = 1;
};

/// taps[t][i]: the element that output i reads in its tap t, and its weight. `outside[i]`: the output lies outside of
/// the region (tf_crop_and_resize).
struct Taps {
  std::vector<ir::Dims> elements;
  std::vector<std::vector<double>> weights;
  std::vector<bool> outside;
};

/// Refuses (ir::Refusal) words that ONNX does not have.
[[nodiscard]] Taps taps_of(const Resampling& by, const ResampledAxis& axis);

}  // namespace weft::compiler::frontend
