// weft links: from replies to the table, and replies that are none.
#include <functional>

#include "host/tools/live/links_snapshot.hpp"
#include "host/tools/live/links_view.hpp"
#include "testbench/unit/tools/live/management_samples.hpp"

using namespace weft::tools;
using namespace weft::test;
using Catch::Contains;
using Json = nlohmann::json;

namespace {

/// A slice of two chips at `cycle`; the link between them has been busy for `busy` of 1000 cycles from 0 to 1.
Json sample_links(uint64_t cycle, uint64_t busy, const char* state = "up") {
  Json links = Json::array();
  for (uint32_t chip = 0; chip < 2; chip++)
    for (uint32_t port = 0; port < 6; port++) {
      const bool joined = port == chip;  // 0 +x and 1 -x
      links.push_back({{"chip", chip},
                       {"port", port},
                       {"neighbor", joined ? Json(1 - chip) : Json()},
                       {"state", joined ? state : "absent"},
                       {"downs", 0},
                       {"packets", joined ? 7 : 0},
                       {"payload_bytes", 4096},
                       {"wire_bytes", joined ? 2048 : 0},
                       {"frame_errors", chip == 0 && joined ? 3 : 0},
                       {"busy_cycles", chip == 0 && joined ? busy : 0},
                       {"replay_cycles", chip == 0 && joined ? 2500 : 0}});
    }
  return {{"weft_management", 1},
          {"slice",
           {{"preset", "nano"},
            {"chips", 2},
            {"size", {{"x", 2}, {"y", 1}, {"z", 1}}},
            {"wraps", {{"x", false}, {"y", false}, {"z", false}}},
            {"twisted", false},
            {"link_bytes_per_second", 2'000'000'000},
            {"clock_hz", 1'000'000'000},
            {"pid", 4711}}},
          {"cycle", cycle},
          {"links", links}};
}

LinksSnapshot parsed(const Json& reply) {
  auto links = parse_links_snapshot(reply.dump());
  INFO((links.ok() ? std::string() : links.error().message));
  REQUIRE(links.ok());
  return links.value();
}

std::string refusal(Json reply, const std::function<void(Json&)>& spoil) {
  spoil(reply);
  const auto links = parse_links_snapshot(reply.dump());
  REQUIRE_FALSE(links.ok());
  return links.error().message;
}

}  // namespace

TEST_CASE("the table of links has a line a direction, its use ever and now, its errors and the time that they cost") {
  const LinksSnapshot before = parsed(sample_links(10'000, 1000)), after = parsed(sample_links(20'000, 6000));
  CHECK(link_use(before, after, 0).ever == Approx(0.3));
  CHECK(*link_use(before, after, 0).now == Approx(0.5));
  const std::string text = links_text(before, after);
  CHECK_THAT(text, Contains("nano 2x1x1, 2 chips, 2 GB/s a link and way, weft-sim 4711, device cycle 20000"));
  CHECK_THAT(
      text, Contains("0  +x     1  up         0        7        2 KiB  30.0 %  50.0 %             3           2.5 us"));
  CHECK_THAT(text, Contains("1  -x     0  up"));
  CHECK_THAT(text, !Contains("absent"));
  CHECK_THAT(text, Contains("all links are up"));
  const Json json = Json::parse(links_json(before, after, -1));
  REQUIRE(json["links"].size() == 12);
  CHECK((json["links"][0]["port"] == "+x" && json["links"][0]["use_now"] == 0.5));
  CHECK((json["links"][1]["state"] == "absent" && json["links"][1]["neighbor"].is_null()));
}

TEST_CASE("a link that is not up is named once, and two simulators, or a time that stands still, are not compared") {
  const LinksSnapshot before = parsed(sample_links(10'000, 1000)), down = parsed(sample_links(10'000, 1000, "down"));
  CHECK_THAT(links_text(before, down), Contains("\n  0 +x to 1 is down\n"));
  CHECK_FALSE(link_use(before, down, 0).now);
  LinksSnapshot other = parsed(sample_links(20'000, 6000));
  other.pid = 4712;
  CHECK_FALSE(link_use(before, other, 0).now);
}

TEST_CASE("a link's name as people write it") {
  const auto link = parse_link_name("12:-y");
  REQUIRE(link.ok());
  CHECK((link.value().first == 12 && link.value().second == 3));
  CHECK(parse_link_name("0,+x").ok());
  for (const char* text : {"", ":", "0", "0:", "0:x", "0:+w", "-1:+x", "0:+xx", "x:+x", "4294967296:+x"}) {
    INFO(text);
    REQUIRE_FALSE(parse_link_name(text).ok());
    CHECK_THAT(parse_link_name(text).error().message, Contains("such as 0:+x"));
  }
  CHECK(link_name(3, 1) == "3 -x");
}

TEST_CASE("a reply about links that is none is told with the field that is wrong") {
  const Json good = sample_links(1, 0);
  CHECK_THAT(refusal(good, [](Json& r) { r["weft_management"] = 2; }), Contains("speaks version 2, this tool 1"));
  CHECK_THAT(refusal(good, [](Json& r) { r.erase("slice"); }), Contains("'slice' is missing"));
  CHECK_THAT(refusal(good, [](Json& r) { r["slice"] = nullptr; }), Contains("'slice' is missing"));
  CHECK_THAT(refusal(good, [](Json& r) { r["links"][3].erase("state"); }), Contains("'links[3].state' is missing"));
  CHECK_THAT(refusal(good, [](Json& r) { r["links"][0]["packets"] = -1; }),
             Contains("'links[0].packets' is no number"));
  CHECK_FALSE(parse_links_snapshot("").ok());
}

TEST_CASE("any bytes are links or are told why they are none, and what is read can be shown") {
  std::mt19937_64 random(seed_of_run());
  const std::string good = sample_links(1000, 5).dump();
  const LinksSnapshot before = parsed(sample_links(1000, 5));
  for (int i = 0; i < 3000; i++) {
    const auto links = parse_links_snapshot(spoilt(good, random));
    if (!links.ok()) {
      CHECK_FALSE(links.error().message.empty());
      continue;
    }
    CHECK_FALSE(links_text(before, links.value()).empty());
    CHECK_FALSE(links_json(before, links.value(), -1).empty());
  }
}
