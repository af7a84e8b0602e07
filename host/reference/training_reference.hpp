/// What the programs of host/compiler/training.hpp must give, to the bit: the same operations in the same order with
/// the golden model's arithmetic, over dense arrays and without a notion of tiles.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "host/compiler/training.hpp"

namespace weft::tools {

/// Buffers of a ParameterLayout as f32: parameters, momentum, gradients with the loss.
using LayoutBuffer = std::vector<float>;

/// A batch: x[rows, widths.front()] as bf16 bits, targets[rows, classes] (empty: scores only), both dense.
struct TrainingBatch {
  uint64_t rows = 0;
  std::vector<uint16_t> x;
  std::vector<float> targets;
};

/// scores[rows, classes].
[[nodiscard]] std::vector<float> reference_scores(const compiler::ParameterLayout& layout,
                                                  const LayoutBuffer& parameters, const TrainingBatch& batch);

/// Gradients and loss in their places, padding zero.
[[nodiscard]] LayoutBuffer reference_gradients(const compiler::ParameterLayout& layout, const LayoutBuffer& parameters,
                                               const TrainingBatch& batch, float scale);

/// Parameters and momentum after one update.
void reference_update(const compiler::ParameterLayout& layout, const compiler::Sgd& sgd, LayoutBuffer& parameters,
                      LayoutBuffer& momentum, const LayoutBuffer& gradients);

}  // namespace weft::tools
