// Every cycle of a launch belongs to one layer; the page holds what was measured.
#include "host/tools/cost/profile.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <random>
#include <regex>

#include "testbench/unit/tools/cost/layered_model.hpp"

using namespace weft;
using namespace weft::tools;
using namespace weft::tools::testing;
using Catch::Contains;

namespace {

EngineSpan span(Engine engine, uint64_t begin, uint64_t end) { return {engine, 0, begin, end}; }

Profile sample() {
  Profile profile;
  profile.title = "a <b> & \"c\"", profile.chip = "nano", profile.core = "fast";
  CommandCosts padded;
  padded.mxu_cycles = 200;
  profile.layers = {{"fc", 0, {6400, 680, 100}, padded, {{150, 20, 30}, 50, {150, 60, 90}}},
                    {"act", 0, {0, 0, 800}, {}, {{0, 100, 0}, 0, {0, 100, 0}}},
                    {"hidden", 0, {0, 0, 8}, {}, {{0, 0, 0}, 0, {0, 10, 0}}}};
  profile.device_cycles = 350;
  return profile;
}

size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) found++;
  return found;
}

}  // namespace

TEST_CASE("a cycle belongs to the MXU's layer, else the VPU's, else the DMA's, else to the next") {
  //            0         10        20        30        40
  // layer 0: dma ---------
  // layer 0: mxu      ---------
  // layer 1: vpu                ------     -----
  // layer 1: dma                                  (40 to 45)
  const std::vector<EngineSpan> spans{span(Engine::kDma, 2, 12), span(Engine::kMxu, 8, 20), span(Engine::kVpu, 18, 26),
                                      span(Engine::kVpu, 30, 36), span(Engine::kDma, 40, 45)};
  const std::vector<size_t> owner{0, 0, 1, 1, 1};
  const auto cycles = attribute_cycles(spans, owner, 2, {0, 0, 50});
  CHECK(cycles[0].by_engine == std::array<uint64_t, 3>{12, 0, 6});
  CHECK(cycles[0].idle == 2);
  CHECK(cycles[0].busy == std::array<uint64_t, 3>{12, 0, 10});
  CHECK(cycles[1].by_engine == std::array<uint64_t, 3>{0, 12, 5});
  CHECK(cycles[1].idle == 4 + 4 + 5);
  CHECK(cycles[1].busy == std::array<uint64_t, 3>{0, 14, 5});
}

TEST_CASE("of two commands of one engine the older one has the cycle") {
  const std::vector<EngineSpan> spans{span(Engine::kMxu, 0, 10), span(Engine::kMxu, 5, 15), span(Engine::kMxu, 15, 20)};
  const std::vector<size_t> owner{0, 1, 0};
  const auto cycles = attribute_cycles(spans, owner, 2, {0, 0, 20});
  CHECK(cycles[0].by_engine[0] == 15);
  CHECK(cycles[1].by_engine[0] == 5);
  CHECK(cycles[1].busy[0] == 10);
}

TEST_CASE("commands are cut at the launch's borders, and those of other launches are not counted") {
  const std::vector<EngineSpan> spans{span(Engine::kVpu, 0, 15), span(Engine::kVpu, 25, 90),
                                      span(Engine::kMxu, 40, 50)};
  const std::vector<size_t> owner{0, 0, 0};
  const auto cycles = attribute_cycles(spans, owner, 1, {0, 10, 30});
  CHECK(cycles[0].by_engine == std::array<uint64_t, 3>{0, 10, 0});
  CHECK(cycles[0].idle == 10);
}

TEST_CASE("whatever the commands, the cycles of all layers are those of the launch") {
  const unsigned seed = Catch::rngSeed();
  WARN("seed " << seed << " (rerun with --rng-seed)");
  std::mt19937 random(seed);
  for (int turn = 0; turn < 200; turn++) {
    std::vector<EngineSpan> spans;
    std::vector<size_t> owner;
    for (size_t i = random() % 40; i-- > 0;) {
      const uint64_t begin = random() % 200;
      spans.push_back(span(static_cast<Engine>(random() % 3), begin, begin + random() % 60));
      owner.push_back(random() % 4);
    }
    const auto cycles = attribute_cycles(spans, owner, 4, {0, 20, 180});
    uint64_t sum = 0, idle = 0;
    for (const auto& layer : cycles) sum += layer.cycles(), idle += layer.idle;
    CHECK(sum == 160);
    uint64_t nothing = 0;  // counted cycle by cycle
    for (uint64_t at = 20; at < 180; at++)
      nothing += std::ranges::none_of(spans, [&](const EngineSpan& s) { return s.begin <= at && at < s.end; }) ? 1 : 0;
    CHECK(idle == nothing);
  }
}

TEST_CASE("operations, intensity and the reached share") {
  const LayerWork work{6400, 680, 100};
  CHECK(operations_of(work) == 12900);
  CHECK(*intensity_of(work) == Approx(12900.0 / 680));
  CHECK_FALSE(intensity_of({64, 0, 1}));
  CHECK(achieved_share(*spec::find_chip("nano"), work, 250) == Approx(100.0 / 250));
  CHECK(achieved_share(*spec::find_chip("nano"), work, 0) == 0);
}

TEST_CASE("the page has a dot and a bar for each layer, and loads nothing") {
  const auto page = profile_page(*spec::find_chip("nano"), sample());
  CHECK_THAT(page, Contains("<title>a &lt;b&gt; &amp; &quot;c&quot; on nano</title>"));
  CHECK(count(page, "<circle ") == 1);            // fc
  CHECK(count(page, "<rect class=\"dot ") == 1);  // act needs no HBM; a hidden layer has no dot
  CHECK(count(page, "<g class=\"layer\">") == 3);
  CHECK_THAT(page, Contains("fc: MXU 150 cycles of 250"));
  CHECK_THAT(page, Contains("40.0 % of the bound (100 cycles, MXU), padding 50.0 %"));
  for (const char* loads : {"http", "src=", "href", "<script", "<link", "url(", "@import"})
    CHECK_THAT(page, !Contains(loads));
  // Where it stands: 12900 operations in 250 ns, between the decades of the axis.
  std::smatch dot, low, high;
  REQUIRE(std::regex_search(page, dot, std::regex("<circle [^>]*cy=\"([0-9.]+)\"")));
  REQUIRE(std::regex_search(page, high, std::regex("text-anchor=\"end\">100 G</text>")));
  REQUIRE(std::regex_search(
      page, low,
      std::regex(
          "y1=\"([0-9.]+)\" x2=\"940\" y2=\"[0-9.]+\"/><text x=\"62\" y=\"[0-9.]+\" text-anchor=\"end\">10 G<")));
  REQUIRE(std::regex_search(
      page, high,
      std::regex(
          "y1=\"([0-9.]+)\" x2=\"940\" y2=\"[0-9.]+\"/><text x=\"62\" y=\"[0-9.]+\" text-anchor=\"end\">100 G<")));
  const double decade = std::stod(low[1]) - std::stod(high[1]);
  CHECK(std::stod(dot[1]) == Approx(std::stod(low[1]) - std::log10(5.16) * decade).margin(0.2));
}

TEST_CASE("the document has the same, and its sums") {
  const auto json = nlohmann::json::parse(profile_json(*spec::find_chip("nano"), sample()));
  REQUIRE(json["layers"].size() == 3);
  CHECK(json["layers"][0]["achieved"].get<double>() == Approx(0.4));
  CHECK(json["layers"][0]["padded_share"].get<double>() == Approx(0.5));
  CHECK(json["layers"][0]["cycles_by_engine"]["idle"] == 50);
  CHECK(json["layers"][1]["operations_per_byte"].is_null());
  CHECK(json["sum"]["cycles"] == 350);
  CHECK(json["sum"]["operations"] == 2 * 6400 + 908);
}
