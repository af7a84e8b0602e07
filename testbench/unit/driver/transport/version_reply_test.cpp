// Capabilities of a server: what counts, what is refused, and that any text gets the answer that a tree of its values
// gives.
#include "driver/transport/version_reply.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

using namespace weft::driver;
using Catch::Contains;

namespace {

weft_error code_of(const std::string& text) { return descriptors_of_version_reply(text).status().code(); }

/// The same answer by the parser's tree.
weft_error answer_by_tree(const std::string& text) {
  uint64_t descriptors = 1;
  if (!text.empty()) {
    const auto tree = nlohmann::json::parse(text, nullptr, false);
    if (!tree.is_object()) return WEFT_ERROR_DEVICE_LOST;
    const auto capabilities = tree.find("capabilities");
    if (capabilities != tree.end() && capabilities->is_object() && capabilities->contains("max_msg_fds")) {
      const auto& fds = (*capabilities)["max_msg_fds"];
      if (!fds.is_number_unsigned()) return WEFT_ERROR_UNSUPPORTED;
      descriptors = fds.get<uint64_t>();
    }
  }
  return descriptors == 0 ? WEFT_ERROR_UNSUPPORTED : WEFT_ERROR_OK;
}

}  // namespace

TEST_CASE("a server says how many descriptors it takes in a message, and one that takes none is refused") {
  const auto reply = [](uint64_t count) { return R"({"capabilities":{"max_msg_fds":)" + std::to_string(count) + "}}"; };
  for (const uint64_t count : {uint64_t{1}, uint64_t{8}, uint64_t{32}, UINT64_MAX}) {
    const auto descriptors = descriptors_of_version_reply(reply(count));
    REQUIRE(descriptors.ok());
    CHECK(descriptors.value() == count);
  }
  CHECK(code_of(reply(0)) == WEFT_ERROR_UNSUPPORTED);
  CHECK_THAT(descriptors_of_version_reply(reply(0)).status().message(), Contains("no descriptors"));
  REQUIRE(descriptors_of_version_reply("").ok());
  CHECK(descriptors_of_version_reply("").value() == 1);
}

TEST_CASE("only capabilities.max_msg_fds counts, and the last one of two") {
  const char* const said[] = {
      R"({"capabilities":{"max_msg_fds":1,"max_msg_fds":32}})",
      R"({"capabilities":{"max_msg_fds":"32","max_msg_fds":32}})", R"({"capabilities":{"max_msg_fds":32},"list":[5]})",
      R"({"capabilities":{"max_msg_fds":1},"capabilities":{"max_msg_fds":32}})",
      R"({"capabilities":7,"capabilities":{"deep":{"max_msg_fds":1},"max_msg_fds":32,"list":[1,{"max_msg_fds":2}]}})"};
  for (const char* text : said) {
    CAPTURE(text);
    const auto descriptors = descriptors_of_version_reply(text);
    REQUIRE(descriptors.ok());
    CHECK(descriptors.value() == 32);
  }
  const char* const not_said[] = {R"({"max_msg_fds":32})",
                                  R"({"capabilities":[{"max_msg_fds":32}]})",
                                  R"({"capabilities":{"other":{"max_msg_fds":32}}})",
                                  R"({"other":{"max_msg_fds":32}})",
                                  R"({"capabilities":{"max_msg_fds":32},"capabilities":{}})",
                                  R"({"capabilities":{"max_msg_fds":32},"capabilities":null})"};
  for (const char* text : not_said) {
    CAPTURE(text);
    const auto descriptors = descriptors_of_version_reply(text);
    REQUIRE(descriptors.ok());
    CHECK(descriptors.value() == 1);
  }
  for (const char* text :
       {R"({"capabilities":{"max_msg_fds":32,"max_msg_fds":[32]}})", R"({"capabilities":{"max_msg_fds":true}})"}) {
    CAPTURE(text);
    CHECK(code_of(text) == WEFT_ERROR_UNSUPPORTED);
  }
}

TEST_CASE("any text gets the answer that a tree of its values gives") {
  const char* const pieces[] = {
      "{",  "}",  "[",   "]",    ",",    ":",     R"("capabilities")", R"("max_msg_fds")",
      "32", "-1", "1.5", "true", "null", R"("")", "\"\xff\"",          R"({"capabilities":{)"};
  const uint64_t seed = Catch::rngSeed();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  int objects = 0;
  for (int i = 0; i < 200'000; i++) {
    std::string text = random() % 2 == 0 ? R"({"capabilities":{"max_msg_fds":32)" : "";
    for (uint64_t n = random() % 10; n > 0; n--) text += pieces[random() % std::size(pieces)];
    const weft_error expected = answer_by_tree(text);
    objects += expected != WEFT_ERROR_DEVICE_LOST;
    if (code_of(text) != expected) {
      CAPTURE(text, int{expected});
      FAIL("another answer");
    }
  }
  CHECK(objects > 1000);
}
