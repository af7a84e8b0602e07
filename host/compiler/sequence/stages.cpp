// Steps that are ready, two at a time. What a step needs is known from the memory that it reads.
#include "host/compiler/sequence/stages.hpp"

#include <algorithm>

namespace weft::compiler {
namespace {

bool meet(const SequencePlace& a, const SequencePlace& b) {
  return a.memory == b.memory && a.offset_bytes < b.offset_bytes + b.size_bytes &&
         b.offset_bytes < a.offset_bytes + a.size_bytes;
}

bool reads(const SequenceStep& step, const SequenceStep& before) {
  return std::ranges::any_of(step.inputs, [&](const SequencePlace& input) {
    return std::ranges::any_of(before.outputs, [&](const SequencePlace& output) { return meet(input, output); });
  });
}

}  // namespace

std::vector<SequenceStage> stages_of(const Sequence& sequence) {
  const auto& steps = sequence.steps;
  const auto stage_of = [&](size_t step) {
    return steps[step].graph ? SequenceStage{step, {}} : SequenceStage{{}, step};
  };
  std::vector<SequenceStage> stages;
  if (std::ranges::none_of(steps, &SequenceStep::is_long)) {
    for (size_t i = 0; i < steps.size(); i++) stages.push_back(stage_of(i));
    return stages;
  }
  std::vector<std::vector<size_t>> needed(steps.size());
  for (size_t i = 0; i < steps.size(); i++)
    for (size_t before = 0; before < i; before++)
      if (reads(steps[i], steps[before])) needed[i].push_back(before);
  std::vector<bool> done(steps.size());
  for (size_t left = steps.size(); left != 0;) {
    std::optional<size_t> program;
    SequenceStage stage;
    for (size_t i = 0; i < steps.size(); i++) {
      if (done[i] || !std::ranges::all_of(needed[i], [&](size_t before) { return done[before]; })) continue;
      auto& first = steps[i].graph ? program : stage.collective;
      if (!first) first = i;
    }
    const bool beside = stage.collective && steps[*stage.collective].is_long;
    if (beside || !stage.collective) stage.program = program;
    for (const auto step : {stage.program, stage.collective})
      if (step) done[*step] = true, left--;
    stages.push_back(stage);
  }
  return stages;
}

}  // namespace weft::compiler
