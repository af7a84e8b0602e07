#include "model/replay/node_duration.hpp"

#include <catch2/catch.hpp>

#include "testbench/unit/replay/jobs.hpp"

using namespace weft::replay;
using namespace weft::replay::test;

TEST_CASE("the longer one of operations and memory traffic, where the trace has no duration or the cost is asked for") {
  const ReplayOptions recorded{.costs = {1e12, 1e9}};
  const ReplayOptions cost{.durations = Durations::kCost, .costs = {1e12, 1e9}};
  auto node = compute(1, 3);
  CHECK(node_duration(node, cost) == 3'000'000'000u);  // says no cost
  node.operations = 4'000'000;                         // 4 us
  node.tensor_bytes = 1'000;                           // 1 us
  CHECK(node_duration(node, recorded) == 3'000'000'000u);
  CHECK(node_duration(node, cost) == 4'000'000'000u);
  node.tensor_bytes = 9'000;
  CHECK(node_duration(node, cost) == 9'000'000'000u);
  node.duration_fs = 0;
  CHECK(node_duration(node, recorded) == 9'000'000'000u);
  node.on_host = true;
  CHECK(node_duration(node, cost) == 0u);
  node.on_host = false;
  node.operations = ~uint64_t{0};
  CHECK_FALSE(node_duration(node, cost));
  CHECK(node_duration(node, {}) == 0u);  // a chip of which nothing is known
}

TEST_CASE("a generation's chip computes with all of its cores") {
  const auto v5e = costs_of(*slice_of("v5e-4x4").generation), v4 = costs_of(*slice_of("v4-4x4x4").generation);
  CHECK(v5e.operations_per_second == 196.608e12);
  CHECK(v5e.bytes_per_second == Approx(810e9));
  CHECK(v4.operations_per_second == Approx(275e12).epsilon(0.01));
  CHECK(v4.bytes_per_second == Approx(1200e9));
}
