// The heat map of links: what it reads out of a trace, what it refuses, what the page holds.
#include "host/tools/trace/heat_map.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <regex>

#include "host/tools/formats/files.hpp"
#include "host/tools/trace/link_map.hpp"

using namespace weft::tools;
using Catch::Contains;
using Json = nlohmann::json;

namespace {

Json named(int process, const char* what, const char* name, int track = 0) {
  return {{"ph", "M"}, {"pid", process}, {"tid", track}, {"name", what}, {"args", {{"name", name}}}};
}

Json span(int process, int track, double begin, double length) {
  return {{"ph", "X"}, {"pid", process}, {"tid", track}, {"name", "data"}, {"ts", begin}, {"dur", length}};
}

/// Two chips, a link each way; the first one is busy for the first half and a bit at the end, the second one never.
Json two_chips() {
  return {named(0, "process_name", "chip 0 (0,0,0)"),
          named(1, "process_name", "chip 1 (1,0,0)"),
          named(0, "thread_name", "link +x out", 100),
          named(1, "thread_name", "link -x out", 101),
          named(1, "thread_name", "link -x in", 201),
          named(0, "thread_name", "mxu", 1),
          span(0, 100, 10, 5),
          span(0, 100, 19.5, 0.5),
          span(1, 201, 11, 5),
          span(0, 1, 0, 100)};
}

/// A file that is there as long as this is.
struct TraceOnDisk {
  explicit TraceOnDisk(const std::string& text) {
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    REQUIRE(write_file(path, {first, first + text.size()}).ok());
  }
  ~TraceOnDisk() { ::unlink(path.c_str()); }
  const std::string path = "heat_map_test_" + std::to_string(::getpid()) + ".json";
};

std::string page_of(const Json& events, const HeatMapOptions& options) {
  const TraceOnDisk trace(events.dump());
  const auto page = heat_map_page(trace.path, options);
  REQUIRE(page.ok());
  return page.value();
}

}  // namespace

TEST_CASE("a link is as busy as its packets make it") {
  const TraceOnDisk trace(two_chips().dump());
  const auto read = read_link_map(trace.path, 4);
  REQUIRE(read.ok());
  const LinkMap& map = read.value();
  CHECK(map.size == std::array<uint32_t, 3>{2, 1, 1});
  CHECK(map.begin_us == 10);
  CHECK(map.step_us == 2.5);
  REQUIRE(map.links.size() == 2);
  CHECK(map.links[0].port == "+x");
  CHECK(map.links[0].packets == 2);
  CHECK(map.links[0].mean == Approx(0.55));
  CHECK(map.links[1].packets == 0);
  const std::vector<double> first{1, 1, 0, 0.2}, total{0.5, 0.5, 0, 0.1};
  for (size_t step = 0; step < 4; step++) {
    CHECK(map.links[0].use[step] == Approx(first[step]));
    CHECK(map.links[1].use[step] == 0);
    CHECK(map.total[step] == Approx(total[step]));
  }
}

TEST_CASE("a trace of one packet without length has a map") {
  Json events = two_chips();
  events.erase(events.begin() + 6, events.end());
  events.push_back(span(0, 100, 3, 0));
  const TraceOnDisk trace(events.dump());
  const auto read = read_link_map(trace.path, 3);
  REQUIRE(read.ok());
  CHECK(read.value().links[0].mean == 0);
  CHECK(read.value().step_us > 0);
}

TEST_CASE("the page needs nothing from elsewhere, holds the data, and takes a title as it is") {
  const auto page = page_of(two_chips(), {4, "a <b> & c"});
  CHECK_FALSE(std::regex_search(page, std::regex(R"((src|href)\s*=|url\(|https?://|@import)")));
  CHECK_THAT(page, Contains("<title>a &lt;b&gt; &amp; c</title>"));
  const auto first = page.find("const d=") + 8, last = page.find(";\n", first);
  const auto data = Json::parse(page.substr(first, last - first));
  CHECK(data["links"][0]["use"] == Json({100, 100, 0, 20}));
  CHECK(data["links"][0]["mean"] == 55);
  CHECK(data["total"] == Json({50, 50, 0, 10}));
}

TEST_CASE("what is no trace of a slice is refused with its path and a reason") {
  Json nameless = two_chips(), silent = two_chips(), backwards = two_chips(), timeless = two_chips();
  nameless.erase(nameless.begin(), nameless.begin() + 2);
  silent.erase(silent.begin() + 6, silent.end());
  backwards[6]["dur"] = -1;
  timeless[6].erase("ts");
  const std::pair<std::string, const char*> wrong[] = {{"", "not a Chrome trace"},
                                                       {"[1]", "array form"},
                                                       {"{}", "array form"},
                                                       {"[]", "no packets"},
                                                       {silent.dump(), "no packets"},
                                                       {nameless.dump(), "process 0 has links"},
                                                       {backwards.dump(), "span of -1 us"},
                                                       {timeless.dump(), "not a Chrome trace"},
                                                       {R"([{"ph":5}])", "not a Chrome trace"}};
  for (const auto& [text, why] : wrong) {
    const TraceOnDisk trace(text);
    const auto read = heat_map_page(trace.path, {});
    REQUIRE_FALSE(read.ok());
    CHECK_THAT(read.error().message, Contains(why) && Contains(trace.path));
  }
  CHECK_THAT(heat_map_page("nowhere.json", {}).error().message, Contains("nowhere.json"));
}
