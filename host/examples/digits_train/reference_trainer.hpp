/// The same run on the host, in the golden model's arithmetic: what every chip must have, to the bit.
#pragma once
#include <cstdint>
#include <vector>

#include "host/examples/digits_train/batch.hpp"
#include "host/runtime/chip_set.hpp"

namespace weft::examples {

class ReferenceTrainer {
 public:
  /// On chips of this shape: they decide the order in which gradients are added. The settings must be possible
  /// (Trainer::create). `data` must outlive it.
  ReferenceTrainer(const spec::Chip& chip, const compiler::SliceShape& shape, const RunSettings& settings,
                   const Digits& data);

  void set(const Checkpoint& state);
  [[nodiscard]] Checkpoint get() const;
  /// Losses of the next `count` steps.
  [[nodiscard]] std::vector<float> run(uint64_t count);

 private:
  const compiler::SliceShape shape_;
  const RunSettings settings_;
  const Digits& data_;
  const compiler::ParameterLayout layout_;
  BatchOrder order_;
  uint64_t step_ = 0;
  tools::LayoutBuffer parameters_, momentum_;
};

}  // namespace weft::examples
