// Replies of a management socket: what is taken from them, and that any text is safe.
#include "driver/transport/management_state.hpp"

#include <catch2/catch.hpp>
#include <random>

using namespace weft::driver;
using Catch::Contains;

namespace {

const std::string kReply =
    R"({"weft_management":1,"chip":{"preset":"nano","core":"fast","clock_hz":1000000000,"number":0,"chips":4,"pid":1},)"
    R"("cycle":5,"counters":[1,2],"functions":[{"function":0,"owner":null,"message":"none","queues":[{"function":9}]},)"
    R"({"function":1,"owner":{"pid":77,"process":"a \"name\"","pids":[3]},"state":"READY"},{"function":2,"owner":{}}]})"
    "\n";

}  // namespace

TEST_CASE("a reply tells the chip, its functions and who has them") {
  const auto chip = read_management_state(kReply);
  REQUIRE(chip.ok());
  CHECK((chip.value().preset == "nano" && chip.value().core == "fast" && chip.value().chips == 4));
  const auto& functions = chip.value().functions;
  REQUIRE(functions.size() == 3);
  CHECK((functions[0].index == 0 && !functions[0].owned && functions[0].owner_pid == 0));
  CHECK((functions[1].index == 1 && functions[1].owned && functions[1].owner_pid == 77));
  CHECK((functions[2].index == 2 && functions[2].owned && functions[2].owner_pid == 0));
}

TEST_CASE("a reply of another version, a refusal and what is no reply are told apart") {
  const auto why = [](const std::string& text) { return read_management_state(text).status(); };
  CHECK(why(R"({"weft_management":2})").code() == WEFT_ERROR_UNSUPPORTED);
  CHECK_THAT(why(R"({"weft_management":1,"error":"BUSY","message":"not now"})").message(), Contains("not now"));
  CHECK_THAT(why(R"({"weft_management":1})").message(), Contains("names no chip"));
  for (const char* text : {"", "\n", "[]", "1", "\"x\"", "{}", "{\"weft_management\":1", "HTTP/1.1 400"})
    CHECK_THAT(why(text).message(), Contains("does not answer as weft-sim"));
  CHECK_THAT(why(std::string(100, '[') + std::string(100, ']')).message(), Contains("does not answer"));
}

TEST_CASE("mutated replies end with a chip or with an error") {
  constexpr uint32_t kSeed = 11;
  INFO("seed " << kSeed);
  std::mt19937 random(kSeed);
  size_t taken = 0;
  for (int round = 0; round < 20000; round++) {
    std::string text = kReply;
    for (uint32_t n = 1 + random() % 3; n > 0; n--) {
      const size_t at = random() % text.size();
      if (random() % 2 == 0)
        text[at] = static_cast<char>(random() % 4 == 0 ? random() : "{}[]\",:0"[random() % 8]);
      else
        text.erase(at, random() % 40);
    }
    const auto chip = read_management_state(text);
    if (!chip.ok()) continue;
    taken++;
    CHECK((chip.value().chips != 0 && !chip.value().functions.empty() && !chip.value().preset.empty()));
  }
  CHECK(taken > 100);
}
