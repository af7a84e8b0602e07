// What joins the EPILOGUE of a product: the bits stay, passes of the vector unit go, and nothing is joined that others
// read.
#include "host/compiler/tiles/fused_epilogues.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "testbench/unit/compiler/partition/operator_check.hpp"

using namespace weft;
using namespace weft::compiler;
using namespace weft::test;

namespace {

std::string weights(int number, int rows, int columns) {
  std::string text = fmt::format("%{} = constant() [", number);
  for (int i = 0; i < rows * columns; i++) text += fmt::format("{}{}", i == 0 ? "" : ", ", (i * 37 % 41 - 20) * 0.125);
  return text + fmt::format("] : f32[{}, {}]\n", rows, columns);
}

/// x w in value number + 1; plus a row in number + 4.
std::string product(int x, int number, int rows, int k, int n) {
  std::string text = weights(number, k, n);
  text += fmt::format(
      "%{0} = dot_general(%{1}, %{2}) {{lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]}} : "
      "f32[{3}, {4}]\n%{5} = constant() [",
      number + 1, x, number, rows, n, number + 2);
  for (int i = 0; i < n; i++) text += fmt::format("{}{}", i == 0 ? "" : ", ", 0.3 * i - 1);
  return text +
         fmt::format(
             "] : f32[{0}]\n%{1} = broadcast_in_dim(%{2}) {{dimensions = [1], dims = [{3}, {0}]}} : f32[{3}, {0}]\n"
             "%{4} = add(%{5}, %{1}) : f32[{3}, {0}]\n",
             n, number + 3, number + 2, rows, number + 4, number + 1);
}

std::string sum(int number, int a, int b, int rows, int n) {
  return fmt::format("%{} = add(%{}, %{}) : f32[{}, {}]\n", number, a, b, rows, n);
}

/// max(x, 0) in value number + 2.
std::string relu(int number, int x, int rows, int n) {
  return fmt::format(
      "%{0} = constant() [0] : f32[]\n%{1} = broadcast_in_dim(%{0}) {{dimensions = [], dims = [{2}, {3}]}} : f32[{2}, "
      "{3}]\n%{4} = maximum(%{5}, %{1}) : f32[{2}, {3}]\n",
      number, number + 1, rows, n, number + 2, x);
}

/// Steps of the program before and behind.
std::pair<size_t, size_t> steps(const std::string& text) {
  const auto module = ir::parse(text);
  if (!module.ok()) FAIL(module.error().message);
  const auto graph = whole_device_graph(module.value());
  if (!graph.ok()) FAIL(graph.error().message);
  const auto program = lower(*spec::find_chip("nano"), graph.value()).value();
  return {program.steps.size(), tiles::with_fused_epilogues(program).steps.size()};
}

}  // namespace

TEST_CASE("a residual is added behind the bias by the product's EPILOGUE, whichever operand of the sum it is") {
  for (const char* chip : {"nano", "nano-4mxu"})
    for (const int rows : {3, 40})
      for (const bool turned : {false, true}) {
        const std::string text = parameter(0, fmt::format("[{}, 20]", rows)) +
                                 parameter(1, fmt::format("[{}, 19]", rows)) + product(0, 2, rows, 20, 19) +
                                 sum(7, turned ? 1 : 6, turned ? 6 : 1, rows, 19);
        check(text + returned(7), kBf16, chip, 1);
        check(text + relu(8, 7, rows, 19) + returned(10), kBf16, chip, 1);
        // what is multiplied by again is bf16
        check(text + relu(8, 7, rows, 19) + product(10, 11, rows, 19, 5) + returned(15), kBf16, chip, 1);
        CHECK(steps(text + relu(8, 7, rows, 19) + returned(10)) == std::pair(size_t{3}, size_t{1}));
      }
}

TEST_CASE("a chain of layers each of which adds what came into it") {
  std::string text = parameter(0, "[24, 16]");
  int x = 0, next = 1;
  for (int layer = 0; layer < 5; layer++) {
    text += product(x, next, 24, 16, 16) + sum(next + 5, next + 4, x, 24, 16);
    x = next + 5, next += 6;
  }
  check(text + returned(x), kBf16);
  check(text + returned(x), kBf16, "nano-4mxu", 1);
}

TEST_CASE("a residual that is the same in all columns is added behind the product") {
  const std::string text = parameter(0, "[9, 20]") + parameter(1, "[9, 30]") + product(0, 2, 9, 20, 19) +
                           "%7 = reduce(%1) {dimensions = [1], kind = add} : f32[9]\n"
                           "%8 = broadcast_in_dim(%7) {dimensions = [0], dims = [9, 19]} : f32[9, 19]\n" +
                           sum(9, 6, 8, 9, 19);
  check(text + returned(9), kBf16);
  check(text + relu(10, 9, 9, 19) + returned(12), kBf16);
}

TEST_CASE("what others read too is not joined") {
  const std::string text = parameter(0, "[9, 20]") + parameter(1, "[9, 19]") + product(0, 2, 9, 20, 19) +
                           sum(7, 6, 1, 9, 19) + "%8 = multiply(%7, %6) : f32[9, 19]\n" + returned(8);
  const auto [before, behind] = steps(text);
  CHECK(before == behind);
  check(text, kBf16);
  const auto [twice_before, twice] =
      steps(parameter(0, "[9, 20]") + product(0, 1, 9, 20, 19) + sum(6, 5, 5, 9, 19) + returned(6));
  CHECK(twice_before == twice);
}
