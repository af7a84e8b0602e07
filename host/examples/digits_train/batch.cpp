// A batch is cut among the chips in their order.
#include "host/examples/digits_train/batch.hpp"

#include "host/compiler/layout.hpp"
#include "host/examples/digits_train/draws.hpp"

namespace weft::examples {

tools::TrainingBatch batch_of(const Digits& data, std::span<const uint32_t> rows) {
  tools::TrainingBatch batch{rows.size(), {}, std::vector<float>(rows.size() * kClasses)};
  for (size_t i = 0; i < rows.size(); i++) {
    for (size_t p = 0; p < kPixels; p++) batch.x.push_back(compiler::bf16_from_f32(data.pixels[rows[i] * kPixels + p]));
    batch.targets[i * kClasses + static_cast<size_t>(data.labels[rows[i]])] = 1;
  }
  return batch;
}

std::span<const uint32_t> BatchOrder::rows(uint64_t step, uint32_t chip, uint32_t chips) {
  const uint64_t epoch = step / steps_per_epoch(settings_), in_epoch = step % steps_per_epoch(settings_);
  if (epoch != epoch_) order_ = epoch_order(settings_.seed, epoch_ = epoch, settings_.examples);
  const uint64_t each = settings_.batch / chips;
  return {&order_[in_epoch * settings_.batch + chip * each], each};
}

}  // namespace weft::examples
