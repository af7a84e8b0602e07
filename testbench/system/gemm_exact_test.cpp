// Products through driver, firmware and RTL against the golden model, bit for bit; and what may not change a bit or a
// cycle.
#include <array>

#include "testbench/system/session_fixture.hpp"

using namespace weft;
using test::Values;

namespace {

/// Runs all products in one session and prints the line that scripts/figures reads.
void check_against_golden(const std::string& chip, const std::vector<test::Product>& products) {
  auto session = test::open_session(chip, "rtl");
  uint64_t elements = 0, differing = 0;
  for (const auto& product : products) {
    const auto run = test::run_or_fail(session, product);
    const auto difference = test::compare_bits(product, run.c, test::golden_product(product));
    INFO(product.name() << " on " << chip << ": " << difference.differing
                        << " elements differ; first: " << difference.first);
    CHECK(difference.differing == 0);
    elements += run.c.size();
    differing += difference.differing;
  }
  test::close_or_fail(session);
  std::printf("gemm_exact: %zu shapes, %llu elements, %llu differing (%s)\n", products.size(),
              static_cast<unsigned long long>(elements), static_cast<unsigned long long>(differing), chip.c_str());
}

/// Cycles from the doorbell to each later step of a launch.
std::array<uint64_t, 5> steps(const runtime::LaunchResult& launch) {
  const auto& c = launch.cycles;
  return {c.fetched - c.doorbell, c.validated - c.doorbell, c.first_command - c.doorbell, c.last_write - c.doorbell,
          c.completion - c.doorbell};
}

/// Runs of one product, `per_session` in each of two sessions, with other work before each: what ran before must not
/// matter.
std::vector<test::ProductRun> repeated_runs(const char* core, const test::Product& product, int per_session) {
  const auto other = test::make_product({product.shape.dtype, 20, 30, 40}, Values::kFinite, product.seed);
  std::vector<test::ProductRun> runs;
  for (int session_number = 0; session_number < 2; session_number++) {
    auto session = test::open_session("nano", core);
    for (int i = 0; i < per_session; i++) {
      for (int j = 0; j <= session_number; j++) (void)test::run_or_fail(session, other);
      runs.push_back(test::run_or_fail(session, product));
    }
    test::close_or_fail(session);
  }
  return runs;
}

/// Repetitions that were compared with the first run, and those that are equal to it.
struct Repetitions {
  unsigned compared = 0, equal = 0;
  void add(bool same) {
    compared++;
    equal += same;
  }
};

}  // namespace

TEST_CASE("100 products of random shape on four MXUs of nano's size equal the golden model", "[nano-4mxu]") {
  check_against_golden("nano-4mxu", test::random_products(100, 300, test::printed_seed(2), test::Sizes::kMostSmall));
}

TEST_CASE("300 products of random shape on nano's RTL equal the golden model", "[nano]") {
  check_against_golden("nano", test::random_products(300, 300, test::printed_seed(1), test::Sizes::kMostSmall));
}

TEST_CASE("20 products of random shape on v5e-1mxu's RTL equal the golden model", "[v5e]") {
  check_against_golden("v5e-1mxu", test::random_products(20, 300, test::printed_seed(2)));
}

TEST_CASE("the size of the array changes no bit", "[size]") {
  const uint64_t seed = test::printed_seed(3);
  std::vector<test::Product> products;
  for (const auto dtype : {WEFT_MXU_DTYPE_BF16, WEFT_MXU_DTYPE_INT8}) {
    products.push_back(test::make_product({dtype, 100, 300, 70}, Values::kFinite, seed));
    products.push_back(test::make_product({dtype, 33, 129, 257}, Values::kSpecial, seed + 1));
    products.push_back(test::make_product({dtype, 1, 250, 9}, Values::kSpecial, seed + 2));
  }
  std::vector<std::vector<uint32_t>> reference;
  uint64_t differing = 0;
  for (const char* chip : {"nano", "small", "v5e-1mxu"}) {
    auto session = test::open_session(chip, "rtl");
    for (size_t i = 0; i < products.size(); i++) {
      auto run = test::run_or_fail(session, products[i]);
      if (reference.size() == i) {
        reference.push_back(std::move(run.c));
        continue;
      }
      const auto difference = test::compare_bits(products[i], run.c, reference[i]);
      INFO(products[i].name() << ": " << chip << " against nano: " << difference.differing
                              << " elements differ; first: " << difference.first);
      CHECK(difference.differing == 0);
      differing += difference.differing;
    }
    test::close_or_fail(session);
  }
  std::printf("size_independence: %zu shapes on 3 presets, %llu differing\n", products.size(),
              static_cast<unsigned long long>(differing));
}

TEST_CASE("a product and each step of its launch take the same device cycles each time in one session and in another",
          "[determinism][steps]") {
  const uint64_t seed = test::printed_seed(4);
  Repetitions cycles, launch_steps;
  for (const char* core : {"rtl", "fast"})
    for (const auto dtype : {WEFT_MXU_DTYPE_BF16, WEFT_MXU_DTYPE_INT8}) {
      const auto product = test::make_product({dtype, 61, 143, 37}, Values::kFinite, seed);
      const auto runs = repeated_runs(core, product, 10);
      for (size_t i = 1; i < runs.size(); i++) {
        INFO(product.name() << ", " << core << " core, run " << i << " against run 0");
        CHECK(runs[i].cycles() == runs[0].cycles());
        CHECK(steps(runs[i].launch) == steps(runs[0].launch));
        CHECK(runs[i].c == runs[0].c);
        cycles.add(runs[i].cycles() == runs[0].cycles());
        launch_steps.add(steps(runs[i].launch) == steps(runs[0].launch));
      }
    }
  // scripts/figures reads these lines
  std::printf("determinism: %u repetitions, %u equal\n", cycles.compared, cycles.equal);
  std::printf("launch_steps: %u repetitions, %u equal\n", launch_steps.compared, launch_steps.equal);
}
