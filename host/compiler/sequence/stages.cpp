// A beam search over what has been done. States that have done as many steps are compared by what they have cost and what
// the rest would cost if every collective still to come could run beside whichever program is left.
#include "host/compiler/sequence/stages.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace weft::compiler {
namespace {

constexpr uint64_t kBetweenStages = 1200;  // cycles in which the core drains and the firmware starts the next block
constexpr size_t kMostStates = 64, kStatesInAll = 8192;  // that are looked at after each number of steps

bool meet(const SequencePlace& a, const SequencePlace& b) {
  return a.memory == b.memory && a.offset_bytes < b.offset_bytes + b.size_bytes &&
         b.offset_bytes < a.offset_bytes + a.size_bytes;
}

bool reads(const SequenceStep& step, const SequenceStep& before) {
  return std::ranges::any_of(step.inputs, [&](const SequencePlace& input) {
    return std::ranges::any_of(before.outputs, [&](const SequencePlace& output) { return meet(input, output); });
  });
}

class Search {
 public:
  Search(const std::vector<SequenceStep>& steps, const StageCosts& costs)
      : steps_(steps), kinds_(costs.kinds), readers_(steps.size()), is_program_(costs.kind_count) {
    State first;
    first.missing.resize(steps.size());
    first.done.resize(steps.size());
    first.left.resize(costs.kind_count);
    for (size_t i = 0; i < steps.size(); i++) {
      is_program_[kinds_[i]] = steps[i].graph.has_value();
      first.left[kinds_[i]]++;
      for (size_t before = 0; before < i; before++)
        if (reads(steps[i], steps[before])) readers_[before].push_back(i), first.missing[i]++;
    }
    behind_.resize(steps.size());
    for (size_t i = steps.size(); i-- > 0;)
      for (const size_t reader : readers_[i]) behind_[i] = std::max(behind_[i], behind_[reader] + 1);
    const auto cost = [&](std::optional<size_t> program, std::optional<size_t> collective) {
      const auto found = costs.of(program, collective);
      return found ? found->cycles + found->seen + kBetweenStages : kNever;
    };
    alone_.resize(costs.kind_count);
    together_.resize(costs.kind_count, std::vector<uint64_t>(costs.kind_count, kNever));
    for (size_t kind = 0; kind < costs.kind_count; kind++)
      alone_[kind] = is_program_[kind] ? cost(kind, {}) : cost({}, kind);
    for (size_t p = 0; p < costs.kind_count; p++)
      for (size_t c = 0; c < costs.kind_count; c++)
        if (is_program_[p] && !is_program_[c]) together_[p][c] = cost(p, c);
    for (size_t kind = 0; kind < costs.kind_count; kind++)
      if (!is_program_[kind]) dearest_.push_back(kind);
    std::ranges::stable_sort(dearest_, std::ranges::greater{}, [this](size_t kind) { return alone_[kind]; });
    states_.push_back(std::move(first));
  }

  std::vector<SequenceStage> run() {
    const size_t count = steps_.size(), most = std::clamp<size_t>(kStatesInAll / count, 1, kMostStates);
    levels_.resize(count + 1);
    levels_[0][states_[0].done] = 0;
    for (size_t level = 0; level < count; level++) {
      std::vector<size_t> best;
      for (const auto& [done, state] : levels_[level]) best.push_back(state);
      std::ranges::stable_sort(best, {}, [this](size_t state) { return states_[state].cost + states_[state].rest; });
      if (best.size() > most) best.resize(most);
      for (const size_t state : best) expand(state, level);
      levels_[level].clear();
    }
    std::vector<SequenceStage> stages;
    for (size_t state = levels_[count].begin()->second; state != 0; state = states_[state].before)
      stages.push_back(states_[state].stage);
    std::ranges::reverse(stages);
    return stages;
  }

 private:
  struct State {
    std::vector<bool> done;
    std::vector<uint32_t> missing;  // by step: others that it waits for
    std::vector<uint32_t> left;     // by kind
    uint64_t cost = 0, rest = 0;
    size_t before = 0;  // a state, and how this one comes from it
    SequenceStage stage;
  };

  /// Of each kind, and of as many steps behind it, the first one that is ready.
  void expand(size_t number, size_t level) {
    std::vector<size_t> programs, collectives;
    std::set<std::pair<size_t, size_t>> seen;
    for (size_t i = 0; i < steps_.size(); i++)
      if (!states_[number].done[i] && states_[number].missing[i] == 0 && seen.emplace(kinds_[i], behind_[i]).second)
        (steps_[i].graph ? programs : collectives).push_back(i);
    for (const size_t program : programs) {
      add(number, level, {program, {}});
      for (const size_t collective : collectives)
        if (together_[kinds_[program]][kinds_[collective]] != kNever) add(number, level, {program, collective});
    }
    for (const size_t collective : collectives) add(number, level, {{}, collective});
    states_[number].done = {}, states_[number].missing = {}, states_[number].left = {};  // needed no more
  }

  void add(size_t number, size_t level, const SequenceStage& stage) {
    State next = states_[number];
    next.before = number, next.stage = stage;
    next.cost += !stage.collective ? alone_[kinds_[*stage.program]]
                 : !stage.program  ? alone_[kinds_[*stage.collective]]
                                   : together_[kinds_[*stage.program]][kinds_[*stage.collective]];
    for (const auto& step : {stage.program, stage.collective}) {
      if (!step) continue;
      level++;
      next.done[*step] = true;
      next.left[kinds_[*step]]--;
      for (const size_t reader : readers_[*step]) next.missing[reader]--;
    }
    next.rest = rest(next.left);
    const auto [known, fresh] = levels_[level].try_emplace(next.done, states_.size());
    if (fresh)
      states_.push_back(std::move(next));
    else if (next.cost < states_[known->second].cost)
      states_[known->second] = std::move(next);
  }

  /// Every collective, the dearest first, beside the program that makes it cheapest.
  [[nodiscard]] uint64_t rest(std::vector<uint32_t> kinds) const {
    uint64_t all = 0;
    for (size_t kind = 0; kind < kinds.size(); kind++)
      if (is_program_[kind]) all += kinds[kind] * alone_[kind];
    for (const size_t collective : dearest_)
      for (uint32_t i = 0; i < kinds[collective]; i++) {
        uint64_t least = alone_[collective];
        size_t partner = kinds.size();
        for (size_t program = 0; program < kinds.size(); program++) {
          if (!is_program_[program] || kinds[program] == 0 || together_[program][collective] == kNever) continue;
          const uint64_t both = together_[program][collective];
          const uint64_t more = both > alone_[program] ? both - alone_[program] : 0;
          if (more < least) least = more, partner = program;
        }
        all += least;
        if (partner < kinds.size()) kinds[partner]--;
      }
    return all;
  }

  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

  const std::vector<SequenceStep>& steps_;
  const std::vector<size_t>& kinds_;
  std::vector<std::vector<size_t>> readers_;
  std::vector<size_t> behind_;                   ///< by step, of the longest chain of readers
  std::vector<bool> is_program_;                 ///< by kind
  std::vector<uint64_t> alone_;                  ///< by kind
  std::vector<std::vector<uint64_t>> together_;  ///< by kinds of program and collective
  std::vector<size_t> dearest_;                  ///< kinds of collectives
  std::vector<State> states_;
  std::vector<std::map<std::vector<bool>, size_t>> levels_;  ///< by steps done: states
};

}  // namespace

std::vector<SequenceStage> stages_of(const Sequence& sequence, const StageCosts& costs) {
  const auto& steps = sequence.steps;
  if (std::ranges::any_of(steps, &SequenceStep::is_long)) return Search(steps, costs).run();
  std::vector<SequenceStage> stages;
  for (size_t i = 0; i < steps.size(); i++)
    stages.push_back(steps[i].graph ? SequenceStage{i, {}} : SequenceStage{{}, i});
  return stages;
}

}  // namespace weft::compiler
