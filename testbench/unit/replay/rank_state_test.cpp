#include "model/replay/rank_state.hpp"

#include <catch2/catch.hpp>

#include "testbench/unit/replay/jobs.hpp"

using namespace weft::replay;
using namespace weft::replay::test;

namespace {

constexpr auto kCore = static_cast<size_t>(Unit::kCore);

}  // namespace

TEST_CASE("nodes are free when all that they depend on has ended") {
  const auto job = job_of({{compute(1, 1), compute(2, 1, {1}), compute(3, 1, {1, 2, 2})}});
  RankState state(job.ranks.front());
  CHECK(state.take_free() == std::vector<uint32_t>{0});
  CHECK(state.take_free().empty());
  state.begin(0, 0);
  state.end(0, 10);
  CHECK(state.take_free() == std::vector<uint32_t>{1});
  state.begin(1, 10);
  state.end(1, 20);
  CHECK(state.take_free() == std::vector<uint32_t>{2});
  CHECK_FALSE(state.done());
  state.begin(2, 20);
  state.end(2, 25);
  CHECK(state.done());
  CHECK(state.times().end == 25);
  CHECK(state.times().nodes[1].begin == 10);
  CHECK(state.times().nodes[1].end == 20);
}

TEST_CASE("a unit takes the lowest id, one node at a time") {
  const auto job = job_of({{compute(9, 1), compute(4, 1), compute(6, 1)}});
  RankState state(job.ranks.front());
  for (const auto node : state.take_free()) state.wait_for_unit(kCore, node);
  CHECK(state.next_of(kCore) == 1);
  state.begin(1, 0);
  CHECK(state.next_of(kCore) == RankState::kNone);
  state.end(1, 1);
  CHECK(state.next_of(kCore) == 2);
  CHECK(state.next_of(static_cast<size_t>(Unit::kHost)) == RankState::kNone);
}

TEST_CASE("time goes to what a chip does: works, communicates, both") {
  const auto job = job_of({{compute(1, 1), send(2, 0, 1), send(3, 0, 1)}});
  RankState state(job.ranks.front());
  state.begin(0, 0);   // works from 0 to 50
  state.begin(1, 10);  // communicates from 10 to 60
  state.begin(2, 40);  // and again from 40 to 70
  state.end(0, 50);
  state.end(1, 60);
  state.end(2, 70);
  CHECK(state.times().working == 50);
  CHECK(state.times().communicating == 60);
  CHECK(state.times().hidden == 40);
  CHECK(state.times().exposed() == 20);
  CHECK(state.times().host == 0);
}

TEST_CASE("each type of node has its unit") {
  CHECK(unit_of(compute(1, 1)) == kCore);
  auto on_host = compute(1, 1);
  on_host.on_host = true;
  CHECK(unit_of(on_host) == static_cast<size_t>(Unit::kHost));
  CHECK(unit_of({.type = NodeType::kMemoryLoad}) == static_cast<size_t>(Unit::kMemory));
  CHECK(unit_of({.type = NodeType::kCheckpoint}) == static_cast<size_t>(Unit::kHost));
  CHECK(unit_of({.type = NodeType::kMetadata}) == kUnits);
  CHECK(unit_of(send(1, 0, 1)) == kUnits);
}
