// testbench/replay has more, from files that Python's protobuf has written.
#include "model/replay/replay.hpp"

#include <catch2/catch.hpp>
#include <iostream>
#include <random>

#include "model/ici/closed_forms.hpp"
#include "model/replay/record.hpp"
#include "testbench/unit/replay/jobs.hpp"

using namespace weft::replay;
using namespace weft::replay::test;
using weft::ici::Grain;
using weft::ici::microseconds;

namespace {

PlacedJob placed(const Job& job, uint32_t first = 0) {
  PlacedJob out{&job, {}};
  for (uint32_t rank = 0; rank < job.ranks.size(); rank++) out.chips.push_back(first + rank);
  return out;
}

ReplayResult run(const char* slice, const std::vector<PlacedJob>& jobs, Grain grain = Grain::kFlows) {
  auto result = replay(slice_of(slice), jobs, {.grain = grain, .framing = false});
  if (const auto* error = std::get_if<std::string>(&result)) FAIL(*error);
  return std::get<ReplayResult>(std::move(result));
}

std::string error_of(const char* slice, const std::vector<PlacedJob>& jobs) {
  const auto result = replay(slice_of(slice), jobs, {});
  const auto* error = std::get_if<std::string>(&result);
  return error == nullptr ? "" : *error;
}

}  // namespace

TEST_CASE("a trace of one all-reduce takes its closed form, by flows within 0.1 %, by packets within 2 %") {
  for (const char* name : {"v5e-4x4", "v5e-1x16", "v4-4x4x4", "v5p-4x4x8"}) {
    const auto slice = slice_of(name);
    const auto job = collective_job(CollectiveType::kAllReduce, 16 << 20, slice.chips());
    const weft::ici::LinkRate rate{static_cast<double>(slice.generation->link_bytes_per_second)};
    const double exact = 2 * weft::ici::all_gather_us(slice.topology(), 16 << 20, 7, rate, true);
    INFO(name);
    CHECK(microseconds(run(name, {placed(job)}).end) == Approx(exact).epsilon(1e-3));
    CHECK(microseconds(run(name, {placed(job)}, Grain::kPackets).end) == Approx(exact).epsilon(2e-2));
  }
}

TEST_CASE("an all-reduce takes its closed form whatever optical links take") {
  const auto slice = slice_of("v5p-4x4x8");
  const auto job = collective_job(CollectiveType::kAllReduce, 32 << 20, slice.chips());
  for (const double us : {3.0, 10.0}) {
    const auto optical = std::get<weft::ici::OpticalLinks>(slice.optical_links(us));
    const weft::ici::LinkRate rate{.bytes_per_second = static_cast<double>(slice.generation->link_bytes_per_second),
                                   .optical = optical};
    const double exact = 2 * weft::ici::all_gather_us(slice.topology(), 32 << 20, 7, rate, true);
    INFO(us << " us");
    for (const auto grain : {Grain::kFlows, Grain::kPackets}) {
      const auto result = replay(slice, {placed(job)}, {.grain = grain, .framing = false, .optical = optical});
      CHECK(microseconds(std::get<ReplayResult>(result).end) ==
            Approx(exact).epsilon(grain == Grain::kFlows ? 1e-3 : 2e-2));
    }
  }
}

TEST_CASE("ranks that wait for each other are told, with the nodes") {
  const auto crossed = job_of({{receive(1, 1, 8), send(2, 1, 8, {1})}, {receive(1, 0, 8), send(2, 0, 8, {1})}});
  CHECK_THAT(error_of("v5e-2x1", {placed(crossed)}),
             Catch::Contains("job.1.et: node 1 waits for job.0.et: node 2, which never begins"));
  const auto late = job_of({{collective(1, CollectiveType::kBarrier, 0), send(2, 1, 8, {1})},
                            {receive(1, 0, 8), collective(2, CollectiveType::kBarrier, 0, {1})}});
  CHECK_THAT(error_of("v5e-2x1", {placed(late)}), Catch::Contains("which never begins: ranks wait for each other"));
}

TEST_CASE("jobs on chips that are not there, or not theirs alone, are refused") {
  const auto job = job_of({{}, {}});
  CHECK_THAT(error_of("v5e-2x1", {placed(job, 1)}), Catch::Contains("chip 2 of v5e-2x1, which has 2"));
  CHECK_THAT(error_of("v5e-2x2", {placed(job), placed(job, 1)}), Catch::Contains("chip 1 has a rank already"));
  CHECK_THAT(error_of("v5e-2x2", {{&job, {0}}}), Catch::Contains("2 ranks on 1 chips"));
}

TEST_CASE("a replay that is longer than the clock is refused, not wrapped") {
  std::vector<Node> nodes;
  for (uint64_t id = 1; id < 8; id++) nodes.push_back(compute(id, 3'600'000'000));
  const auto job = job_of({nodes});
  CHECK_THAT(error_of("v5e-1x1", {placed(job)}), Catch::Contains("two and a half hours"));
}

TEST_CASE("random jobs end, the same every time, and no node begins before those that it depends on have ended") {
  const unsigned seed = 11;
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  for (int round = 0; round < 12; round++) {
    constexpr uint32_t kRanks = 8;
    std::vector<std::vector<Node>> ranks(kRanks);
    std::vector<uint64_t> last(kRanks);  // all nodes in one order, so that ranks never wait for each other
    const auto add = [&](uint32_t rank, Node node) {
      node.id = ranks[rank].size() + 1;
      if (last[rank] != 0) node.after = {last[rank]};
      if (random() % 3 != 0) last[rank] = node.id;
      ranks[rank].push_back(std::move(node));
    };
    for (int i = 0; i < 60; i++) {
      const auto rank = static_cast<uint32_t>(random() % kRanks), other = static_cast<uint32_t>(random() % kRanks);
      switch (random() % 3) {
        case 0:
          add(rank, compute(0, random() % 50));
          break;
        case 1: {
          const uint64_t bytes = random() % 200'000;
          add(rank, send(0, other, bytes));
          add(other, receive(0, rank, bytes));
          break;
        }
        default: {
          const auto type = static_cast<CollectiveType>(random() % weft::chakra::kCollectiveTypes);
          const uint64_t bytes = random() % 100'000;
          for (uint32_t each = 0; each < kRanks; each++) add(each, collective(0, type, bytes));
          break;
        }
      }
    }
    const auto job = job_of(ranks);
    for (const auto grain : {Grain::kFlows, Grain::kPackets}) {
      const auto result = run("v5e-4x4", {placed(job, 3)}, grain), again = run("v5e-4x4", {placed(job, 3)}, grain);
      CHECK(result.end == again.end);
      for (uint32_t rank = 0; rank < kRanks; rank++) {
        const auto& times = result.jobs[0].ranks[rank];
        CHECK(times.hidden <= std::min(times.working, times.communicating));
        CHECK(times.working + times.communicating - times.hidden <= times.end);
        for (size_t place = 0; place < ranks[rank].size(); place++) {
          REQUIRE(times.nodes[place].begin == again.jobs[0].ranks[rank].nodes[place].begin);
          for (const auto id : ranks[rank][place].after) REQUIRE(times.nodes[id - 1].end <= times.nodes[place].begin);
        }
      }
    }
  }
}
