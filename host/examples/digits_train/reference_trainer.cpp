// docs/training.md and docs/collectives.md, step by step.
#include "host/examples/digits_train/reference_trainer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "host/reference/collective_reference.hpp"

namespace weft::examples {
namespace {

std::vector<std::byte> bytes_of(const tools::LayoutBuffer& buffer) {
  const auto bytes = std::as_bytes(std::span(buffer));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

ReferenceTrainer::ReferenceTrainer(const spec::Chip& chip, const compiler::SliceShape& shape,
                                   const RunSettings& settings, const Digits& data)
    : shape_(shape),
      settings_(settings),
      data_(data),
      layout_(compiler::parameter_layout(chip, settings.network).value()),
      order_(settings) {}

void ReferenceTrainer::set(const Checkpoint& state) {
  step_ = state.step;
  parameters_ = compiler::pack_parameters(layout_, state.parameters);
  momentum_ = compiler::pack_parameters(layout_, state.momentum);
}

Checkpoint ReferenceTrainer::get() const {
  return {settings_, step_, compiler::unpack_parameters(layout_, parameters_),
          compiler::unpack_parameters(layout_, momentum_)};
}

std::vector<float> ReferenceTrainer::run(uint64_t count) {
  std::vector<float> losses;
  for (const uint64_t end = step_ + count; step_ < end; step_++) {
    tools::ChipData gradients;
    for (uint32_t chip = 0; chip < shape_.chips(); chip++)
      gradients.push_back(bytes_of(tools::reference_gradients(layout_, parameters_,
                                                              batch_of(data_, order_.rows(step_, chip, shape_.chips())),
                                                              1 / static_cast<float>(settings_.batch))));
    for (unsigned axis = 0; axis < 3; axis++)
      if (shape_.size[axis] > 1)
        gradients = tools::collective_reference(shape_,
                                                {.kind = compiler::CollectiveKind::kAllReduce,
                                                 .axes = compiler::one_axis(axis),
                                                 .dtype = WEFT_ARGUMENT_DTYPE_F32,
                                                 .bytes = layout_.bytes},
                                                gradients);
    tools::LayoutBuffer sum(layout_.bytes / 4);
    std::memcpy(sum.data(), gradients[0].data(), layout_.bytes);
    losses.push_back(sum[layout_.loss_offset / 4]);
    tools::reference_update(layout_, settings_.sgd, parameters_, momentum_, sum);
  }
  return losses;
}

}  // namespace weft::examples
