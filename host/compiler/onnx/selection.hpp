/// Operators whose results are as large as values say: computed on arrays, when the model is compiled. Private to the
/// importer.
#pragma once
#include <limits>
#include <optional>

#include "host/compiler/onnx/node.hpp"

namespace weft::compiler::frontend {

/// i64 [rank, count].
[[nodiscard]] TensorPtr places_of_non_zero(const ir::Tensor& x);

/// Of the slices of an axis: where each kind is first, which kind each slice is, and how many there are of a kind.
struct UniqueSlices {
  Dims first, inverse, counts;
};
[[nodiscard]] UniqueSlices unique_slices(const ir::Tensor& x, size_t axis, bool sorted);

struct Suppression {
  bool corners = true;  ///< boxes are two corners, else centre and size
  int64_t most = 0;     ///< boxes of a class
  double overlap = 0;   ///< intersection over union, above which the box of the lower score goes
  std::optional<double> score;
};
/// boxes [batches, boxes, 4], scores [batches, classes, boxes]: i64 [chosen, 3] of batch, class, box.
[[nodiscard]] TensorPtr suppress(const ir::Tensor& boxes, const ir::Tensor& scores, const Suppression& by);

}  // namespace weft::compiler::frontend
