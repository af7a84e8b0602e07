// Requests of observers: what is one, what is told of what is none, and garbage.
#include "model/server/management_request.hpp"

#include <catch2/catch.hpp>
#include <random>

using namespace weft::server;
using Catch::Contains;

namespace {

constexpr size_t kChips = 3, kFunctions = 4;

std::string refusal(std::string_view line) {
  std::string error;
  CHECK_FALSE(parse_management_request(line, kChips, kFunctions, error));
  return error;
}

const std::vector<std::string> kGood{
    R"({"weft_management":1,"request":"state"})",
    R"({"weft_management":1,"request":"function","function":3})",
    R"({"weft_management":1,"request":"function","function":0,"entries":256})",
    R"({"weft_management":1,"request":"reset","function":2,"force":true})",
    R"({"weft_management":1,"request":"function","chip":2,"function":1})",
    R"({"weft_management":1,"request":"state","chip":1})",
};

}  // namespace

TEST_CASE("every kind of request is understood with its fields") {
  std::string error;
  const auto state = parse_management_request(kGood[0], kChips, kFunctions, error);
  REQUIRE(state);
  CHECK(state->kind == ManagementRequest::Kind::kState);
  const auto function = parse_management_request(kGood[1], kChips, kFunctions, error);
  REQUIRE(function);
  CHECK((function->kind == ManagementRequest::Kind::kFunction && function->function == 3));
  CHECK(function->entries == ManagementRequest::kDefaultEntries);
  REQUIRE(parse_management_request(kGood[2], kChips, kFunctions, error));
  CHECK(parse_management_request(kGood[2], kChips, kFunctions, error)->entries == 256);
  const auto reset = parse_management_request(kGood[3], kChips, kFunctions, error);
  REQUIRE(reset);
  CHECK((reset->kind == ManagementRequest::Kind::kReset && reset->function == 2 && reset->force));
  const auto of_slice = parse_management_request(kGood[4], kChips, kFunctions, error);
  REQUIRE(of_slice);
  CHECK((of_slice->chip == 2 && of_slice->function == 1));
  CHECK(parse_management_request(kGood[5], kChips, kFunctions, error)->chip == 1);
  CHECK(parse_management_request(kGood[0], kChips, kFunctions, error)->chip == 0);
}

TEST_CASE("a request that is none is told why") {
  CHECK_THAT(refusal(""), Contains("JSON object"));
  CHECK_THAT(refusal("state"), Contains("JSON object"));
  CHECK_THAT(refusal("[1]"), Contains("JSON object"));
  CHECK_THAT(refusal("{}"), Contains("\"weft_management\": 1"));
  CHECK_THAT(refusal(R"({"weft_management":2,"request":"state"})"), Contains("\"weft_management\": 1"));
  CHECK_THAT(refusal(R"({"weft_management":1})"), Contains("\"state\""));
  CHECK_THAT(refusal(R"({"weft_management":1,"request":"erase"})"), Contains("\"reset\""));
  CHECK_THAT(refusal(R"({"weft_management":1,"request":"function"})"), Contains("'function' is missing"));
  CHECK_THAT(refusal(R"({"weft_management":1,"request":"function","function":4})"), Contains("0 to 3"));
  CHECK_THAT(refusal(R"({"weft_management":1,"request":"state","chip":3})"), Contains("'chip'") && Contains("0 to 2"));
  CHECK_THAT(refusal(R"({"weft_management":1,"request":"function","function":-1})"), Contains("0 to 3"));
  CHECK_THAT(refusal(R"({"weft_management":1,"request":"function","function":0,"entries":257})"), Contains("0 to 256"));
  CHECK_THAT(refusal(R"({"weft_management":1,"request":"reset","function":0,"force":1})"), Contains("not of its type"));
  CHECK_THAT(refusal(R"({"weft_management":1,"request":"state","function":0})"), Contains("a field is not"));
}

TEST_CASE("any bytes are a request or are told why they are none") {
  const uint64_t seed = Catch::rngSeed() != 0 ? Catch::rngSeed() : 20'261'122;
  WARN("seed " << seed << " (rerun with --rng-seed)");
  std::mt19937_64 random(seed);
  size_t accepted = 0;
  for (int i = 0; i < 100'000; i++) {
    std::string line = kGood[random() % kGood.size()];
    for (uint64_t changes = 1 + random() % 4; changes != 0 && !line.empty(); changes--) {
      const size_t at = random() % line.size();
      switch (random() % 4) {
        case 0:
          line[at] = static_cast<char>(random());
          break;
        case 1:
          line.erase(at, 1 + random() % 8);
          break;
        case 2:
          line.insert(at, line.substr(random() % line.size(), random() % 16));
          break;
        default:
          line.insert(at, 1 + random() % 64, "[{\"0"[random() % 4]);
      }
    }
    std::string error;
    const auto request = parse_management_request(line, kChips, kFunctions, error);
    REQUIRE(request.has_value() == error.empty());
    if (!request) continue;
    accepted++;
    REQUIRE(request->chip < kChips);
    REQUIRE(request->function < kFunctions);
    REQUIRE(request->entries <= ManagementRequest::kMaxEntries);
  }
  CHECK(accepted > 0);
  CHECK_FALSE(refusal(std::string(1'000'000, '[')).empty());
}
