// The commands of a trace: which tracks count, and what is refused.
#include "host/tools/trace/engine_spans.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "host/tools/formats/files.hpp"

using namespace weft::tools;
using Catch::Contains;
using Json = nlohmann::json;

namespace {

Json track(int number, const char* name) {
  return {{"ph", "M"}, {"pid", 0}, {"tid", number}, {"name", "thread_name"}, {"args", {{"name", name}}}};
}
Json span(int number, Json args) {
  return {{"ph", "X"}, {"pid", 0}, {"tid", number}, {"name", "MATMUL"}, {"args", std::move(args)}};
}

auto spans_of(const std::string& text) {
  const std::string path = "engine_spans_test_" + std::to_string(::getpid()) + ".json";
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  REQUIRE(write_file(path, {first, first + text.size()}).ok());
  auto spans = read_engine_spans(path);
  ::unlink(path.c_str());
  return spans;
}

}  // namespace

TEST_CASE("commands of MXUs, VPU and DMA channels are read, others are not") {
  const Json args = {{"tag", 7}, {"cycle_start", 10}, {"cycle_end", 25}};
  Json events = {track(1, "dma3"), track(2, "mxu"),     track(3, "mxu2"),     track(4, "vpu"),
                 track(5, "sync"), track(6, "manager"), track(7, "mxu queue")};
  for (int i = 1; i <= 8; i++) events.push_back(span(i, args));
  const auto spans = spans_of(events.dump());
  REQUIRE(spans.ok());
  REQUIRE(spans.value().size() == 4);
  CHECK(spans.value()[0].engine == Engine::kDma);
  CHECK(spans.value()[1].engine == Engine::kMxu);
  CHECK(spans.value()[2].engine == Engine::kMxu);
  CHECK(spans.value()[3].engine == Engine::kVpu);
  CHECK(spans.value()[0].tag == 7);
  CHECK(spans.value()[0].begin == 10);
  CHECK(spans.value()[0].end == 25);
}

TEST_CASE("what is no trace, or a span without tag or cycles, is refused") {
  for (const char* text : {"", "{}", "[1]", "[", "null"}) CHECK_FALSE(spans_of(text).ok());
  for (const Json& args :
       {Json::object(), Json{{"tag", 1}, {"cycle_start", 5}}, Json{{"tag", 1}, {"cycle_start", 5}, {"cycle_end", 4}},
        Json{{"tag", 70000}, {"cycle_start", 1}, {"cycle_end", 2}},
        Json{{"tag", "a"}, {"cycle_start", 1}, {"cycle_end", 2}}}) {
    const auto spans = spans_of(Json{track(1, "vpu"), span(1, args)}.dump());
    REQUIRE_FALSE(spans.ok());
    CHECK_THAT(spans.error().message, Contains("has no tag or no cycles"));
  }
  CHECK_THAT(read_engine_spans("nowhere.json").error().message, Contains("nowhere.json"));
}
