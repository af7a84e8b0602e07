#include "model/replay/record.hpp"

#include <catch2/catch.hpp>

#include "testbench/unit/replay/jobs.hpp"

using namespace weft::replay;
using namespace weft::replay::test;

TEST_CASE("a replay's times stand in its traces, which replayed again take as long") {
  const auto slice = slice_of("v5e-2x2");
  auto job = job_of({{compute(1, 7), send(2, 3, 1 << 20, {1})}, {}, {}, {receive(1, 0, 1 << 20), compute(2, 9, {1})}});
  std::vector<PlacedJob> placed{{&job, {0, 1, 2, 3}}};
  const auto first = std::get<ReplayResult>(replay(slice, placed, {}));
  Job recorded;
  recorded.name = "recorded";
  for (size_t rank = 0; rank < 4; rank++)
    recorded.ranks.push_back(with_times(job.ranks[rank], first.jobs[0].ranks[rank]));
  CHECK(recorded.ranks[0].nodes[1].start_fs == 7 * weft::ici::kMicrosecond);
  CHECK(*recorded.ranks[3].nodes[1].start_fs + recorded.ranks[3].nodes[1].duration_fs == first.end);
  placed.front().job = &recorded;
  CHECK(std::get<ReplayResult>(replay(slice, placed, {})).end == first.end);
}

TEST_CASE("a collective as a job is one node a rank") {
  const auto job = collective_job(CollectiveType::kAllReduce, 4096, 3);
  REQUIRE(job.ranks.size() == 3);
  for (const auto& trace : job.ranks) {
    CHECK(weft::chakra::check_nodes(trace).empty());
    CHECK(trace.nodes.front().bytes == 4096u);
  }
  CHECK(std::get<Communications>(match(job)).all.size() == 1);
}
