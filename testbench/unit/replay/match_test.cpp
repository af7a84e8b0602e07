#include <catch2/catch.hpp>

#include "testbench/unit/replay/jobs.hpp"

using namespace weft::replay;
using namespace weft::replay::test;

namespace {

std::string error_of(const Job& job) {
  const auto found = match(job);
  const auto* error = std::get_if<std::string>(&found);
  return error == nullptr ? "" : *error;
}

void tells(Job job, const std::string& words) {
  INFO(words);
  CHECK_THAT(error_of(job), Catch::Contains(words));
}

Node in_group(Node node, const char* group) {
  node.group = group;
  return node;
}

}  // namespace

TEST_CASE("sends and receives pair up by ranks and tag, in the order of their files") {
  const auto found = std::get<Communications>(
      match(job_of({{send(1, 1, 10, {}, 5), send(2, 1, 20, {}, 5), send(3, 1, 30)},
                    {receive(1, 0, 30), receive(2, 0, 10, {}, 5), receive(3, 0, 20, {}, 5)}})));
  REQUIRE(found.all.size() == 3);
  CHECK(found.of_node[0][0] == found.of_node[1][1]);
  CHECK(found.of_node[0][1] == found.of_node[1][2]);
  CHECK(found.of_node[0][2] == found.of_node[1][0]);
}

TEST_CASE("collectives of a group pair up in the order of their files, group by group") {
  auto job = job_of(
      {{in_group(collective(1, CollectiveType::kAllReduce, 8), "a"), collective(2, CollectiveType::kAllGather, 4)},
       {collective(1, CollectiveType::kAllGather, 4), in_group(collective(2, CollectiveType::kAllReduce, 8), "a")},
       {in_group(collective(5, CollectiveType::kAllGather, 4), "0")}});
  job.groups["a"] = {1, 0};
  const auto found = std::get<Communications>(match(job));
  REQUIRE(found.all.size() == 2);
  CHECK(found.of_node[0][1] == found.of_node[1][0]);
  CHECK(found.of_node[0][1] == found.of_node[2][0]);
  const auto& in_a = found.all[found.of_node[0][0]];
  CHECK(in_a.nodes.front().rank == 1);
  CHECK(in_a.bytes == 8);
}

TEST_CASE("what does not fit is told with file, node and field") {
  tells(job_of({{send(1, 1, 10)}, {}}),
        "job.0.et: node 1: rank 1 has no COMM_RECV_NODE for it (comm_src 0, comm_tag 0)");
  tells(job_of({{}, {receive(4, 0, 10, {}, 2)}}),
        "job.1.et: node 4: rank 0 has no COMM_SEND_NODE for it (comm_dst 1, comm_tag 2)");
  tells(job_of({{send(1, 1, 10)}, {receive(1, 0, 11)}}),
        "job.1.et: node 1: comm_size: 11, but job.0.et: node 1 sends 10");
  tells(job_of({{send(1, 2, 10)}, {}}), "comm_dst: rank 2 of a job of 2 ranks");
  auto wrong = send(1, 1, 10);
  wrong.from = 1;
  tells(job_of({{wrong}, {receive(1, 0, 10)}}), "comm_src: 1 in the trace of rank 0");
  tells(job_of({{collective(1, CollectiveType::kAllReduce, 8)}, {}}),
        "job.0.et: node 1: number 1 of its group, of which rank 1 has 0");
  tells(job_of({{collective(1, CollectiveType::kAllReduce, 8)}, {collective(1, CollectiveType::kAllGather, 8)}}),
        "comm_type: ALL_GATHER, but job.0.et: node 1 is ALL_REDUCE");
  tells(job_of({{collective(1, CollectiveType::kAllReduce, 8)}, {collective(1, CollectiveType::kAllReduce, 9)}}),
        "job.1.et: node 1: comm_size: 9");
  tells(job_of({{in_group(collective(1, CollectiveType::kAllReduce, 8), "7")}}), "pg_name: there is no group 7");
  auto job = job_of({{in_group(collective(1, CollectiveType::kAllReduce, 8), "7")}, {}});
  job.groups["7"] = {1};
  tells(job, "pg_name: rank 0 is not of group 7");
  const auto large = collective(1, CollectiveType::kAllGather, weft::chakra::kMostBytes);
  tells(job_of({{large}, {large}}), "on each of 2 ranks are more than");
  auto rooted = collective(1, CollectiveType::kBroadcast, 8);
  rooted.root = 3;
  tells(job_of({{rooted}, {rooted}}), "root: rank 3 is not of its group");
  tells(job_of({{rooted}, {collective(1, CollectiveType::kBroadcast, 8)}}), "root: not that of job.0.et: node 1");
}

TEST_CASE("of a broadcast the root alone may say the size") {
  const auto found = std::get<Communications>(
      match(job_of({{collective(1, CollectiveType::kBroadcast, 0)}, {collective(1, CollectiveType::kBroadcast, 64)}})));
  CHECK(found.all.front().bytes == 64);
}
