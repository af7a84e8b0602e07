// What is written is read again; testbench/replay reads it by Python's protobuf.
#include <catch2/catch.hpp>

#include "base/chakra/trace.hpp"

using namespace weft::chakra;

TEST_CASE("all fields of a trace come back") {
  Trace trace;
  trace.file = "a.et";
  trace.version = "0.0.4";
  trace.nodes.push_back({.id = 5, .name = "groups", .type = NodeType::kMetadata, .groups_text = "['[]']"});
  trace.nodes.push_back({.id = 1ull << 63,
                         .name = "layer",
                         .type = NodeType::kCompute,
                         .after = {5},
                         .start_fs = 1'234'567'890'123,
                         .duration_fs = 999,
                         .on_host = true,
                         .operations = 1ull << 62,
                         .tensor_bytes = 77});
  trace.nodes.push_back({.id = 2,
                         .name = "sum",
                         .type = NodeType::kCollective,
                         .after = {1ull << 63, 5},
                         .collective = CollectiveType::kReduce,
                         .bytes = kMostBytes,
                         .root = 3,
                         .group = "7"});
  trace.nodes.push_back({.id = 3, .type = NodeType::kSend, .bytes = 0, .from = 0, .to = 1, .tag = 9});
  const auto read = read_trace(write_trace(trace), "b.et");
  if (const auto* error = std::get_if<std::string>(&read)) FAIL(*error);
  const auto& again = std::get<Trace>(read);
  CHECK(again.version == trace.version);
  REQUIRE(again.nodes.size() == trace.nodes.size());
  for (size_t i = 0; i < trace.nodes.size(); i++) {
    const auto &a = trace.nodes[i], &b = again.nodes[i];
    INFO(a.name);
    CHECK((a.id == b.id && a.name == b.name && a.type == b.type && a.after == b.after));
    CHECK((a.start_fs == b.start_fs && a.duration_fs == b.duration_fs && a.on_host == b.on_host));
    CHECK((a.operations == b.operations && a.tensor_bytes == b.tensor_bytes && a.collective == b.collective));
    CHECK((a.bytes == b.bytes && a.from == b.from && a.to == b.to && a.tag == b.tag && a.root == b.root));
    CHECK((a.group == b.group && a.groups_text == b.groups_text));
  }
}
