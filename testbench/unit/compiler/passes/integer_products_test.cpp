// Products of dequantised values, before and after.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "host/compiler/ir/text.hpp"
#include "host/compiler/partition/device_graph.hpp"
#include "host/compiler/passes/pass.hpp"
#include "host/compiler/reference/evaluate.hpp"

using namespace weft;
using namespace weft::compiler;

namespace {

/// (x - zero) scale of a matrix of bytes; the result is number + 6.
std::string dequantized(int x, int number, const char* dims, int zero, double scale) {
  return fmt::format(
      "%{1} = convert(%{0}) {{element = i32}} : i32{2}\n%{3} = constant() [{4}] : i32[]\n"
      "%{5} = broadcast_in_dim(%{3}) {{dimensions = [], dims = {2}}} : i32{2}\n%{6} = subtract(%{1}, %{5}) : i32{2}\n"
      "%{7} = convert(%{6}) {{element = f32}} : f32{2}\n%{8} = constant() [{9}] : f32[]\n"
      "%{10} = broadcast_in_dim(%{8}) {{dimensions = [], dims = {2}}} : f32{2}\n%{11} = multiply(%{7}, %{10}) : "
      "f32{2}\n",
      x, number, dims, number + 1, zero, number + 2, number + 3, number + 4, number + 5, scale, number + 6, number + 7);
}

/// x of 4 x 6 bytes by a constant of 6 x 3, both dequantised, a bias, a relu, and quantised again.
std::string layer(double x_scale, double w_scale, double y_scale, double bias) {
  std::string text =
      "module \"m\"\n%0 = parameter() {dims = [4, 6], element = u8, name = \"x\"} : u8[4, 6]\n"
      "%1 = constant() [1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13, -14, 15, -16, 17, -128] : i8[6, 3]\n";
  text += dequantized(0, 2, "[4, 6]", 3, x_scale) + dequantized(1, 10, "[6, 3]", 0, w_scale);
  text += fmt::format(
      "%18 = dot_general(%9, %17) {{lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]}} : f32[4, "
      "3]\n"
      "%19 = constant() [{}, {}, 0] : f32[3]\n%20 = broadcast_in_dim(%19) {{dimensions = [1], dims = [4, 3]}} : f32[4, "
      "3]\n"
      "%21 = add(%18, %20) : f32[4, 3]\n%22 = constant() [0] : f32[]\n"
      "%23 = broadcast_in_dim(%22) {{dimensions = [], dims = [4, 3]}} : f32[4, 3]\n%24 = maximum(%21, %23) : f32[4, "
      "3]\n"
      "%25 = constant() [{}] : f32[]\n%26 = broadcast_in_dim(%25) {{dimensions = [], dims = [4, 3]}} : f32[4, 3]\n"
      "%27 = divide(%24, %26) : f32[4, 3]\n%28 = round_nearest_even(%27) : f32[4, 3]\n"
      "%29 = add(%28, %23) : f32[4, 3]\n%30 = maximum(%29, %23) : f32[4, 3]\n%31 = constant() [255] : f32[]\n"
      "%32 = broadcast_in_dim(%31) {{dimensions = [], dims = [4, 3]}} : f32[4, 3]\n%33 = minimum(%30, %32) : f32[4, "
      "3]\n"
      "%34 = convert(%33) {{element = u8}} : u8[4, 3]\nreturn \"y\" = %34\n",
      bias, -2 * bias, y_scale);
  return text;
}

std::vector<const ir::Op*> of_kind(const ir::Module& module, ir::OpKind kind) {
  std::vector<const ir::Op*> found;
  for (const auto& op : module.ops())
    if (op.kind == kind) found.push_back(&op);
  return found;
}

ir::Module run(const std::string& text) {
  const auto module = ir::parse(text);
  if (!module.ok()) FAIL(module.error().message);
  auto after = passes::run_all(module.value());
  if (!after.ok()) FAIL(after.error().message);
  return std::move(after.value());
}

}  // namespace

TEST_CASE("a layer between dequantising and quantising is a product of integers and one factor") {
  const auto after = run(layer(0.5, 0.25, 8, 0.375));  // a bias of 3 units
  const auto products = of_kind(after, ir::OpKind::kDotGeneral);
  REQUIRE(products.size() == 1);
  CHECK(after.type(products[0]->results[0]).element == ir::ElementType::kI32);
  CHECK(of_kind(after, ir::OpKind::kDivide).empty());
  CHECK(of_kind(after, ir::OpKind::kMultiply).size() == 1);
  for (const auto* add : of_kind(after, ir::OpKind::kAdd)) CHECK(add->origin == products[0]->origin);
  // Scales are powers of two: nothing is rounded on either way.
  const auto before = ir::parse(layer(0.5, 0.25, 8, 0.375));
  auto x = std::make_shared<ir::Tensor>(before.value().type(before.value().inputs[0]));
  std::mt19937_64 random(1);
  for (uint64_t i = 0; i < x->type.count(); i++) x->as<uint8_t>()[i] = static_cast<uint8_t>(random());
  const auto expected = reference::evaluate(before.value(), {x}), found = reference::evaluate(after, {x});
  REQUIRE(expected.ok());
  REQUIRE(found.ok());
  CHECK(expected.value()[0]->data == found.value()[0]->data);
  for (const auto& op : after.ops())
    if (op.kind != ir::OpKind::kParameter) CHECK(device_use(after, op).reason.empty());
}

TEST_CASE("quantising by a scale without elements is left as it is") {
  const auto after =
      run("module \"m\"\n%0 = parameter() {dims = [4, 0], element = f32, name = \"x\"} : f32[4, 0]\n"
          "%1 = constant() [] : f32[4, 0]\n%2 = divide(%0, %1) : f32[4, 0]\n%3 = round_nearest_even(%2) : f32[4, 0]\n"
          "%4 = maximum(%3, %1) : f32[4, 0]\n%5 = minimum(%4, %1) : f32[4, 0]\n"
          "%6 = convert(%5) {element = u8} : u8[4, 0]\nreturn \"y\" = %6\n");
  CHECK(of_kind(after, ir::OpKind::kDotGeneral).empty());
  CHECK(after.type(after.outputs[0].value).text() == "u8[4, 0]");
}

TEST_CASE("a bias that is no whole number of scales stays a sum of f32, the product is one of integers") {
  const auto after = run(layer(0.5, 0.25, 8, 0.3));
  const auto products = of_kind(after, ir::OpKind::kDotGeneral);
  REQUIRE(products.size() == 1);
  CHECK(after.type(products[0]->results[0]).element == ir::ElementType::kI32);
  CHECK(of_kind(after, ir::OpKind::kDivide).size() == 1);
}

TEST_CASE("a product of numbers of 9 bits is two of 8") {
  const auto after = run(
      "module \"m\"\n%0 = parameter() {dims = [2, 3], element = u8, name = \"x\"} : u8[2, 3]\n"
      "%1 = parameter() {dims = [], element = u8, name = \"z\"} : u8[]\n%2 = convert(%0) {element = i32} : i32[2, 3]\n"
      "%3 = convert(%1) {element = i32} : i32[]\n%4 = broadcast_in_dim(%3) {dimensions = [], dims = [2, 3]} : i32[2, "
      "3]\n"
      "%5 = subtract(%2, %4) : i32[2, 3]\n%6 = constant() [1, 2, 3, -128, 127, 6] : i32[3, 2]\n"
      "%7 = dot_general(%5, %6) {lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]} : i32[2, 2]\n"
      "return \"y\" = %7\n");
  CHECK(of_kind(after, ir::OpKind::kDotGeneral).size() == 2);
  auto x = std::make_shared<ir::Tensor>(after.type(after.inputs[0]));
  auto z = std::make_shared<ir::Tensor>(after.type(after.inputs[1]));
  const std::array<uint8_t, 6> bytes{0, 255, 3, 128, 77, 254};
  for (const int zero : {0, 255, 100}) {
    z->as<uint8_t>()[0] = static_cast<uint8_t>(zero);
    std::ranges::copy(bytes, x->as<uint8_t>());
    const auto found = reference::evaluate(after, {x, z});
    REQUIRE(found.ok());
    for (int row = 0; row < 2; row++)
      for (int column = 0; column < 2; column++) {
        int sum = 0;
        for (int k = 0; k < 3; k++)
          sum += (bytes[static_cast<size_t>(row * 3 + k)] - zero) *
                 std::array{1, 2, 3, -128, 127, 6}[static_cast<size_t>(k * 2 + column)];
        CHECK(found.value()[0]->as<int32_t>()[row * 2 + column] == sum);
      }
  }
  for (const auto* product : of_kind(after, ir::OpKind::kDotGeneral)) CHECK(device_use(after, *product).reason.empty());
}
