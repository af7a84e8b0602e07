// What the writer writes, another reader of JSON reads; and it is laid out as nlohmann lays it out.
#include "driver/report/json_writer.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <random>

using weft::driver::JsonWriter;
using Json = nlohmann::ordered_json;

namespace {

/// As nlohmann prints it, bytes that are no UTF-8 replaced.
std::string expected(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::string written(const std::string& text) {
  JsonWriter out;
  out.value(text);
  return std::move(out).take();
}

}  // namespace

TEST_CASE("objects and arrays, empty and nested, have commas, keys and indentation where they belong") {
  JsonWriter out;
  out.object([&] {
    out.field("number", UINT64_MAX);
    out.field("small", uint8_t{7});
    out.field("flag", true);
    out.field("text", "a \"b\"");
    out.key("nothing");
    out.null();
    out.key("empty object");
    out.object([] {});
    out.key("empty array");
    out.array([] {});
    out.key("mixed");
    out.array([&] {
      out.value(1u);
      out.array([&] { out.value(false); });
      out.object([&] { out.field("x", std::string("y")); });
      out.array([] {});
      out.value("end");
    });
    out.field("after", 2u);
  });
  const Json json = {
      {"number", UINT64_MAX},
      {"small", 7},
      {"flag", true},
      {"text", "a \"b\""},
      {"nothing", nullptr},
      {"empty object", Json::object()},
      {"empty array", Json::array()},
      {"mixed", Json::array({1, Json::array({false}), Json::object({{"x", "y"}}), Json::array(), "end"})},
      {"after", 2}};
  CHECK(std::move(out).take() == expected(json));
}

TEST_CASE("every byte of a string is escaped, kept or replaced, so that the document is UTF-8") {
  for (int byte = 0; byte < 256; byte++) {
    const std::string text = std::string("a") + static_cast<char>(byte) + "b";
    CAPTURE(byte);
    CHECK(written(text) == expected(text));
  }
  // overlong, surrogate, beyond the last character, cut short: an U+FFFD a byte, as Unicode allows
  for (const char* text : {"\xc0\x80", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                           "\xe2\x82", "\xf0\x9f\x98", "\x80", "\xff"}) {
    const std::string json = written(text);
    CAPTURE(json);
    CHECK(Json::parse(json).get<std::string>().find_first_not_of("\xef\xbf\xbd") == std::string::npos);
  }
  for (const char* text :
       {"\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    CHECK(written(text) == expected(text));
}

TEST_CASE("random bytes become a string that parses, and text that is UTF-8 comes back as it was") {
  constexpr unsigned kSeed = 5;
  std::mt19937 random(kSeed);
  for (int i = 0; i < 2000; i++) {
    std::string text(random() % 24, '\0');
    for (char& c : text) c = static_cast<char>(random() % 2 == 0 ? 0x80 + random() % 0x80 : random());
    CAPTURE(kSeed, i);
    const std::string back = Json::parse(written(text)).get<std::string>();
    CHECK(Json::parse(written(back)).get<std::string>() == back);
  }
}
