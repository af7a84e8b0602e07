// Requests of observers: what is one, what is told of what is none, and garbage.
#include "model/server/management_request.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "weft/spec/spec.h"

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
    R"({"weft_management":1,"request":"links"})",
    R"({"weft_management":1,"request":"inject","chip":2,"kind":"link_flap","port":5,"nth":7,"count":3,"value":1000})",
    R"({"weft_management":1,"request":"inject","kind":"link_down","port":0})",
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
  const auto links = parse_management_request(kGood[6], kChips, kFunctions, error);
  REQUIRE(links);
  CHECK(links->kind == ManagementRequest::Kind::kLinks);
  const auto inject = parse_management_request(kGood[7], kChips, kFunctions, error);
  REQUIRE(inject);
  CHECK((inject->kind == ManagementRequest::Kind::kInject && inject->chip == 2 && inject->port == 5));
  CHECK(inject->kind_of_fault == WEFT_INJECTED_FAULT_LINK_FLAP);
  CHECK((inject->nth == 7 && inject->count == 3 && inject->value == 1000));
  const auto at_once = parse_management_request(kGood[8], kChips, kFunctions, error);
  REQUIRE(at_once);
  CHECK((at_once->nth == 1 && at_once->count == 1 && at_once->value == 0));
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
  CHECK_THAT(refusal(R"({"weft_management":1,"request":"state","port":0})"), Contains("a field is not"));
  CHECK_THAT(refusal(R"({"weft_management":1,"request":"links","chip":0})"), Contains("a field is not"));
  CHECK_THAT(refusal(R"({"weft_management":1,"request":"inject","port":0})"), Contains("'kind' or 'port' is missing"));
  CHECK_THAT(refusal(R"({"weft_management":1,"request":"inject","kind":"link_down"})"), Contains("is missing"));
  CHECK_THAT(refusal(R"({"weft_management":1,"request":"inject","kind":"link_down","port":6})"),
             Contains("'port'") && Contains("0 to 5"));
  CHECK_THAT(refusal(R"({"weft_management":1,"request":"inject","kind":"simulator_exit","port":0})"),
             Contains("one of links: link_down, "));
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
    REQUIRE(request->port < 6);
    REQUIRE(request->entries <= ManagementRequest::kMaxEntries);
  }
  CHECK(accepted > 0);
  CHECK_FALSE(refusal(std::string(1'000'000, '[')).empty());
}
