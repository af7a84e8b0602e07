#include <catch2/catch.hpp>

#include "base/chakra/trace.hpp"
#include "base/chakra/utf8.hpp"

using namespace weft::chakra;

namespace {

Trace trace_of(const std::vector<std::pair<uint64_t, std::vector<uint64_t>>>& nodes) {
  Trace trace;
  trace.file = "a.et";
  for (const auto& [id, after] : nodes) trace.nodes.push_back({.id = id, .after = after});
  return trace;
}

}  // namespace

TEST_CASE("dependences exist, and each node once") {
  CHECK(check_nodes(trace_of({{1, {}}, {2, {1}}, {3, {1, 2, 2}}})).empty());
  CHECK(check_nodes(trace_of({{3, {9}}, {9, {}}})).empty());  // on a node further down
  CHECK(check_nodes(trace_of({{1, {}}, {2, {5}}})) == "a.et: node 2: data_deps or ctrl_deps: there is no node 5");
  CHECK(check_nodes(trace_of({{1, {}}, {2, {}}, {1, {}}})) == "a.et: node 1: id: node 1 of the file has it too");
}

TEST_CASE("a cycle is told node by node") {
  CHECK(check_nodes(trace_of({{4, {4}}})) == "a.et: node 4: data_deps and ctrl_deps form a cycle: 4 after 4");
  CHECK_THAT(check_nodes(trace_of({{1, {}}, {2, {1, 4}}, {3, {2}}, {4, {3}}, {5, {4}}})),
             Catch::EndsWith("form a cycle: 2 after 4 after 3 after 2"));
  std::vector<std::pair<uint64_t, std::vector<uint64_t>>> ring;
  for (uint64_t id = 0; id < 100'000; id++) ring.push_back({id, {(id + 1) % 100'000}});
  CHECK_THAT(check_nodes(trace_of(ring)), Catch::EndsWith("7 after ... after 0"));
}

TEST_CASE("a type's fields are asked for") {
  Trace trace = trace_of({{1, {}}});
  auto& node = trace.nodes.front();
  node.type = NodeType::kCollective;
  CHECK_THAT(check_nodes(trace), Catch::EndsWith("a COMM_COLL_NODE without comm_type"));
  node.collective = CollectiveType::kAllToAll;
  CHECK_THAT(check_nodes(trace), Catch::EndsWith("without comm_size"));
  node.collective = CollectiveType::kBarrier;
  CHECK(check_nodes(trace).empty());
  node.type = NodeType::kReceive;
  node.name = "in";
  CHECK(check_nodes(trace) == "a.et: node 1 (\"in\"): a COMM_RECV_NODE without comm_src");
}

TEST_CASE("UTF-8 without overlong forms, surrogates and numbers above 10FFFF") {
  for (const char* text : {"", "abc", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xef\xbf\xbf",
                           "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    CHECK(is_utf8(text));
  for (const char* text :
       {"\x80", "\xc1\xbf", "\xc2", "\xc2\x41", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe1\x80", "\xe1\x80\xc0",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "a\xf1\x80\x80"})
    CHECK_FALSE(is_utf8(text));
}

TEST_CASE("names are shown in one line, cut between characters") {
  CHECK(printable("a\nb\x7f\x1b") == "a?b??");
  CHECK(printable(std::string(100, 'x')) == std::string(80, 'x'));
  CHECK(printable(std::string(79, 'x') + "\xc3\xa9"
                                         "tail") == std::string(79, 'x'));
  CHECK(printable(std::string(78, 'x') + "\xc3\xa9") == std::string(78, 'x') + "\xc3\xa9");
}
