// Functions that tell of changes are asked once each.
#include "model/chip/attention.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

TEST_CASE("Each function that has told of a change is named once, and again only if it tells again") {
  weft::chip::Attention attention;
  attention.watch(5);
  const auto taken = [&] {
    std::vector<size_t> functions;
    attention.take_claims([&](size_t function) { functions.push_back(function); });
    std::ranges::sort(functions);
    return functions;
  };
  CHECK(taken().empty());
  for (const size_t function : {4, 1, 4, 4, 1}) attention.claim(function);
  CHECK(taken() == std::vector<size_t>{1, 4});
  CHECK(taken().empty());
  attention.claim(4);
  CHECK(taken() == std::vector<size_t>{4});
}
