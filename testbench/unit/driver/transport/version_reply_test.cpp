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
  return descriptors < WEFT_PCI_MSIX_VECTORS ? WEFT_ERROR_UNSUPPORTED : WEFT_ERROR_OK;
}

}  // namespace

TEST_CASE("a server that takes a descriptor an MSI-X vector is accepted, and one of fewer is not") {
  const auto reply = [](uint64_t count) { return R"({"capabilities":{"max_msg_fds":)" + std::to_string(count) + "}}"; };
  CHECK(check_version_capabilities(reply(WEFT_PCI_MSIX_VECTORS)).ok());
  CHECK(check_version_capabilities(reply(UINT64_MAX)).ok());
  const Status few = check_version_capabilities(reply(WEFT_PCI_MSIX_VECTORS - 1));
  CHECK(few.code() == WEFT_ERROR_UNSUPPORTED);
  CHECK_THAT(few.message(), Contains(std::to_string(WEFT_PCI_MSIX_VECTORS)));
  CHECK(check_version_capabilities("").code() == WEFT_ERROR_UNSUPPORTED);
}

TEST_CASE("only capabilities.max_msg_fds counts, and the last one of two") {
  const char* const accepted[] = {
      R"({"capabilities":{"max_msg_fds":1,"max_msg_fds":32}})",
      R"({"capabilities":{"max_msg_fds":"32","max_msg_fds":32}})", R"({"capabilities":{"max_msg_fds":32},"list":[5]})",
      R"({"capabilities":{"max_msg_fds":1},"capabilities":{"max_msg_fds":32}})",
      R"({"capabilities":7,"capabilities":{"deep":{"max_msg_fds":1},"max_msg_fds":32,"list":[1,{"max_msg_fds":2}]}})"};
  for (const char* text : accepted) {
    CAPTURE(text);
    CHECK(check_version_capabilities(text).ok());
  }
  const char* const refused[] = {R"({"max_msg_fds":32})",
                                 R"({"capabilities":[{"max_msg_fds":32}]})",
                                 R"({"capabilities":{"other":{"max_msg_fds":32}}})",
                                 R"({"other":{"max_msg_fds":32}})",
                                 R"({"capabilities":{"max_msg_fds":32},"capabilities":{}})",
                                 R"({"capabilities":{"max_msg_fds":32},"capabilities":null})",
                                 R"({"capabilities":{"max_msg_fds":32,"max_msg_fds":[32]}})",
                                 R"({"capabilities":{"max_msg_fds":true}})"};
  for (const char* text : refused) {
    CAPTURE(text);
    CHECK(check_version_capabilities(text).code() == WEFT_ERROR_UNSUPPORTED);
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
    if (check_version_capabilities(text).code() != expected) {
      CAPTURE(text, int{expected});
      FAIL("another answer");
    }
  }
  CHECK(objects > 1000);
}
