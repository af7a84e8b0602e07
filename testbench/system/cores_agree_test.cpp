// The three cores behind one interface: the same bits, and the RTL and the fast core take the same cycles.
#include <map>

#include "testbench/system/cycle_shapes.hpp"
#include "testbench/system/session_fixture.hpp"

using namespace weft;

namespace {

/// Runs all products on both cores and compares bits and cycles.
void check_fast_against_rtl(const std::string& chip, const std::vector<test::Product>& products) {
  auto rtl = test::open_session(chip, "rtl");
  auto fast = test::open_session(chip, "fast");
  uint64_t differing = 0;
  for (const auto& product : products) {
    const auto expected = test::run_or_fail(rtl, product);
    const auto got = test::run_or_fail(fast, product);
    const auto difference = test::compare_bits(product, got.c, expected.c);
    INFO(product.name() << " on " << chip << ": " << difference.differing
                        << " elements of the fast core differ; first: " << difference.first);
    CHECK(difference.differing == 0);
    CHECK(got.cycles() == expected.cycles());
    differing += difference.differing;
  }
  test::close_or_fail(rtl);
  test::close_or_fail(fast);
  std::printf("cores_agree: %zu shapes, %llu differing (%s)\n", products.size(),
              static_cast<unsigned long long>(differing), chip.c_str());
}

void check_lockstep(const std::string& chip, const std::vector<test::Product>& products) {
  auto session = test::open_session(chip, "lockstep");
  for (const auto& product : products) {
    const auto run = test::run_or_fail(session, product);
    const auto difference = test::compare_bits(product, run.c, test::golden_product(product));
    INFO(product.name() << " on " << chip << ", lockstep; first: " << difference.first);
    CHECK(difference.differing == 0);
  }
  test::close_or_fail(session);
}

}  // namespace

TEST_CASE("the fast core's results and cycles equal those of the RTL on random shapes", "[bits]") {
  const uint64_t seed = test::printed_seed(5);
  check_fast_against_rtl("nano", test::random_products(40, 150, seed));
  check_fast_against_rtl("v5e-1mxu", test::random_products(6, 300, seed + 1));
}

TEST_CASE("RTL and golden model run in lockstep without a difference", "[lockstep]") {
  const uint64_t seed = test::printed_seed(6);
  check_lockstep("nano", test::random_products(12, 120, seed));
  check_lockstep("v5e-1mxu", test::random_products(2, 300, seed + 1));
}

TEST_CASE("the fast core's cycles equal the RTL's on 20 shapes", "[cycles]") {
  const uint64_t seed = test::printed_seed(7);
  std::map<std::string, std::pair<runtime::Session, runtime::Session>> sessions;
  double worst = 0;
  for (const auto& [chip, shape] : test::kCycleShapes) {
    if (sessions.count(chip) == 0)
      sessions.emplace(chip, std::pair(test::open_session(chip, "rtl"), test::open_session(chip, "fast")));
    auto& [rtl, fast] = sessions.at(chip);
    const auto product = test::make_product(shape, test::Values::kFinite, seed);
    const uint64_t rtl_cycles = test::run_or_fail(rtl, product).cycles();
    const uint64_t fast_cycles = test::run_or_fail(fast, product).cycles();
    INFO(product.name() << " on " << chip);
    CHECK(fast_cycles == rtl_cycles);
    worst = std::max(worst, test::cycle_deviation(rtl_cycles, fast_cycles));
  }
  std::printf("cycle_compare: %zu shapes, largest deviation %.3f %%\n", test::kCycleShapes.size(), 100 * worst);
}
