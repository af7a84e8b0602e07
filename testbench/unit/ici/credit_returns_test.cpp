#include "model/ici/credit_returns.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <iostream>
#include <random>

using namespace weft::ici;

TEST_CASE("credits come back in the order of their time, those of one time as they were added") {
  const unsigned seed = 4;
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  CreditReturns returns;
  std::deque<Credit> reference;
  for (uint32_t i = 0; i < 20000; i++) {
    if (random() % 3 != 0 || reference.empty()) {
      const Credit credit{i + random() % 8, i, static_cast<uint8_t>(i % 26)};
      returns.add(credit);
      reference.insert(std::upper_bound(reference.begin(), reference.end(), credit,
                                        [](const Credit& a, const Credit& b) { return a.time < b.time; }),
                       credit);
    } else {
      REQUIRE(!returns.empty());
      REQUIRE(returns.first().time == reference.front().time);
      REQUIRE(returns.first().bytes == reference.front().bytes);
      REQUIRE(returns.first().channel == reference.front().channel);
      returns.drop_first();
      reference.pop_front();
    }
  }
  for (; !reference.empty(); reference.pop_front(), returns.drop_first())
    REQUIRE(returns.first().bytes == reference.front().bytes);
  CHECK(returns.empty());
}
