// weft preflight: the bound of a bit-error rate, neighbours by rule.
#include "host/tools/selftest/preflight.hpp"

#include <catch2/catch.hpp>
#include <cmath>

using namespace weft::tools;
using weft::compiler::SliceShape;

TEST_CASE("no error in n bits bounds the rate by 3 / n, more errors by the exact bound of Poisson") {
  // Garwood's upper limits at 95 %: 2.9957, 4.7439, 6.2958, 16.9622 expected events for 0, 1, 2, 10 seen
  for (const auto& [errors, limit] : {std::pair{0u, 2.9957}, {1u, 4.7439}, {2u, 6.2958}, {10u, 16.9622}}) {
    INFO(errors << " errors");
    const BitErrorRate rate = bit_error_rate(errors, 1'000'000'000);
    CHECK(rate.estimate == Approx(errors * 1e-9));
    CHECK(rate.bound == Approx(limit * 1e-9).epsilon(1e-4));
  }
  CHECK(bit_error_rate(10'000, 1'000'000'000).bound == Approx(1.0166e-5).epsilon(1e-3));
}

TEST_CASE("without bits nothing is known of a rate, and it is never above 1") {
  CHECK(bit_error_rate(0, 0).bound == 1);
  CHECK(bit_error_rate(0, 1).bound == 1);
  CHECK(bit_error_rate(5, 2).bound == 1);
}

TEST_CASE("neighbours by rule lead back by the opposite port, and end where an axis ends") {
  const SliceShape mesh{.size = {3, 4, 2}}, torus{.size = {4, 4, 4}, .wraps = {true, true, true}};
  for (const SliceShape& shape : {mesh, torus}) {
    unsigned links = 0;
    for (uint32_t chip = 0; chip < shape.chips(); chip++)
      for (uint32_t port = 0; port < 6; port++) {
        const auto to = neighbor_by_rule(shape, chip, port);
        if (!to) continue;
        links++;
        REQUIRE(*to < shape.chips());
        CHECK(neighbor_by_rule(shape, *to, port ^ 1) == chip);
      }
    CHECK(links == (shape.wraps[0] ? 6 * 64 : 2 * (2 * 4 * 2 + 3 * 3 * 2 + 3 * 4)));
  }
  CHECK(neighbor_by_rule(mesh, 0, 0) == 1u);
  CHECK(neighbor_by_rule(mesh, 0, 2) == 3u);
  CHECK(neighbor_by_rule(mesh, 0, 4) == 12u);
  CHECK_FALSE(neighbor_by_rule(mesh, 0, 1));
  CHECK(neighbor_by_rule(torus, 0, 1) == 3u);
  CHECK_FALSE(neighbor_by_rule({.size = {1, 2, 1}, .wraps = {true, false, false}}, 0, 0));
}
