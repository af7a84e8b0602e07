/// Rows of the data as a training step takes them.
#pragma once
#include <cstdint>
#include <span>

#include "host/examples/digits/optdigits.hpp"
#include "host/examples/digits_train/checkpoint.hpp"
#include "host/reference/training_reference.hpp"

namespace weft::examples {

/// Pixels in bf16, and 1 for the label among zeros.
[[nodiscard]] tools::TrainingBatch batch_of(const Digits& data, std::span<const uint32_t> rows);

/// Steps of an epoch: whole batches only.
[[nodiscard]] constexpr uint64_t steps_per_epoch(const RunSettings& s) { return s.examples / s.batch; }

/// The rows of step `step` (counted from the run's first) that chip `chip` of `chips` has.
class BatchOrder {
 public:
  explicit BatchOrder(const RunSettings& settings) : settings_(settings) {}
  [[nodiscard]] std::span<const uint32_t> rows(uint64_t step, uint32_t chip, uint32_t chips);

 private:
  const RunSettings settings_;
  uint64_t epoch_ = UINT64_MAX;  ///< whose order this is
  std::vector<uint32_t> order_;
};

}  // namespace weft::examples
