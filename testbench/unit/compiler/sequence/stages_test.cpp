// Steps of a launch that run at once.
#include "host/compiler/sequence/stages.hpp"

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

Told told(const Sequence& sequence) {
  Told made;
  for (const auto& stage : stages_of(sequence))
    made.emplace_back(stage.program ? static_cast<int>(*stage.program) : -1,
                      stage.collective ? static_cast<int>(*stage.collective) : -1);
  return made;
}

}  // namespace

TEST_CASE("a collective runs beside the first program that does not need it") {
  CHECK(told(two_ways()) == Told{{0, -1}, {1, 2}, {4, 3}, {5, -1}});
}

TEST_CASE("a chain has nothing to run beside") {
  Sequence chain;
  chain.steps = {step(true, {}, 0), step(false, {0}, 1), step(true, {1}, 2), step(false, {2}, 3)};
  CHECK(told(chain) == Told{{0, -1}, {-1, 1}, {2, -1}, {-1, 3}});
}

TEST_CASE("without a long collective steps stay in their order, one by one") {
  auto sequence = two_ways();
  for (auto& one : sequence.steps) one.is_long = false;
  CHECK(told(sequence) == Told{{0, -1}, {1, -1}, {-1, 2}, {-1, 3}, {4, -1}, {5, -1}});
}
