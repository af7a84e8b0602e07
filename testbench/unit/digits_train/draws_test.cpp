// What a run draws from its seed.
#include "host/examples/digits_train/draws.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("an epoch's order has every row once, is the same for a seed, and another for another seed or epoch") {
  const auto order = examples::epoch_order(7, 3, 1000);
  CHECK(order == examples::epoch_order(7, 3, 1000));
  CHECK(order != examples::epoch_order(7, 4, 1000));
  CHECK(order != examples::epoch_order(8, 3, 1000));
  auto sorted = order;
  std::ranges::sort(sorted);
  for (uint32_t i = 0; i < 1000; i++) CHECK(sorted[i] == i);
  CHECK(examples::epoch_order(1, 0, 1) == std::vector<uint32_t>{0});
}

TEST_CASE("first parameters lie within their limits, biases are zero, and the seed decides") {
  const compiler::DenseNetwork network{{24, 6, 4}};
  const auto first = examples::first_parameters(network, 1);
  REQUIRE(first.size() == compiler::parameter_count(network));
  CHECK(first == examples::first_parameters(network, 1));
  CHECK(first != examples::first_parameters(network, 2));
  for (size_t i = 0; i < 24 * 6; i++) CHECK(std::abs(first[i]) <= 0.5F);
  CHECK(*std::max_element(first.begin(), first.begin() + 24 * 6) > 0.4F);
  for (size_t i = 24 * 6; i < 24 * 6 + 6; i++) CHECK(first[i] == 0);
}
