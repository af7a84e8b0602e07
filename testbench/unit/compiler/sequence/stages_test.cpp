// Steps of a launch that run at once.
#include "host/compiler/sequence/stages.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace weft::compiler;

namespace {

SequencePlace at(uint64_t number) { return {SequenceMemory::kBetween, 64 * number, 64}; }

/// A program, or a long collective, from some places to one.
SequenceStep step(bool program, const std::vector<uint64_t>& from, uint64_t to) {
  SequenceStep made;
  if (program) made.graph.emplace();
  made.is_long = !program;
  for (const uint64_t place : from) made.inputs.push_back(at(place));
  made.outputs = {at(to)};
  return made;
}

/// Of two inputs: a program, a collective, a program.
Sequence two_ways() {
  Sequence sequence;
  sequence.steps = {step(true, {}, 0),   step(true, {}, 1),  step(false, {0}, 2),
                    step(false, {1}, 3), step(true, {2}, 4), step(true, {3}, 5)};
  return sequence;
}

using Told = std::vector<std::pair<int, int>>;

/// Programs of kind 0 and others; collectives, of the last kind, take half as long as a program and are seen beside all
/// programs but those of kind 0.
StageCosts costs_of(const Sequence& sequence, const std::vector<size_t>& others = {}) {
  StageCosts costs;
  costs.kind_count = 3;
  for (size_t i = 0; i < sequence.steps.size(); i++)
    costs.kinds.push_back(!sequence.steps[i].graph ? 2 : std::ranges::count(others, i) != 0 ? 1 : 0);
  costs.of = [](std::optional<size_t> program, std::optional<size_t> collective) -> std::optional<StageCost> {
    constexpr uint64_t kProgram = 20'000, kCollective = 10'000;
    if (!collective) return StageCost{kProgram, 0};
    if (!program) return StageCost{kCollective, kCollective};
    return StageCost{kProgram, *program == 0 ? 0 : kCollective};
  };
  return costs;
}

Told told(const Sequence& sequence, const StageCosts& costs) {
  Told made;
  for (const auto& stage : stages_of(sequence, costs))
    made.emplace_back(stage.program ? static_cast<int>(*stage.program) : -1,
                      stage.collective ? static_cast<int>(*stage.collective) : -1);
  return made;
}

}  // namespace

TEST_CASE("a collective runs beside the first program that does not need it") {
  CHECK(told(two_ways(), costs_of(two_ways())) == Told{{0, -1}, {1, 2}, {4, 3}, {5, -1}});
}

TEST_CASE("a chain has nothing to run beside") {
  Sequence chain;
  chain.steps = {step(true, {}, 0), step(false, {0}, 1), step(true, {1}, 2), step(false, {2}, 3)};
  CHECK(told(chain, costs_of(chain)) == Told{{0, -1}, {-1, 1}, {2, -1}, {-1, 3}});
}

TEST_CASE("a collective waits for a program that hides it") {
  Sequence
      sequence;  // a program, its collective, what reads that; two programs beside, of which the first hides nothing
  sequence.steps = {step(true, {}, 0), step(false, {0}, 1), step(true, {}, 2), step(true, {}, 3), step(true, {1}, 4)};
  const auto stages = told(sequence, costs_of(sequence, {2}));
  CHECK(std::ranges::count(stages, std::pair(3, 1)) == 1);
  CHECK(stages.size() == 4);
}

TEST_CASE("a program that all others wait for goes first") {
  Sequence sequence;  // the collective needs the last program, which no order of numbers would take first
  sequence.steps = {step(true, {}, 0), step(true, {}, 1), step(true, {}, 2), step(false, {2}, 3)};
  const auto stages = told(sequence, costs_of(sequence));
  CHECK(stages.size() == 3);
  CHECK(stages.front() == std::pair(2, -1));
}

TEST_CASE("steps that cannot run at once are stages of their own") {
  auto costs = costs_of(two_ways());
  costs.of = [of = costs.of](auto program, auto collective) {
    return program && collective ? std::nullopt : of(program, collective);
  };
  CHECK(told(two_ways(), costs).size() == 6);
}

TEST_CASE("without a long collective steps stay in their order, one by one") {
  auto sequence = two_ways();
  for (auto& one : sequence.steps) one.is_long = false;
  CHECK(told(sequence, costs_of(sequence)) == Told{{0, -1}, {1, -1}, {-1, 2}, {-1, 3}, {4, -1}, {5, -1}});
}
